package audit

import (
	"math"
	"sort"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// Record is a record of an input topic, as a read_committed consumer sees it.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Time      time.Time // Its timestamp.
	Appended  bool      // The broker's, and no producer's.
	Key       []byte
	Value     []byte
	Forward   string // The header schemas.ForwardHeader; empty where it has none.
}

// Place returns where the record stands.
func (r *Record) Place() Place { return Place{r.Topic, r.Partition, r.Offset} }

// Place is where a record stands.
type Place struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Site is a partition, and what decides which of its records are handled there.
type Site struct {
	Outcomes, Signals     string // Topics.
	Transitions           string // The same, for what is told.
	Partition, Partitions int32
	Group, Cluster        string                     // Records that were forwarded elsewhere count as direct ones.
	TopicIDs              map[string]string          // Of both topics by name, as the header of a forward has them.
	Home                  func(circuit string) int32 // The partition where a circuit lives. It must be pure.
}

// Feed is one of the topics that are read.
type Feed uint8

// Feeds. Nothing is none of them.
const (
	Nothing Feed = iota
	Outcomes
	Signals
	Transitions
)

// queue is what was read of an input and not handled yet.
type queue struct {
	topic   string
	records []Record
	read    int64 // Up to which offset all is known.
}

// take takes records in the order of their offsets, and up to where the topic was read with them.
func (q *queue) take(records []Record, read int64) {
	q.records = append(q.records, records...)
	q.read = max(q.read, read)
}

// end notes that there is no more.
func (q *queue) end() { q.read = math.MaxInt64 }

func (q *queue) pop() Record {
	r := q.records[0]
	q.records[0] = Record{}
	q.records = q.records[1:]
	return r
}

// below returns how many records lie below an offset, as far as they were read.
func (q *queue) below(offset int64) int {
	return sort.Search(len(q.records), func(i int) bool { return q.records[i].Offset >= offset })
}

// ready tells whether it is known what comes next below an offset, and whether that is the last.
func (q *queue) ready(offset int64) bool { return q.read >= offset || q.below(offset) >= 2 }

// Cut is a point in a partition's history that some record tells: the next offsets of both inputs.
type Cut struct {
	At      schemas.Inputs
	Trigger schemas.Trigger // The record that was handled last; without a topic where none is named.
	Circuit string          // Where no trigger is named: the last record was one of this circuit. Mostly empty.

	// Now is when the cut was written, by the wall clock. Timestamps that a producer set and that lie after it are
	// clamped to it: exactly when they were handled nobody knows any more. The zero time clamps nothing.
	Now time.Time

	// Clamped is where the wall clock stood for the trigger, where the record that tells the cut says so.
	Clamped time.Time
}
