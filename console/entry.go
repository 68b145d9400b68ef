package console

import (
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// entry is the newest record of a circuit. Nearly all circuits are closed with nothing more to tell: of those only what
// differs is kept, a tenth of a whole record.
type entry struct {
	full *schemas.State // Nil where plain says all.
	plain
}

// plain is a record of a circuit that is closed, and of which there is nothing else to say.
type plain struct {
	born, changed int64 // Unix milliseconds; changed is 0 where it never did.
	epoch         int64
	sequence      int64
	offset        int64
	outcomes      int64
	signals       int64
	attempt       int32
	partition     int32
	previous      schemas.Phase
	bound         *bound
}

// bound is what many circuits have in common.
type bound struct {
	policy, version string
	topic           string
	concurrency     int
}

// newEntry returns the entry of a record. Bounds are shared by way of the map.
func newEntry(s *schemas.State, bounds map[bound]*bound) entry {
	e := entry{plain: plain{
		born: s.Born.UnixMilli(), epoch: s.Epoch, sequence: s.Sequence, offset: s.Trigger.Offset,
		outcomes: s.Inputs.Outcomes, signals: s.Inputs.Signals, attempt: int32(s.Attempt),
		partition: s.Trigger.Partition, previous: s.Previous,
	}}
	if !s.ChangedAt.IsZero() {
		e.changed = s.ChangedAt.UnixMilli()
	}
	b := bound{s.Policy, s.PolicyVersion, s.Trigger.Topic, s.Probe.Concurrency}
	known := bounds[b]
	if known == nil {
		known = &b
		bounds[b] = known
	}
	e.bound = known
	if !isPlain(s) {
		full := *s
		e.full = &full
	}
	return e
}

// isPlain tells whether a plain entry says all of a record.
func isPlain(s *schemas.State) bool {
	return s.State == schemas.Closed && s.RetryAt.IsZero() && s.Enforced && s.Cause == nil && s.Degraded == nil &&
		len(s.Leases) == 0 && len(s.Ramp) == 0 && s.Override == nil && s.Operator == nil && !s.Clamped &&
		s.Shadow == nil && s.Probe == schemas.Probe{Concurrency: s.Probe.Concurrency}
}

// state returns the record.
func (e *entry) state(circuit string) schemas.State {
	if e.full != nil {
		return *e.full
	}
	s := schemas.State{
		Circuit: circuit, Previous: e.previous, Epoch: e.epoch, Sequence: e.sequence,
		Born: time.UnixMilli(e.born).UTC(), Enforced: true, Attempt: int(e.attempt),
		Policy: e.bound.policy, PolicyVersion: e.bound.version, Probe: schemas.Probe{Concurrency: e.bound.concurrency},
		Trigger: schemas.Trigger{Topic: e.bound.topic, Partition: e.partition, Offset: e.offset},
		Inputs:  schemas.Inputs{Outcomes: e.outcomes, Signals: e.signals},
	}
	if e.changed != 0 {
		s.ChangedAt = time.UnixMilli(e.changed).UTC()
	}
	return s
}

// newer tells whether a record says more than the entry.
func (e *entry) newer(s *schemas.State) bool {
	if born := s.Born.UnixMilli(); born != e.born {
		return born > e.born
	}
	return s.Sequence > e.sequence
}
