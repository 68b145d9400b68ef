package kafka

import (
	"slices"
	"strconv"
	"time"
)

// A topicPlan is what one topic is to be.
type topicPlan struct {
	name     string
	free     bool // May have another number of partitions than the rest.
	settings []setting
}

// setting is one of a topic's settings, which may be kept within a bound only: an operator who keeps outcomes for
// longer, or compacts earlier, is not wrong.
type setting struct {
	name  string
	want  string
	bound bound
	why   string
}

type bound uint8

const (
	exactly bound = iota
	atLeast
	atMost
)

// String returns the words before a wanted value.
func (b bound) String() string { return [...]string{"", "at least ", "at most "}[b] }

// fits tells whether a value is right. -1 is Kafka's word for without end.
func (s setting) fits(got string) bool {
	if s.bound == exactly || got == s.want {
		return got == s.want
	}
	value, err := strconv.ParseFloat(got, 64)
	wanted, errWanted := strconv.ParseFloat(s.want, 64)
	if err != nil || errWanted != nil {
		return false
	}
	switch {
	case value == -1:
		return s.bound == atLeast
	case s.bound == atLeast:
		return value >= wanted
	}
	return value <= wanted
}

const day = 24 * time.Hour

// plans returns the plan of every topic, in the order of the specification, for a number of replicas.
func plans(topics Topics, replication int16) []topicPlan {
	safe := []setting{
		{"min.insync.replicas", strconv.Itoa(inSync(replication)), atLeast, "an acknowledged record survives a broker"},
		{"unclean.leader.election.enable", "false", exactly, "an acknowledged record must not be lost"},
	}
	with := func(settings ...setting) []setting { return slices.Concat(settings, safe) }
	ours := func(settings ...setting) []setting { return append(with(settings...), large) }
	appendTime := setting{"message.timestamp.type", "LogAppendTime", exactly,
		"a record's time must be the broker's, or a replay can differ"}
	return []topicPlan{
		{name: topics.Outcomes, settings: with(deleted, kept(7*day), appendTime)},
		{name: topics.Signals, settings: with(deleted, kept(7*day), appendTime)},
		{name: topics.State, settings: ours(compacted...)},
		{name: topics.Transitions, settings: ours(deleted, kept(90*day))},
		{name: topics.Changelog, settings: ours(compacted...)},
		{name: topics.DeadLetters, free: true, settings: ours(deleted, kept(14*day))},
	}
}

// inSync returns how many replicas must have a record before it is acknowledged.
func inSync(replication int16) int { return max(1, min(2, int(replication)-1)) }

// large lets a topic take what Fusebox writes itself: the value of a circuit under many rules, or a large policy file.
var large = setting{"max.message.bytes", strconv.Itoa(ownMost), atLeast,
	"a circuit with many rules, or a large policy file, is one record"}

var deleted = setting{"cleanup.policy", "delete", exactly, "every record counts, not the newest of a key alone"}

var compacted = []setting{
	{"cleanup.policy", "compact", exactly, "the newest record of every circuit is kept for ever"},
	{"segment.ms", milliseconds(time.Hour), atMost, "a start reads what is not compacted yet"},
	{"segment.bytes", strconv.Itoa(64 << 20), atMost, "a start reads what is not compacted yet"},
	{"min.cleanable.dirty.ratio", "0.2", atMost, "a start reads what is not compacted yet"},
	{"max.compaction.lag.ms", milliseconds(time.Hour), atMost, "a start reads what is not compacted yet"},
	{"delete.retention.ms", milliseconds(7 * day), atLeast, "an instance that was away must see what was forgotten"},
}

func kept(d time.Duration) setting {
	return setting{"retention.ms", milliseconds(d), atLeast, "what is older can be neither replayed nor audited"}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
