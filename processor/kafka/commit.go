package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/state"
)

// abortLimit is how many transactions in a row may fail before the session begins anew.
const abortLimit = 5

// failuresShown is how many transactions in a row may fail before the process is not ready, over all sessions.
const failuresShown = 3

// publication is what a transaction says of one pair.
type publication struct {
	pair     *pair
	next     progress
	progress *kgo.Record // The last record of the pair in the changelog.
}

// commit publishes what the pairs have to say, all or the urgent ones alone, in one transaction with the offsets of
// what they handled. Every transaction carries the offsets of each pair in it, even of one that handled nothing: an
// offset commit is what fences a worker that is no member of the group any more.
func (w *worker) commit(ctx context.Context, all bool) error {
	began := time.Now()
	if all {
		w.committed = began
	}
	if ok, err := w.flushForwards(ctx); !ok || err != nil {
		return err
	}
	batch := w.collect(all)
	if len(batch) == 0 {
		return nil
	}
	if err := w.loop.crashes("before begin"); err != nil {
		return err
	}
	ahead, err := w.enter(ctx)
	if err != nil {
		return err
	}
	w.publisher.reset()
	for i := range batch {
		w.publish(ctx, &batch[i])
		if w.publisher.refused != nil {
			return w.leaveOut(ctx, batch[i].pair, w.publisher.refused)
		}
	}
	if err := w.deliver(ctx, w.offsetsOf(batch), ahead); err != nil {
		return w.abort(ctx, err)
	}
	if err := w.loop.crashes("before end"); err != nil {
		return err
	}
	if err := w.end(ctx); err != nil {
		return w.lookUp(ctx, batch, err)
	}
	if err := w.loop.crashes("before store"); err != nil {
		return err
	}
	w.aborts, w.failures, w.singly = 0, 0, false
	w.loop.status.getsOn(w.id)
	w.loop.metrics.transactions.WithLabelValues(committedResult).Inc()
	w.loop.metrics.commit.Observe(time.Since(began).Seconds())
	for i := range batch {
		w.settle(&batch[i])
	}
	w.evict()
	return nil
}

// collect returns the pairs that have something to publish, all or the urgent ones alone, under one new number:
// higher than any that one of them had.
func (w *worker) collect(all bool) []publication {
	var batch []publication
	number := uint64(0)
	for p := range w.working() {
		if p.out.urgent() || all && !p.out.empty() {
			batch = append(batch, publication{pair: p})
			number = max(number, p.base.Number)
		}
	}
	slices.SortFunc(batch, func(a, b publication) int { return int(a.pair.id - b.pair.id) })
	for i := range batch {
		batch[i].next = w.progressOf(batch[i].pair, number+1)
	}
	return batch
}

// progressOf returns the progress record of a pair as a transaction would leave it.
func (w *worker) progressOf(p *pair, number uint64) progress {
	k, in := w.loop.cluster, p.inputs()
	next := progress{
		Schema: progressSchema, By: w.loop.config.Version, Partitions: k.partitions,
		Outcomes: inputPosition{k.topicIDs[p.outcomes.topic], in.Outcomes},
		Signals:  inputPosition{k.topicIDs[p.signals.topic], in.Signals},
		Number:   number, Writer: w.id, Policies: p.policies.Version, Circuits: p.known + p.out.known,
		Regime:  p.regime().Number,
		Origins: p.mergedOrigins().list(),
	}
	if p.out.switched != nil {
		next.Policies = p.out.switched.Version
	}
	if clock := p.core.Clock(); !clock.IsZero() {
		next.ClockMS = clock.UnixMilli()
	}
	return next
}

// publish hands the records of a pair to the client: transitions and states, dead letters, the switch of policies, the
// heartbeat, and to the changelog every circuit touched, the progress record last.
func (w *worker) publish(ctx context.Context, pub *publication) {
	p, b, topics := pub.pair, &w.publisher, &w.loop.config.Topics
	p.changes = p.changes[:0]
	w.states(ctx, p)
	for _, letter := range p.out.letters {
		b.produce(ctx, w.client, letter)
	}
	w.publishSwitch(ctx, p)
	w.publishHeartbeat(ctx, p)
	for circuit, value := range p.core.Changes() {
		r := b.record(topics.Changelog, p.id)
		r.Key = b.keep(circuit)
		if value.Forgotten() {
			tombstone := b.record(topics.State, p.id)
			tombstone.Key = r.Key
			b.produce(ctx, w.client, tombstone)
		} else {
			r.Value = b.value(value)
		}
		p.changes = append(p.changes, state.Change{Circuit: circuit, Value: r.Value})
		b.produce(ctx, w.client, r)
	}
	w.publishRegime(ctx, pub)
	from := len(b.text)
	b.text = pub.next.append(b.text)
	pub.progress = b.record(topics.Changelog, p.id)
	pub.progress.Value = b.since(from)
	pub.progress.Key = b.keep(progressKey)
	b.produce(ctx, w.client, pub.progress)
}

