package processor

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// bindShadow gives the circuit the shadow that its policy asks for: a new one where it had none or that of a policy of
// another name.
func (c *circuit) bindShadow(at time.Time) {
	by := c.policy.Shadow
	switch {
	case by == nil:
		c.unshown = c.unshown || c.shadow != nil
		c.shadow = nil
	case c.shadow == nil || c.shadow.policy.Name != by.Name:
		c.unshown = true
		c.shadow = newShadow(c.name, c.regime, by, at)
	}
}

// shadowRests tells whether nothing is lost if the circuit's shadow begins a new life at that time. One of which only
// what was published is known may be degraded, which is not.
func (c *circuit) shadowRests(at time.Time) bool {
	return c.shadow == nil || c.shadow.told == nil && c.shadow.idle(at, c.shadow.policy.IdleAfter)
}

// renew begins a new life of the circuit. Its shadow has a life of its own, which goes on.
func (s *step) renew(under Regime) {
	next := newCircuit(s.name, under, s.at)
	if !s.forgotten {
		next.shadow = s.shadow
	}
	*s.circuit = *next
}

// judgeAside lets the circuit's shadow judge an outcome, before the circuit does: so whatever is published of the
// circuit shows it.
func (s *step) judgeAside(stamp time.Time) {
	if s.shadow == nil || s.in.Outcome == nil || s.shadow.told != nil {
		return
	}
	r := s.shadow.step(s.at, stamp, s.in)
	s.result.Shadows, s.result.WouldTrip = r.States, r.Tripped
	s.unshown = s.unshown || len(r.States) > 0 || r.Known != 0
}

// tellShadow publishes what has changed of the shadow, where no record of the circuit has shown it yet, and gives the
// shadow's own transitions the place of the record that shows them.
func (s *step) tellShadow() {
	if s.unshown {
		s.publish(breaker.Touched, false)
	}
	for i := range s.result.Shadows {
		t := &s.result.Shadows[i]
		t.IsShadow, t.Enforced, t.Born, t.Sequence = true, false, s.born, s.sequence
	}
}

// summary returns what the circuit's record says of its shadow.
func (s *Shadow) summary() *schemas.Shadow {
	if s.told != nil {
		return s.told
	}
	since := s.breaker.ChangedAt
	if since.IsZero() {
		since = s.born
	}
	return &schemas.Shadow{
		Policy: s.policy.Name, State: s.breaker.Phase, Epoch: s.breaker.Epoch, Since: since, Trips: s.trips,
		Cause: s.breaker.Cause,
	}
}
