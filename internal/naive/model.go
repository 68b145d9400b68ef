package naive

import "maps"

// Model is the circuits of one partition. They share its clock, which never goes back.
type Model struct {
	policies Policies
	clock    int64
	circuits map[string]*circuit
	earlier  map[string]int // Transitions of the lives that were forgotten.
}

// New returns a model without circuits, whose clock is at the start of 1970.
func New(p Policies) *Model {
	return &Model{policies: p, circuits: map[string]*circuit{}, earlier: map[string]int{}}
}

// Run takes the steps in their order and returns what was seen after each.
func (m *Model) Run(steps []Step) []Seen {
	var seen []Seen
	for _, s := range steps {
		seen = append(seen, m.Step(s))
	}
	return seen
}

// Step takes one step, with its repetitions, and returns what is seen of its circuit then.
func (m *Model) Step(s Step) Seen {
	before := m.transitions(s.Circuit)
	var answer Seen
	for i := range max(s.Repeat, 1) {
		answer = m.once(s, s.At+i*s.Every)
	}
	seen := m.look(s.Circuit)
	seen.Counted, seen.Why, seen.Granted = answer.Counted, answer.Why, answer.Granted
	seen.Transitions = m.transitions(s.Circuit) - before
	return seen
}

func (m *Model) transitions(name string) int {
	if c := m.circuits[name]; c != nil {
		return m.earlier[name] + c.transitions
	}
	return m.earlier[name]
}

// once takes one repetition of a step, of which the record has the timestamp given.
func (m *Model) once(s Step, timestamp int64) Seen {
	m.clock = max(m.clock, timestamp)
	for name, c := range m.circuits {
		p, _ := m.policies.find(name)
		c.expire(m.clock, p.live())
	}
	var answer Seen
	switch {
	case s.Policy != nil:
		m.reload(*s.Policy)
	case s.Outcome != nil:
		answer.Why = m.outcome(s.Circuit, *s.Outcome, timestamp)
		counted := answer.Why == ""
		answer.Counted = &counted
	case s.Claim != nil:
		c, p, st := m.touch(s.Circuit)
		granted := c.claim(m.clock, *s.Claim, p, st)
		answer.Granted = &granted
	case s.Release != nil:
		c, _, st := m.touch(s.Circuit)
		c.release(m.clock, *s.Release, st)
	case s.Override != nil:
		c, p, _ := m.touch(s.Circuit)
		c.override(m.clock, *s.Override, p.live())
	}
	return answer
}

func (m *Model) reload(p Policies) {
	m.policies = p
	for name, c := range m.circuits {
		policy, s := p.find(name)
		c.reload(m.clock, p, policy, s)
	}
}

// touch is what every record of a circuit does first: it is forgotten if it was idle, and expired leases end.
func (m *Model) touch(name string) (*circuit, *Policy, settings) {
	p, s := m.policies.find(name)
	c := m.circuits[name]
	if c != nil && c.state == Closed && c.degraded == "" && m.clock-c.lastRecord >= s.idleAfter {
		m.earlier[name] += c.transitions
		c = nil
	}
	if c == nil {
		c = newCircuit(m.clock)
		m.circuits[name] = c
	}
	c.lastRecord = m.clock
	c.reclaim(m.clock, s)
	return c, p, s
}

// outcome handles one outcome and returns why it is not counted, or nothing.
func (m *Model) outcome(name string, o Outcome, timestamp int64) string {
	c, p, s := m.touch(name)
	so := m.read(o, p, timestamp)
	probing := c.state == Open || c.state == Probing
	why := c.outcome(m.clock, so, p, s)
	if why == "" && !probing {
		c.count(m.clock, so, m.policies, p, s)
	}
	return why
}

// read puts an outcome in the words of its policy.
func (m *Model) read(o Outcome, p *Policy, timestamp int64) seenOutcome {
	so := seenOutcome{Outcome: o, kind: m.policies.canonical(o.Kind), t: timestamp}
	so.severity, so.evaluator = severityOf(o.Severity), evaluatorOf(o.Evaluator)
	if o.Time != nil {
		so.t = *o.Time
	}
	so.t = min(so.t, m.clock)
	so.started = so.t - o.LatencyMS
	if p != nil {
		so.role = p.role(so.kind)
	}
	return so
}

// look returns what is seen of a circuit without a record of it.
func (m *Model) look(name string) Seen {
	p, _ := m.policies.find(name)
	seen := Seen{State: Closed, Enforced: p.enforced(), StateOf: map[string]string{}}
	for other, c := range m.circuits {
		seen.StateOf[other] = c.state
	}
	c := m.circuits[name]
	if c == nil {
		return seen
	}
	seen.State, seen.Epoch, seen.Attempt = c.state, c.epoch, c.attempt
	seen.RetryAt, seen.ChangedAt = c.retryAt, c.changed
	if c.cause != nil {
		seen.Rule, seen.Observed, seen.Throughput = c.cause.rule, c.cause.observed, c.cause.throughput
		seen.ByKind, seen.Since = maps.Clone(c.cause.byKind), c.cause.since
	}
	seen.Degraded, seen.Override, seen.Until = c.degraded, c.mode, c.until
	seen.Successes, seen.Failures, seen.Inconclusive = c.successes, c.failures, c.row
	for _, l := range c.leases {
		if m.clock < l.ExpiresAt {
			seen.Leases = append(seen.Leases, l)
		}
	}
	return seen
}
