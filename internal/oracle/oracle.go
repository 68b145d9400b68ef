// Package oracle tells, by the pure core, what a processor must have published for what stands on its input topics, and
// compares that with what it did publish. It is for tests: how often the processor was killed, where its partitions
// were and in which transactions it worked makes no difference to what it says.
//
// Outcomes and signals of a partition are interleaved as the input offsets in the published records tell, and between
// those by their timestamps. All else comes from the inputs alone.
package oracle

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// Log is what stands on the topics, from their first record on, as a read_committed consumer sees it: each topic in the
// order of partition and offset. The group has to have read the inputs to their end.
type Log struct {
	Outcomes, Signals                []*kgo.Record
	Transitions, States, DeadLetters []*kgo.Record

	// Lost are records of the inputs that were deleted before their partition had handled them. They are not among the
	// inputs. One that was to be forwarded may have been.
	Lost []*kgo.Record

	// Changelog is compared where it is set. What stands in it also tells how the inputs were interleaved.
	Changelog []*kgo.Record

	Group      string
	Cluster    string            // The cluster's id. Records that were forwarded elsewhere count as direct ones.
	TopicIDs   map[string]string // Of both inputs by name, as the header of a forwarded record has them.
	Partitions int32             // Of each topic but the dead letters.

	// Backlog is how much older than a signal an outcome may be that is handled after it. An outcome is seen a moment
	// after its time: when the transactions before it have ended. Anything longer is a signal that did not wait. The
	// default is three seconds.
	Backlog time.Duration

	// Policies are all that were in force at any time, those of the start first.
	Policies []*breaker.Policies
}

// Place is where a record stands.
type Place = audit.Place

// Expected is what must have become of the inputs.
type Expected struct {
	Transitions map[int32][]string        // State records in their order, by partition.
	States      map[string]string         // The newest of them, by circuit.
	Partitions  map[string]int32          // Where each of these circuits lives.
	Values      map[string][]byte         // What the changelog says last, by circuit.
	Homes       map[string]int32          // Where each of those circuits lives.
	Idle        map[string]bool           // Circuits that may have been forgotten.
	Outcomes    map[processor.Why]int     // What became of the outcomes that were handled.
	Counts      map[processor.Why]int64   // The same by the number that each stands for, as metrics count.
	Handled     map[string]int            // How often an outcome was handled, by its id.
	Letters     map[Place]bool            // What was set aside.
	Forwarded   map[Place]*kgo.Record     // Direct records that belong to another partition.
	Arrived     map[Place]*kgo.Record     // Forwarded records that were handled, by where they came from.
	Dropped     int                       // Forwarded records that had been handled before, or are another group's.
	final       map[string]*schemas.State // Decoded, for whoever looks at them.
}

// Final returns the newest record of a circuit, and whether there is one.
func (e *Expected) Final(circuit string) (schemas.State, bool) {
	state := e.final[circuit]
	if state == nil {
		return schemas.State{}, false
	}
	return *state, true
}

// Count returns how many transitions there must be.
func (e *Expected) Count() (n int) {
	for _, states := range e.Transitions {
		n += len(states)
	}
	return n
}

// Expect plays the inputs through the core. The faults are about the published records by which it interleaves them:
// input offsets that go back, switches to policies that nobody knows, signals that did not wait.
func Expect(l *Log) (*Expected, []string) {
	e := &Expected{
		Transitions: map[int32][]string{}, States: map[string]string{}, Partitions: map[string]int32{},
		Values: map[string][]byte{}, Homes: map[string]int32{}, Idle: map[string]bool{},
		Outcomes: map[processor.Why]int{}, Counts: map[processor.Why]int64{}, Handled: map[string]int{},
		Letters: map[Place]bool{}, Forwarded: map[Place]*kgo.Record{}, Arrived: map[Place]*kgo.Record{},
		final: map[string]*schemas.State{},
	}
	var faults []string
	for id := range l.Partitions {
		r := newReplay(l, id, e)
		r.run(l.cuts(id, &faults))
		faults = append(faults, r.faults...)
	}
	return e, faults
}

// of returns the records of one partition.
func of(records []*kgo.Record, partition int32) []*kgo.Record {
	var own []*kgo.Record
	for _, r := range records {
		if r.Partition == partition {
			own = append(own, r)
		}
	}
	return own
}

const backlog = 3 * time.Second
