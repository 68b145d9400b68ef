package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/offsets"
)

const (
	pollMost  = 10_000          // Records of one poll.
	pollBytes = 4 << 20         // Of one fetch.
	tryAgain  = 2 * time.Second // After what may pass.
	pollWait  = 500 * time.Millisecond
)

// reader follows a topic from given offsets on, and of it what is committed.
type reader struct {
	client    *kgo.Client
	topic     string
	positions map[int32]int64
}

// newReader returns a reader of the partitions that have a start.
func newReader(opts []kgo.Opt, topic string, starts map[int32]int64) (*reader, error) {
	from := make(map[int32]kgo.Offset, len(starts))
	positions := make(map[int32]int64, len(starts))
	for partition, offset := range starts {
		from[partition], positions[partition] = kgo.NewOffset().At(offset), offset
	}
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, opts...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // A position is known from the last record alone then.
		kgo.FetchMaxWait(pollWait),
		kgo.FetchMaxBytes(pollBytes),
		kgo.FetchMaxPartitionBytes(pollBytes),
	)...)
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", topic, err)
	}
	return &reader{client, topic, positions}, nil
}

// next waits for records, markers among them, and moves the positions. An error is one after which this reader cannot
// go on.
func (r *reader) next(ctx context.Context) ([]*kgo.Record, error) {
	fetches := r.client.PollRecords(ctx, pollMost)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var faults []error
	fetches.EachError(func(_ string, partition int32, err error) {
		faults = append(faults, fmt.Errorf("follow %s, partition %d: %w", r.topic, partition, err))
	})
	records := fetches.Records()
	for _, record := range records {
		r.positions[record.Partition] = record.Offset + 1
	}
	return records, errors.Join(faults...)
}

// reached tells whether every position is at or past its end.
func (r *reader) reached(ends map[int32]int64) bool {
	for partition, end := range ends {
		if r.positions[partition] < end {
			return false
		}
	}
	return true
}

// span returns where a topic begins and, for readers of what is committed, ends.
func span(ctx context.Context, client *kgo.Client, topic string) (starts, ends map[int32]int64, err error) {
	admin := kadm.NewClient(client)
	if starts, err = offsets.Starts(ctx, admin, topic); err != nil {
		return nil, nil, err
	}
	ends, err = offsets.Committed(ctx, admin, topic)
	return starts, ends, err
}

// states follows the state topic until the context ends. What may pass, it tries again, from the start of the topic.
func (c *Console) states(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.stateTopic(ctx)
		if ctx.Err() != nil {
			return
		}
		c.log.Warn("the console reads the state topic again", "err", err)
		sleep(ctx, tryAgain)
	}
}

func (c *Console) stateTopic(ctx context.Context) error {
	starts, ends, err := span(ctx, c.client, c.config.Topics.State)
	if err != nil {
		return err
	}
	r, err := newReader(c.config.Client, c.config.Topics.State, starts)
	if err != nil {
		return err
	}
	defer r.client.Close()
	c.view.reset()
	for caughtUp := false; ; {
		if !caughtUp && r.reached(ends) {
			caughtUp = true
			c.view.ready()
		}
		records, err := r.next(ctx)
		c.view.take(records)
		if err != nil {
			return err
		}
	}
}

// sleep waits, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
