package kafka

import (
	"fmt"
	"strconv"
)

// Relation is how the progress record of a partition and the group's offsets stand to each other.
type Relation string

// A partition starts by itself where they agree, where the group or both have nothing, and on a topic that was created
// again. It does not start where they differ, where an input has lost what was handled of it, and where the progress
// record cannot be read.
const (
	Agrees     Relation = "agrees"
	Fresh      Relation = "fresh"     // There is neither.
	Expired    Relation = "expired"   // The group has no offsets: it goes on from the progress record.
	Recreated  Relation = "recreated" // An input topic is not that of the progress record.
	Differs    Relation = "differs"
	Lost       Relation = "lost"       // An input ends before what was handled of it.
	Unreadable Relation = "unreadable" // By this version, or for this number of partitions.
)

// Starts tells whether a partition starts by itself.
func (r Relation) Starts() bool { return r != Differs && r != Lost && r != Unreadable }

// relate tells how a progress record and the group's offsets stand to each other, and which input topics are not those
// of the record any more. It puts the positions that are to be found yet to -1: all where there is no record, and those
// of a topic that was created again.
func (k *cluster) relate(base *progress, found bool, group committed) (how Relation, recreated []string, err error) {
	if found && base.Partitions != k.partitions {
		return Unreadable, nil, fmt.Errorf("%w: they had %d partitions and have %d; `fusebox topics check` says what "+
			"to do", ErrTopics, base.Partitions, k.partitions)
	}
	if !found {
		*base = progress{
			Outcomes: inputPosition{k.topicIDs[k.topics.Outcomes], -1},
			Signals:  inputPosition{k.topicIDs[k.topics.Signals], -1},
		}
	}
	for _, in := range []struct {
		topic string
		at    *inputPosition
	}{{k.topics.Outcomes, &base.Outcomes}, {k.topics.Signals, &base.Signals}} {
		if id := k.topicIDs[in.topic]; in.at.TopicID != id {
			*in.at, recreated = inputPosition{id, -1}, append(recreated, in.topic)
		}
	}
	switch {
	case len(recreated) > 0:
		return Recreated, recreated, nil
	case group.none() && found:
		return Expired, nil, nil
	case group.none():
		return Fresh, nil, nil
	case group.outcomes != base.Outcomes.Next || group.signals != base.Signals.Next:
		return Differs, nil, nil
	}
	return Agrees, nil, nil
}

// differing says where both stand.
func differing(base *progress, found bool, group committed) string {
	theirs := fmt.Sprintf("the group is at outcomes %s and signals %s", offset(group.outcomes), offset(group.signals))
	if !found {
		return "the changelog has no progress record, " + theirs
	}
	return fmt.Sprintf("the changelog is at outcomes %d and signals %d, %s",
		base.Outcomes.Next, base.Signals.Next, theirs)
}

// offset writes an offset of the group's, which may have none.
func offset(at int64) string {
	if at < 0 {
		return "no offset"
	}
	return strconv.FormatInt(at, 10)
}
