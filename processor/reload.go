package processor

import (
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Reload puts other policies in force, at the partition's clock. Circuits that are open or half-open under a policy
// that is off, or under none, are closed; of those that are not closed routers are told where they are to obey from now
// on, or not to. The records that say so are returned by the circuits' names, as a replay cannot know which came into
// memory first. Those that are not in memory are not looked at: see NeedsReload.
func (p *Partition) Reload(policies *breaker.Policies, inputs schemas.Inputs) []schemas.State {
	var states []schemas.State
	next := Regime{p.newest().Number + 1, policies}
	for _, s := range p.order {
		if s.moved() {
			states = append(states, p.reload(s.name, next, inputs)...)
		}
	}
	slices.SortStableFunc(states, func(a, b schemas.State) int { return strings.Compare(a.Circuit, b.Circuit) })
	p.policies = policies
	p.regimes = append(slices.Clone(p.regimes[max(0, len(p.regimes)+1-RegimesKept):]), next)
	return states
}

// reload puts other policies in force for one circuit. What time has done to it is done under those of before.
func (p *Partition) reload(name string, next Regime, inputs schemas.Inputs) []schemas.State {
	s := step{circuit: p.touch(name), at: p.clock, in: Input{Inputs: inputs}}
	s.inputs = inputs
	s.publish(s.breaker.Expire(p.clock, s.policy), false)
	enforced, change := s.policy.Enforce, breaker.Same
	s.rebind(next, p.clock)
	if !s.policy.Enabled {
		change = s.breaker.Disable(p.clock)
	}
	if s.policy.Enforce != enforced {
		change = max(change, breaker.Touched)
	}
	s.publish(change, true)
	s.tellShadow()
	return s.result.States
}

// moved tells whether a reload may change the circuit at once.
func (c *circuit) moved() bool {
	return c.breaker.Phase != schemas.Closed || c.breaker.Override != nil
}

// Sweep forgets circuits in memory that have been idle too long by the partition's clock, at most that many, and
// returns their names. Their next record would begin a new life in any case: the sweep only says so.
func (p *Partition) Sweep(limit int) []string {
	var swept []string
	for _, s := range p.order {
		if len(swept) == limit {
			break
		}
		if s.touched || !s.idle(p.clock, p.policies.For(s.name).IdleAfter) || !s.shadowRests(p.clock) {
			continue
		}
		p.touch(s.name).forgotten = true
		swept = append(swept, s.name)
	}
	return swept
}

// Ratios returns the share of accepted outcomes, and the share that reached the route at all, of those that are
// evidence in the longest window of the circuit's policy. It reports false where the circuit is not in memory or has
// none.
func (p *Partition) Ratios(name string) (acceptance, availability float64, ok bool) {
	s := p.circuits[name]
	if s == nil {
		return 0, 0, false
	}
	return s.policy.Ratios(&s.counts)
}

// LastRecord returns when the last record of a stored circuit came.
func LastRecord(value []byte) (time.Time, error) {
	h, err := readHead(value)
	return h.last, err
}

// NeedsReload tells whether a reload may change a stored circuit at once, so that it has to be in memory for it.
func NeedsReload(value []byte) bool {
	h, err := readHead(value)
	return err == nil && h.moved
}
