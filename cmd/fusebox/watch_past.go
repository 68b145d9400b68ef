package main

import (
	"context"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// past prints what was published between two times, of all partitions in the order of time. Whoever ends it before
// that has seen enough.
func (w *watcher) past(ctx context.Context, c config, since, until time.Time) error {
	topic := c.topics().Transitions
	client, err := c.dial(ctx, []string{topic})
	if err != nil {
		return err
	}
	defer client.Close()
	starts, ends, err := ranges(ctx, client, topic, since, until)
	if err != nil {
		return err
	}
	var partitions []*partitionRecords
	for partition, start := range starts {
		p := recordsUpTo(client, topic, partition, start, ends[partition], len(starts))
		partitions = append(partitions, &p)
	}
	for {
		r, err := earliest(ctx, partitions)
		if r == nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := w.show(r); err != nil {
			return err
		}
	}
}

// earliest takes the record of the least timestamp away, of those that stand first in their partitions. It returns nil
// where there is none any more.
func earliest(ctx context.Context, partitions []*partitionRecords) (*kgo.Record, error) {
	var first *partitionRecords
	for _, p := range partitions {
		switch err := p.fill(ctx); {
		case err == io.EOF:
		case err != nil:
			return nil, err
		case first == nil || precedes(p.batch[0], first.batch[0]):
			first = p
		}
	}
	if first == nil {
		return nil, nil
	}
	return first.take(), nil
}

// precedes tells which of two records of different partitions comes first: of equal timestamps the lower partition's.
func precedes(a, b *kgo.Record) bool {
	if a.Timestamp.Equal(b.Timestamp) {
		return a.Partition < b.Partition
	}
	return a.Timestamp.Before(b.Timestamp)
}
