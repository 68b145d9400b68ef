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
	how, recreated, err := l.cluster.relate(base, found, group)
	if err != nil {
		return err
	}
	for _, topic := range recreated {
		l.log.Error("an input topic was deleted and created again: it is read from its start", "topic", topic)
	}
	switch how {
	case Expired:
		l.metrics.expired.Inc()
		l.log.Error("the group has no offsets: the partition goes on from its progress record, written before they "+
			"expired or by another group", "partition", partition, "outcomes", base.Outcomes.Next,
			"signals", base.Signals.Next, "group", l.config.Group, "written by", base.Writer)
	case Differs:
		command := fmt.Sprintf("fusebox topics repair --partition %d", partition)
		return fmt.Errorf("%w: %s; `%s` says what follows from taking the one or the other, and "+
			"`%s --take progress` or `%s --take group` takes it",
			errDiffer, differing(base, found, group), command, command, command)
	}
	return errors.Join(l.bound(ctx, partition, l.config.Topics.Outcomes, &base.Outcomes),
		l.bound(ctx, partition, l.config.Topics.Signals, &base.Signals))
}

// bound brings a position into its log: to the start where there is none yet, or where the log has lost what was to
// come next. One beyond the end means that the topic has lost records.
func (l *Loop) bound(ctx context.Context, partition int32, topic string, at *inputPosition) error {
	start, end, err := l.span(ctx, partition, topic)
	if err == nil && at.Next > end { // It may be what an old leader knows.
		end, err = l.cluster.surestEnd(ctx, topic, partition)
	}
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

// span returns where the log of a partition begins and ends. It waits for an answer, and says so.
func (l *Loop) span(ctx context.Context, partition int32, topic string) (start, end int64, err error) {
	return l.cluster.span(ctx, l.trouble(partition), topic, partition)
}
