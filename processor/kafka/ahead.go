package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A transaction begins before there is anything in it that must not wait. To take the group's offsets into one the
// brokers write twice, to its log and then to the group's, and a trip would wait for both. So once there is anything to
// publish at all, an offset that says nothing is committed in it; the offsets that count are then written once, and
// beside the records.

const (
	aheadWithin  = time.Second            // How long brokers that do not answer may hold up a commit.
	aheadSoon    = 20 * time.Millisecond  // After a commit they may still write it to its end.
	aheadAgain   = beatEvery              // After they have refused.
	aheadLongest = transactionTimeout / 2 // The commit interval over which a transaction may stay open.
)

// prepare begins the next transaction ahead, or ends one for which nothing is left.
func (w *worker) prepare(ctx context.Context) error {
	waits := false
	for p := range w.working() {
		waits = waits || !p.out.empty()
	}
	switch {
	case w.ahead != nil && !waits:
		return w.retract(ctx)
	case w.ahead != nil || !waits || !w.mayBeginAhead() || w.loop.config.CommitInterval > aheadLongest:
		return nil
	}
	if err := w.beginTransaction(); err != nil {
		return err
	}
	w.beginAhead(ctx)
	return w.loop.crashes("ahead")
}

// mayBeginAhead tells whether brokers know what to do with an offset that comes first, and did not refuse one lately.
func (w *worker) mayBeginAhead() bool {
	return w.loop.cluster.adds && !w.loop.config.NoneAhead && time.Now().After(w.aheadFrom)
}

// beginAhead commits in the transaction that the group has no offset of the changelog, where nobody looks for one.
// Offsets of an input would hold up its next owner, if this process died, for as long as a transaction may last.
func (w *worker) beginAhead(ctx context.Context) {
	nothing := w.loop.cluster.offsetsIn(w.loop.config.Topics.Changelog)
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Offset, partition.LeaderEpoch = -1, -1
	nothing.Partitions = append(nothing.Partitions, partition)
	w.ahead = w.send(ctx, txnOffsets{nothing}, aheadWithin)
}

// enter makes sure that a transaction has begun. Where the brokers may still write the one before to its end, the
// offset goes first here too: they turn it away at once until they have, and hold a record for 20 ms and more. Where
// they did not take the offset, the commit finds out why. It tells whether they took one.
func (w *worker) enter(ctx context.Context) (ahead bool, err error) {
	if w.ahead == nil {
		if err := w.beginTransaction(); err != nil {
			return false, err
		}
		if time.Since(w.ended) > aheadSoon || !w.mayBeginAhead() {
			return false, nil
		}
		w.beginAhead(ctx)
	}
	if err := w.ahead.wait(); err != nil {
		w.aheadFrom = time.Now().Add(aheadAgain)
		w.log.Debug("a transaction was not begun ahead", "err", err)
	}
	return w.ahead.err == nil, nil
}

func (w *worker) beginTransaction() error {
	w.began = time.Now()
	if err := w.client.BeginTransaction(); err != nil { // The client may still be in the last one.
		return fmt.Errorf("%w: begin a transaction: %w", errRejoin, err)
	}
	return nil
}

// retract ends a transaction that was begun ahead, and goes back to the last commits.
func (w *worker) retract(ctx context.Context) error {
	if err := w.endAbort(ctx); err != nil {
		return fmt.Errorf("%w: abort what was begun ahead: %w", errRejoin, err)
	}
	w.rewindAll()
	return nil
}

// endAbort aborts the transaction. The client tells the brokers so only where it has a record in it, so one that was
// begun ahead gets one, which is thrown away before it is sent.
func (w *worker) endAbort(ctx context.Context) error {
	if w.ahead != nil {
		<-w.ahead.done
		w.ahead = nil
		w.client.Produce(ctx, &kgo.Record{Topic: w.loop.config.Topics.Changelog}, func(*kgo.Record, error) {})
	}
	ctx, cancel := context.WithTimeout(ctx, 2*transactionTimeout)
	defer cancel()
	if err := w.client.AbortBufferedRecords(ctx); err != nil {
		return err
	}
	if err := awaitKnown(ctx, w.client, w.publisher.wrote()); err != nil {
		return err
	}
	err := w.client.EndTransaction(ctx, kgo.TryAbort)
	w.ended = time.Now()
	return err
}

// addsByItself tells whether the brokers take into a transaction whatever is written in it (KIP-890).
func (k *cluster) addsByItself(ctx context.Context) bool {
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = "fusebox", "1"
	response, err := request.RequestWith(ctx, k.client)
	if err != nil {
		return false
	}
	for _, f := range response.FinalizedFeatures {
		if f.Name == "transaction.version" {
			return f.MaxVersionLevel >= 2
		}
	}
	return false
}
