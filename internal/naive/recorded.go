package naive

// Recorded is what policies would have done with the recorded outcomes of one circuit.
type Recorded struct {
	Trips    []Trip
	Open     [][2]int64 // From and to; the last may end where the record does.
	Why      map[string]int64
	Probes   int64
	Failures int64 // Refused, by the policy's roles.
	Accepted int64 // Refused.
	Cost     int64 // Of all that was refused, in millionths.
}

// Trip is one opening of the circuit.
type Trip struct {
	At         int64
	Index      int
	Rule       string
	Observed   float64 // 0 for probe_failed.
	Throughput int64
	ByKind     map[string]int64
	Epoch      int64
	RetryAt    int64
	Since      *int64
}

// Replay runs recorded outcomes, each with its own time, through the policies as a backtest does: epochs and leases
// are disregarded, whatever starts when a probe is due is the probe, and the clock is the newest time. A circuit that
// nobody hears of for long begins anew.
func (p Policies) Replay(name string, outcomes []Outcome) Recorded {
	policy, s := p.find(name)
	s.implicit = true
	r := Recorded{Why: map[string]int64{}}
	m := New(p)
	var c *circuit
	for i, o := range outcomes {
		o.Lease, o.Epoch = "", nil
		m.clock = max(m.clock, *o.Time)
		if i == 0 {
			m.clock = *o.Time
		}
		if c == nil || c.state == Closed && c.degraded == "" && m.clock-c.lastRecord >= s.idleAfter {
			c = newCircuit(m.clock)
		}
		c.lastRecord = m.clock
		was, epoch := c.state, c.epoch
		so := m.read(o, policy, *o.Time)
		why := c.outcome(m.clock, so, policy, s)
		if why == "" && was == Closed {
			c.count(m.clock, so, p, policy, s)
		}
		r.note(so, why, was)
		if c.state == Open && c.epoch > epoch {
			r.trip(c, i, m.clock)
		}
		if n := len(r.Open); n > 0 && was != Closed {
			r.Open[n-1][1] = m.clock
		}
		if was == Closed && c.state == Open {
			r.Open = append(r.Open, [2]int64{m.clock, m.clock})
		}
	}
	if n := len(r.Open); n > 0 && c.state != Closed {
		r.Open[n-1][1] = m.clock
	}
	return r
}

// note adds up what became of an outcome.
func (r *Recorded) note(o seenOutcome, why, was string) {
	switch {
	case why == "" && was == Closed:
		why = "counted"
	case why == "":
		why = "probe"
		r.Probes++
	}
	r.Why[why] += o.count()
	if why != "while_open" {
		return
	}
	r.Cost += o.CostMicros
	if o.kind == "accepted" {
		r.Accepted += o.count()
	} else if o.role.Name == Failure {
		r.Failures += o.count()
	}
}

func (r *Recorded) trip(c *circuit, index int, at int64) {
	t := Trip{
		At: at, Index: index, Rule: c.cause.rule, ByKind: c.cause.byKind, Epoch: c.epoch, RetryAt: *c.retryAt,
		Since: c.cause.since,
	}
	if c.cause.observed != nil {
		t.Observed, _ = c.cause.observed.Float64()
	}
	if c.cause.throughput != nil {
		t.Throughput = *c.cause.throughput
	}
	r.Trips = append(r.Trips, t)
}
