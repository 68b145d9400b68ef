package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// WatchTime is how long Take watches the partitions first where the group has members: whoever works on one publishes
// a heartbeat within it, and with it an offset.
const WatchTime = beatEvery + 2*time.Second

// CanTake says which partition cannot take a side, and why.
func CanTake(side Side, chosen []Standing) error {
	for _, s := range chosen {
		switch choice, ok := s.Choice(side); {
		case !ok:
			return fmt.Errorf("partition %d: there is nothing to take: %s", s.Partition, s.Says)
		case choice.Problem != "":
			return fmt.Errorf("partition %d cannot take %s: %s", s.Partition, side, choice.Problem)
		}
	}
	return nil
}

// Take makes partitions agree that differ: in one transaction it writes the offsets of one side into the group and into
// a new progress record each. All is written or nothing, and nothing where a partition is not any more as it was when
// the standings were taken. Instances need not be stopped: one that has such a partition does not work on it, and tries
// it again within seconds.
func (r *Repair) Take(ctx context.Context, side Side, chosen []Standing) error {
	if err := CanTake(side, chosen); err != nil {
		return err
	}
	if err := r.watch(ctx); err != nil {
		return err
	}
	now, err := r.Standings(ctx)
	if err != nil {
		return err
	}
	for _, s := range chosen {
		if n := now[s.Partition]; n.Relation != Differs || n.group != s.group || n.base.stamp() != s.base.stamp() {
			return fmt.Errorf("partition %d has moved meanwhile: nothing was written: %s", s.Partition, n.Says)
		}
	}
	return r.write(ctx, side, chosen)
}

// watch waits for WatchTime where the group has members.
func (r *Repair) watch(ctx context.Context) error {
	members, err := r.Members(ctx)
	if err != nil || len(members) == 0 {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(WatchTime):
		return nil
	}
}

// repairID is the transactional id of a group's repairs: one for all, so that of two at once the first is fenced.
func repairID(group string) string { return group + "-repair" }

// write is the transaction.
func (r *Repair) write(ctx context.Context, side Side, chosen []Standing) error {
	id := repairID(r.cluster.group)
	client, err := kgo.NewClient(append(slices.Clone(r.client),
		kgo.TransactionalID(id), kgo.TransactionTimeout(transactionTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))...)
	if err != nil {
		return fmt.Errorf("make the Kafka client: %w", err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	var records []*kgo.Record
	var all []written
	offsets := r.cluster.newOffsets()
	for i := range chosen {
		next := r.next(&chosen[i], side, id)
		offsets.add(chosen[i].Partition, &next)
		records = append(records, &kgo.Record{
			Topic: r.cluster.topics.Changelog, Partition: chosen[i].Partition,
			Key: []byte(progressKey), Value: next.append(nil),
		})
	}
	if err = client.ProduceSync(ctx, records...).FirstErr(); err == nil {
		// It is no member: brokers take offsets in a transaction from anybody, as before they knew of members there.
		request := kmsg.NewPtrTxnOffsetCommitRequest()
		request.TransactionalID, request.Generation, request.Topics = id, -1, offsets
		for _, record := range records {
			all = append(all, writtenTo(record))
		}
		if err = r.cluster.commitOffsets(ctx, client, request); err == nil {
			err = underOne(request.ProducerID, request.ProducerEpoch, all)
		} else {
			err = fmt.Errorf("%w (try again with its instances stopped)", err)
		}
	}
	if err != nil {
		return errors.Join(err, client.EndTransaction(context.WithoutCancel(ctx), kgo.TryAbort))
	}
	if err := endCommit(ctx, client, all); err != nil {
		return fmt.Errorf("whether it was written is not known, `fusebox topics repair` shows it: %w", err)
	}
	return nil
}

// next returns the progress record that lets a partition go on from a side.
func (r *Repair) next(s *Standing, side Side, writer string) progress {
	choice, _ := s.Choice(side)
	theirs, _, _ := strings.Cut(s.group.stamp, " ")
	number, _ := strconv.ParseUint(theirs, 10, 64) // 0 where somebody else has set the offsets.
	next := s.base
	next.Schema, next.Partitions = progressSchema, r.cluster.partitions
	next.Outcomes.Next, next.Signals.Next = choice.From.Outcomes, choice.From.Signals
	next.Number, next.Writer = max(number, s.base.Number)+1, writer
	return next
}
