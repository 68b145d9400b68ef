package kafka

import (
	"context"
	"errors"
	"fmt"
)

// errDiffer says that the progress record and the group's offsets speak of different positions.
var errDiffer = errors.New("the changelog and the offsets of the group differ")

// errLost says that a topic ends before what was handled of it.
var errLost = errors.New("the topic has lost records")

// agree finds out where a pair goes on. The progress record must speak of the same offsets as the group. Where the
// group has none, as they expired, the progress record is right: starting over would count everything twice. Where
// there is neither, the pair begins at the start of its topics.
func (l *Loop) agree(ctx context.Context, partition int32, base *progress, found bool, group committed) error {
	if found && base.Partitions != l.cluster.partitions {
		return fmt.Errorf("%w: they had %d partitions and have %d; `fusebox topics check` says what to do",
			ErrTopics, base.Partitions, l.cluster.partitions)
	}
	if !found {
		*base = progress{
			Outcomes: inputPosition{l.cluster.topicIDs[l.config.Topics.Outcomes], -1},
			Signals:  inputPosition{l.cluster.topicIDs[l.config.Topics.Signals], -1},
		}
	}
	recreated := false
	for _, in := range []struct {
		topic string
		at    *inputPosition
	}{{l.config.Topics.Outcomes, &base.Outcomes}, {l.config.Topics.Signals, &base.Signals}} {
		if id := l.cluster.topicIDs[in.topic]; in.at.TopicID != id {
			l.log.Error("an input topic was deleted and created again: it is read from its start", "topic", in.topic)
			*in.at, recreated = inputPosition{id, -1}, true
		}
	}
	switch {
	case group.none() && found && !recreated:
		l.metrics.expired.Inc()
		l.log.Error("the group has no offsets: the partition goes on from its progress record", "partition", partition,
			"outcomes", base.Outcomes.Next, "signals", base.Signals.Next)
	case recreated || group.none():
	case group.outcomes != base.Outcomes.Next || group.signals != base.Signals.Next:
		return l.differ(partition, base, group)
	}
	return errors.Join(l.bound(ctx, partition, l.config.Topics.Outcomes, &base.Outcomes),
		l.bound(ctx, partition, l.config.Topics.Signals, &base.Signals))
}

// differ says where both stand, and what can be done.
func (l *Loop) differ(partition int32, base *progress, group committed) error {
	t := l.config.Topics
	return fmt.Errorf("partition %d: %w: the changelog is at outcomes %d and signals %d, the group at %d and %d; "+
		"stop all instances, then either run `kafka-consumer-groups.sh --bootstrap-server $FUSEBOX_BROKERS "+
		"--group %s --delete-offsets --topic %s --topic %s`: it goes on from the changelog, and counts nothing twice; "+
		"or do so, delete %s too and run `fusebox topics create`: all circuits begin anew, from the start of the "+
		"inputs",
		partition, errDiffer, base.Outcomes.Next, base.Signals.Next, group.outcomes, group.signals,
		l.config.Group, t.Outcomes, t.Signals, t.Changelog)
}

// bound brings a position into its log: to the start where there is none yet, or where the log has lost what was to
// come next. One beyond the end means that the topic has lost records.
func (l *Loop) bound(ctx context.Context, partition int32, topic string, at *inputPosition) error {
	start, end, err := l.span(ctx, partition, topic)
	if err != nil {
		return err
	}
	switch {
	case at.Next > end:
		return fmt.Errorf("%s/%d ends at offset %d, and records up to %d were handled: %w; stop all instances, then "+
			"either delete that topic and run `fusebox topics create`: circuits go on as they are, and what is left "+
			"in it is not counted; or delete %s and the group %s and do so: all circuits begin anew, from the start "+
			"of the inputs",
			topic, partition, end, at.Next, errLost, l.config.Topics.Changelog, l.config.Group)
	case at.Next < 0:
		at.Next = start
	case at.Next < start:
		l.metrics.lost.Add(float64(start - at.Next))
		l.log.Error("records were deleted before they were handled", "topic", topic, "partition", partition,
			"from", at.Next, "to", start)
		at.Next = start
	}
	return nil
}

// span returns where the log of a partition begins and ends.
func (l *Loop) span(ctx context.Context, partition int32, topic string) (start, end int64, err error) {
	one := []int32{partition}
	starts, err := again(ctx, l.trouble(partition), func() (map[int32]int64, error) {
		return l.cluster.starts(ctx, topic, one)
	})
	if err != nil {
		return 0, 0, err
	}
	ends, err := again(ctx, l.trouble(partition), func() (map[int32]int64, error) {
		return l.cluster.ends(ctx, topic, one, false)
	})
	return starts[partition], ends[partition], err
}
