package processor

import (
	"bytes"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Adopt makes a circuit what a published record says that tells of a change, at the partition's clock. A change leaves
// a circuit empty, so that is all of it but the ids of its newest outcomes: where the circuit is in memory they stay as
// they are, else there are none. An audit begins with it in the middle of a log.
// Its shadow is not empty then: where the circuit is in memory, and the record says the same of its shadow, that stays
// as it is, else see Hear.
func (p *Partition) Adopt(s *schemas.State) {
	known := p.slot(s.Circuit) != nil
	if !known {
		p.create(s.Circuit)
	}
	c := p.touch(strings.Clone(s.Circuit))
	c.forgotten = false
	c.breaker = breaker.Published(s)
	c.counts, c.notCounted = breaker.NewCounts(c.policy), schemas.NotCounted{}
	c.born, c.sequence, c.inputs, c.last = s.Born, s.Sequence, s.Inputs, p.clock
	if c.unshown = false; c.shadow != nil && !(known && c.shadow.is(s.Shadow)) {
		c.shadow.told = s.Shadow
	}
}

// is tells whether a published record says what is known of the shadow.
func (s *Shadow) is(told *schemas.Shadow) bool {
	a, b := schemas.State{Shadow: s.summary()}, schemas.State{Shadow: told}
	return bytes.Equal(schemas.AppendState(nil, &a), schemas.AppendState(nil, &b))
}

// Hear takes a published record's word for all that it says of its circuit's shadow, its own sequence with it. It does
// so, and reports true, only where nothing else is known of the shadow: it was there when the circuit was adopted, and
// judges nothing since. A transition of the shadow itself tells nothing that the circuit's record does not.
func (p *Partition) Hear(s *schemas.State) bool {
	c := p.slot(s.Circuit)
	if c == nil || c.shadow == nil || c.shadow.told == nil {
		return false
	}
	if s.Shadow != nil {
		c.sequence, c.inputs, c.shadow.told = s.Sequence, s.Inputs, s.Shadow
	}
	return true
}

// Drop takes a circuit out of memory, with what is not committed of it. Its next record begins a new life.
func (p *Partition) Drop(name string) {
	s := p.slot(name)
	if s == nil {
		return
	}
	for i, t := range p.touched {
		if t == s {
			p.touched = append(p.touched[:i], p.touched[i+1:]...)
			break
		}
	}
	p.remove(s)
}
