package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// countMost is how many offsets of all partitions are read to count their records, for which some seconds will do; of
// more, the offsets are counted. Whoever resets a group mostly resets all of it.
const countMost = 1_000_000

// choices returns what follows from taking the one side or the other. Without a progress record there is no memory
// either: taking progress then means the start of both topics, and either way all circuits begin anew.
func (r *Repair) choices(ctx context.Context, s *Standing, found bool) ([]Choice, error) {
	progress, group := Choice{Take: TakeProgress}, Choice{Take: TakeGroup}
	theirs := []int64{s.group.outcomes, s.group.signals}
	for i, in := range r.inputs(&s.base) {
		start, end, err := r.span(ctx, in.topic, s.Partition)
		if err != nil {
			return nil, err
		}
		ours, theirs := max(in.next, start), max(theirs[i], start)
		progress.From.set(i, ours)
		group.From.set(i, theirs)
		progress.limit(in.topic, ours, end)
		group.limit(in.topic, theirs, end)
		low, high := min(ours, theirs, end), min(max(ours, theirs), end)
		n, atMost, err := r.count(ctx, in.topic, s.Partition, low, high)
		if err != nil {
			return nil, err
		}
		group.AtMost = group.AtMost || atMost
		if theirs > ours {
			group.Skipped.set(i, n)
		} else {
			group.Again.set(i, n)
		}
		if !found {
			progress.AtMost = progress.AtMost || atMost
			progress.Again.set(i, n)
		}
	}
	return []Choice{progress, group}, nil
}

// limit notes that a side cannot be taken which lies beyond the end of a topic.
func (c *Choice) limit(topic string, at, end int64) {
	if at > end && c.Problem == "" {
		c.Problem = fmt.Sprintf("%s ends at offset %d", topic, end)
	}
}

func (r *Records) set(input int, n int64) { *[]*int64{&r.Outcomes, &r.Signals}[input] = n }

// count returns how many records there are between two offsets, those of aborted transactions and markers left out.
// Behind an open transaction nothing can be read: there, too, offsets are counted.
func (r *Repair) count(ctx context.Context, topic string, partition int32, from, to int64) (
	n int64, atMost bool, err error,
) {
	if from == to {
		return 0, false, nil
	}
	stable, err := again(ctx, func(error) {}, func() (map[int32]int64, error) {
		return r.cluster.ends(ctx, topic, []int32{partition}, true)
	})
	if err != nil {
		return 0, false, err
	}
	if end := max(stable[partition], from); end < to {
		n, atMost, to = to-end, true, end
	}
	if to-from > r.counts {
		return n + to - from, true, nil
	}
	r.counts -= to - from
	log := logReader{cluster: r.cluster, topic: topic, partition: partition, position: from}
	err = log.readTo(ctx, to, func(*kgo.Record) { n++ })
	return n, atMost, err
}
