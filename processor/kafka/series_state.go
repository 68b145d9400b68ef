package kafka

import (
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// leaseTally adds up what became of claims and leases.
type leaseTally struct{ granted, refused, succeeded, failed, neutral, expired, released int }

func (t *leaseTally) add(c processor.LeaseCounts) {
	t.granted += int(c.Granted)
	t.refused += int(c.Refused)
	t.succeeded += int(c.Succeeded)
	t.failed += int(c.Failed)
	t.neutral += int(c.Neutral)
	t.expired += int(c.Expired)
	t.released += int(c.Released)
}

// resultCount is how often something became of claims, leases or records.
type resultCount struct {
	result string
	n      int
}

func (t *leaseTally) counts() [7]resultCount {
	return [...]resultCount{
		{"granted", t.granted}, {"refused", t.refused}, {"succeeded", t.succeeded}, {"failed", t.failed},
		{"neutral", t.neutral}, {"expired", t.expired}, {"released", t.released},
	}
}

// seriesOf returns the series of a circuit of this pair, made where there is none and there is room.
func (p *pair) seriesOf(m *metrics, circuit string) *series {
	if s := p.circuits[circuit]; s != nil {
		return s
	}
	s := m.newSeries(circuit)
	if s == nil {
		return p.others
	}
	p.circuits[s.circuit] = s
	p.show(s)
	return s
}

// show sets the gauges of a circuit with series of its own.
func (p *pair) show(s *series) {
	if !s.own {
		return
	}
	now := schemas.Closed
	degraded := 0.0
	if state, known := p.core.State(s.circuit, p.core.Clock()); known {
		now = state.State
		if state.Degraded != nil {
			degraded = 1
		}
	}
	for _, phase := range schemas.Phases {
		s.gauge(s.m.state, phase.String()).Set(float64(index(phase == now)))
	}
	s.gauge(s.m.degraded).Set(degraded)
	p.showRatios(s)
}

func (p *pair) showRatios(s *series) {
	if !s.own {
		return
	}
	acceptance, availability, any := p.core.Ratios(s.circuit)
	if !any { // No ratio is better than the one of another time, and an empty window has none.
		s.m.acceptance.DeleteLabelValues(s.circuit)
		s.m.availability.DeleteLabelValues(s.circuit)
		return
	}
	s.gauge(s.m.acceptance).Set(acceptance)
	s.gauge(s.m.availability).Set(availability)
}

// outage is a circuit that is not closed.
type outage struct {
	phase schemas.Phase
	until time.Time // Up to when its open time is counted.
}

// refuses tells whether a circuit in a state counts as open.
func refuses(p schemas.Phase) bool {
	return p == schemas.Open || p == schemas.HalfOpen || p == schemas.ForcedOpen
}

// moved counts one published state: the change, and the open time that it ends or begins. It returns the state before,
// and whether there was a change.
func (p *pair) moved(m *metrics, st *schemas.State) (before schemas.Phase, yes bool) {
	was, any := p.outages[st.Circuit]
	if any {
		before = was.phase
	}
	if before == st.State {
		return before, false
	}
	s := p.seriesOf(m, st.Circuit)
	s.counter(m.transitions, before.String(), st.State.String()).Inc()
	at := st.ChangedAt
	if refuses(before) && at.After(was.until) {
		s.counter(m.open).Add(at.Sub(was.until).Seconds())
	}
	switch {
	case st.State == schemas.Closed:
		delete(p.outages, st.Circuit)
	case refuses(before) && was.until.After(at):
		p.outages[st.Circuit] = outage{st.State, was.until}
	default:
		p.outages[st.Circuit] = outage{st.State, at}
	}
	return before, true
}

// tick counts the open time of circuits that are open, up to now.
func (p *pair) tick(m *metrics, now time.Time) {
	for circuit, o := range p.outages {
		if refuses(o.phase) && now.After(o.until) {
			p.seriesOf(m, circuit).counter(m.open).Add(now.Sub(o.until).Seconds())
			p.outages[circuit] = outage{o.phase, now}
		}
	}
}

// forgetSeries takes a circuit's series away.
func (p *pair) forgetSeries(circuit string) {
	if s := p.circuits[circuit]; s != nil {
		s.remove()
		delete(p.circuits, circuit)
	}
	delete(p.outages, circuit)
}