// deliver waits until all that is in the transaction is taken or refused. Where it was begun ahead the offsets go out
// beside the records, and behind them elsewhere: brokers take new partitions into a transaction one request at a time.
func (w *worker) deliver(ctx context.Context, offsets txnOffsets, ahead bool) error {
	var sent *sending
	if ahead {
		sent = w.send(ctx, offsets, transactionTimeout)
	}
	err := w.flush(ctx)
	switch {
	case sent == nil && err != nil:
		return err
	case sent == nil:
		sent = w.send(ctx, offsets, transactionTimeout)
	case errors.Is(err, errRejoin):
		sent.stop()
	}
	if refused := sent.wait(); err == nil || errors.Is(refused, errRejoin) {
		err = refused
	}
	if err != nil {
		return err
	}
	return underOne(sent.id, sent.epoch, w.publisher.wrote())
}

// flush waits until every record is written or refused. Where a topic is gone or its broker does not answer, it gives
// up after the time that a transaction may last.
func (w *worker) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, transactionTimeout)
	defer cancel()
	if err := w.client.Flush(ctx); err != nil {
		return fmt.Errorf("%w: the records of a transaction were not taken within %v: %w",
			errRejoin, transactionTimeout, err)
	}
	return w.publisher.err()
}

// end commits the transaction. Where that is not confirmed, the client is set right for the next one, and what became
// of this one the group's offsets tell.
func (w *worker) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*transactionTimeout)
	defer cancel()
	w.ahead = nil
	err := endCommit(ctx, w.client, w.publisher.wrote())
	if err != nil {
		err = errors.Join(err, w.client.EndTransaction(ctx, kgo.TryAbort))
	}
	w.ended = time.Now()
	return err
}

// abort ends a transaction that must not commit, and takes the pairs back to their last commits. Nothing has asked for
// a commit, so there is nothing to look up.
func (w *worker) abort(ctx context.Context, why error) error {
	if errors.Is(why, errRejoin) {
		return why // The client still holds records. Closing it gives them up, and the next one with its id aborts.
	}
	if err := w.endAborted(ctx, why); err != nil {
		return err
	}
	return w.again(why)
}

// leaveOut ends a transaction in which a pair has something to say that does not fit into its topic. That pair is
// refused, the others go on from their last commits.
func (w *worker) leaveOut(ctx context.Context, p *pair, why error) error {
	if err := w.endAborted(ctx, why); err != nil {
		return err
	}
	w.refuse(p, why)
	p.again = time.Now().Add(inspectEvery) // Until somebody has done something about it, the same comes out.
	w.rewindAll()
	return nil
}

func (w *worker) endAborted(ctx context.Context, why error) error {
	w.loop.metrics.transactions.WithLabelValues(abortedResult).Inc()
	if err := w.endAbort(ctx); err != nil {
		return fmt.Errorf("%w: %w: abort: %w", errRejoin, why, err)
	}
	return nil
}

// again goes back to the last commits after a transaction that did not commit.
func (w *worker) again(why error) error {
	if w.failures++; w.failures >= failuresShown {
		w.loop.status.failing(w.id, fmt.Errorf("its last %d transactions were aborted: %w", w.failures, why))
	}
	if w.aborts++; w.aborts == abortLimit || isFenced(why) {
		return fmt.Errorf("%w: %d transactions in a row were aborted: %w", errRejoin, w.aborts, why)
	}
	level := slog.LevelWarn
	if w.aborts == 1 && regrouped(why) { // Every rebalance may do that, at a start too.
		level = slog.LevelInfo
	}
	w.log.Log(context.Background(), level, "transaction aborted: its records are handled again", "err", why)
	w.rewindAll()
	return nil
}
