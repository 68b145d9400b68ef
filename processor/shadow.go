package processor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Shadow is a circuit that a policy judges and does not rule: live beside the circuit itself, and in a backtest alone.
// It is the same machine on the same path, but it disregards epochs and leases, for they are somebody else's. While it
// is open it takes outcomes as refused, except, when a probe is due, the next one that started at or after RetryAt:
// that is the probe's result. It knows no signals.
type Shadow struct {
	circuit
	trips int64
	told  *schemas.Shadow // What was published of it, where nothing else is known: then it judges nothing.
}

// NewShadow returns a shadow of a circuit, closed and empty, that a policy of these judges from a time on.
func NewShadow(name string, policies *breaker.Policies, by *breaker.Policy, at time.Time) *Shadow {
	return newShadow(name, Regime{0, policies}, by, at)
}

func newShadow(name string, under Regime, by *breaker.Policy, at time.Time) *Shadow {
	return &Shadow{circuit: circuit{
		name: name, regime: under, policy: by, counts: breaker.NewCounts(by), born: at, last: at,
	}}
}

// Step judges one outcome with the timestamp `at`. The shadow's clock is the newest of them. Of the result's States
// there are only changes of state, and Known is 1 where the shadow began a new life.
func (s *Shadow) Step(at time.Time, in Input) Result {
	clock := at
	if s.last.After(at) {
		clock = s.last
	}
	return s.step(clock, at, in)
}

// step judges one outcome with a timestamp when the clock stands at `at`.
func (s *Shadow) step(at, stamp time.Time, in Input) Result {
	on := step{circuit: &s.circuit, aside: true, at: at, in: in, result: Result{Circuit: s.name, At: at}}
	if s.idle(at, s.policy.IdleAfter) {
		*s = *newShadow(s.name, s.regime, s.policy, at)
		on.result.Known = 1
	}
	on.result.Kind, on.result.Why = on.outcome(stamp)
	s.last = at
	if on.result.Tripped != nil {
		s.trips++
	}
	return on.result
}

// Name returns the circuit's name.
func (s *Shadow) Name() string { return s.name }

// Policy returns the policy that judges.
func (s *Shadow) Policy() *breaker.Policy { return s.policy }

// Phase returns the state that the shadow is in.
func (s *Shadow) Phase() schemas.Phase { return s.breaker.State() }

// Observe returns what a rule of the policy compares now: see breaker.Policy.Observe.
func (s *Shadow) Observe(rule int) (observed, threshold float64, throughput int64) {
	return s.policy.Observe(&s.counts, rule)
}

// Degrades tells whether a degrading rule of the policy fired when it was last judged.
func (s *Shadow) Degrades(rule int) bool { return s.counts.Degrading(rule) }

// Append appends the shadow as bytes.
func (s *Shadow) Append(b []byte) []byte {
	return binary.AppendUvarint(s.circuit.append(b), uint64(s.trips))
}

// ReadShadow reads what Append wrote, under the same policies.
func ReadShadow(name string, value []byte, policies *breaker.Policies, by *breaker.Policy) (*Shadow, error) {
	s := &Shadow{}
	return s, s.decode(name, value, Regime{0, policies}, by)
}

func (s *Shadow) decode(name string, value []byte, under Regime, by *breaker.Policy) error {
	b, err := s.read(name, value, []Regime{under}, by)
	if err != nil {
		return fmt.Errorf("shadow: %w", err)
	}
	trips, width := binary.Uvarint(b)
	if width != len(b) || width <= 0 || value[0] != 1 {
		return errors.New("shadow is corrupt")
	}
	s.trips = int64(trips)
	return nil
}

// decodeShadow reads the end of the circuit's value. The shadow of a policy that shadows it no longer is dropped: more
// policies have passed over it than are known.
func (c *circuit) decodeShadow(b []byte) error {
	n, width := binary.Uvarint(b)
	if width <= 0 || n > uint64(len(b)-width) {
		return errors.New("shadow is cut short")
	}
	name, b := string(b[width:width+int(n)]), b[width+int(n):]
	by := c.policy.Shadow
	if by == nil || by.Name != name {
		c.unshown = true
		c.bindShadow(c.last)
		return nil
	}
	c.shadow = &Shadow{}
	return c.shadow.decode(c.name, b, c.regime, by)
}
