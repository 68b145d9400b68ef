package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sending is a request that commits offsets in the open transaction, while the worker goes on.
type sending struct {
	done chan struct{} // Closed when the brokers have answered.
	stop context.CancelFunc
	err  error // Set before done is closed, as is the rest.

	id    int64 // Under which they were committed.
	epoch int16
}

// send begins to commit offsets in the open transaction, under the generation of the group in which the worker last
// took note of what it has: brokers turn away those of a worker that may have been given less since, or is no member
// any more. Those that they took nobody is given before the transaction has ended (KIP-447). A GroupTransactSession
// would send them behind the records alone, and a heartbeat behind them.
func (w *worker) send(ctx context.Context, offsets txnOffsets, within time.Duration) *sending {
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Topics = w.id, offsets
	request.InstanceID, request.MemberID, request.Generation = &w.id, w.member, w.generation
	ctx, stop := context.WithTimeout(ctx, within)
	s := &sending{done: make(chan struct{}), stop: stop}
	go func() {
		defer close(s.done)
		defer stop()
		s.err = w.loop.cluster.commitOffsets(ctx, w.client, request)
		s.id, s.epoch = request.ProducerID, request.ProducerEpoch
		var coded *kerr.Error
		if s.err != nil && !errors.As(s.err, &coded) { // It may still come to be done: this id is not used any more.
			s.err = fmt.Errorf("%w: %w", errRejoin, s.err)
		}
	}()
	return s
}

// wait returns what the brokers have answered.
func (s *sending) wait() error {
	<-s.done
	return s.err
}

// commitOffsets commits offsets of the group in a client's transaction.
func (k *cluster) commitOffsets(
	ctx context.Context, client *kgo.Client, request *kmsg.TxnOffsetCommitRequest,
) error {
	id, epoch, err := client.ProducerID(ctx)
	if err != nil {
		return fmt.Errorf("ask for the producer id of %s: %w", request.TransactionalID, err)
	}
	if !k.adds {
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = request.TransactionalID, id, epoch, k.group
		err := unlessEnding(ctx, func() error {
			response, err := add.RequestWith(ctx, client)
			if err != nil {
				return err
			}
			return kerr.ErrorForCode(response.ErrorCode)
		})
		if err != nil {
			return fmt.Errorf("take group %s into the transaction: %w", k.group, err)
		}
	}
	request.ProducerID, request.ProducerEpoch, request.Group = id, epoch, k.group
	err = unlessEnding(ctx, func() error {
		response, err := request.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, t := range response.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return fmt.Errorf("partition %d: %w", p.Partition, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("commit offsets of group %s: %w", k.group, err)
	}
	return nil
}

// endingPause is how long brokers are left alone while they write the transaction before to its end.
const endingPause = 2 * time.Millisecond

// unlessEnding asks the brokers until the transaction before has ended.
func unlessEnding(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		if pause(ctx, endingPause); ctx.Err() != nil {
			return err
		}
	}
}

// regrouped tells whether brokers turned offsets away because the group was rebalanced.
func regrouped(err error) bool {
	return isOneOf(err, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress)
}

// txnOffsets are the group's offsets of outcomes and signals, as a transaction commits them.
type txnOffsets []kmsg.TxnOffsetCommitRequestTopic

func (w *worker) offsetsOf(batch []publication) txnOffsets {
	offsets := w.loop.cluster.newOffsets()
	for _, pub := range batch {
		offsets.add(pub.pair.id, &pub.next)
	}
	return offsets
}

func (k *cluster) newOffsets() txnOffsets {
	return txnOffsets{k.offsetsIn(k.topics.Outcomes), k.offsetsIn(k.topics.Signals)}
}

func (k *cluster) offsetsIn(topic string) kmsg.TxnOffsetCommitRequestTopic {
	offsets := kmsg.NewTxnOffsetCommitRequestTopic()
	offsets.Topic, offsets.TopicID = topic, k.rawIDs[topic]
	return offsets
}

// add takes in what a progress record says of its partition.
func (o txnOffsets) add(partition int32, next *progress) {
	stamp := next.stamp()
	for i, at := range []int64{next.Outcomes.Next, next.Signals.Next} {
		part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		part.Partition, part.Offset, part.LeaderEpoch, part.Metadata = partition, at, -1, &stamp
		o[i].Partitions = append(o[i].Partitions, part)
	}
}
