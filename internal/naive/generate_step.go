package naive

import (
	"fmt"
	"maps"
	"slices"
)

// newName returns a name that was not used before.
func (g *generator) newName(prefix string) string {
	g.fresh++
	return fmt.Sprintf("%s%d", prefix, g.fresh)
}

// live returns a live lease of the circuit, or else a name that is none.
func (g *generator) live() Lease {
	if c := g.circuit(); len(c.leases) > 0 {
		return pick(g.dice, c.leases...)
	}
	return Lease{ID: "ghost", Holder: "r1"}
}

// used returns a lease that was granted in this epoch of any circuit, or none.
func (g *generator) used() string {
	names := []string{"ghost", "L1", "L2"}
	for _, name := range circuits {
		if c := g.model.circuits[name]; c != nil {
			names = append(names, slices.Sorted(maps.Keys(c.used))...)
		}
	}
	return pick(g.dice, names...)
}

// epoch returns the epoch of the circuit, at times another one.
func (g *generator) epoch() *int64 {
	return new(max(g.circuit().epoch+pick(g.dice, int64(0), 0, 0, 0, 0, 0, -1, 1), 0))
}

func (g *generator) claim() Step {
	want := Claim{Holder: pick(g.dice, "r1", "r2"), Lease: g.newName("L")}
	switch n := g.IntN(100); {
	case n < 12:
		want.Lease = g.used()
	case n < 24:
		l := g.live()
		want.Lease = l.ID
		if g.chance(60) {
			want.Holder = l.Holder
		}
	}
	if g.chance(35) {
		want.Epoch = g.epoch()
	}
	return Step{Claim: &want, Repeat: pick(g.dice, int64(0), 0, 0, 0, 2)}
}

func (g *generator) release() Step {
	r := Release{Lease: g.live().ID, Unused: g.chance(35)}
	if g.chance(15) {
		r.Lease = g.used()
	}
	return Step{Release: &r}
}

func (g *generator) override() Step {
	mode := pick(g.dice, "force_open", "force_closed", "disable", "reset", "clear")
	o := Override{Mode: mode, Actor: "ana", Reason: "drill"}
	if g.circuit().mode != "" && g.chance(40) {
		o.Mode = "clear"
	}
	if g.chance(65) && o.Mode != "clear" && o.Mode != "reset" {
		o.TTL = new(pick(g.dice, int64(1), 1_000, 2_000, 5_000, 60_000))
	}
	return Step{Override: &o}
}

func (g *generator) outcome() Step {
	o := Outcome{Kind: g.kind()}
	if g.chance(25) {
		o.Severity = pick(g.dice, "low", "normal", "high", "critical", "critical", "urgent")
	}
	if g.chance(25) {
		o.Evaluator = pick(g.dice, "code", "llm", "human", "robot")
	}
	if g.chance(15) {
		o.ReasonCode = pick(g.dice, "rc1", "rc2", "rc3")
	}
	if g.chance(20) {
		o.ID = pick(g.dice, "i1", "i2", "i3", g.newName("i"), g.newName("i"))
	}
	g.spend(&o)
	if g.chance(12) {
		o.Count = pick(g.dice, int64(1), 2, 3, 5, 20)
	}
	if g.chance(7) {
		o.RetryAfterMS = pick(g.dice, int64(500), 3_000, 20_000, 1_000_000_000)
	}
	if g.chance(30) {
		o.Epoch = g.epoch()
	}
	g.admission(&o)
	g.times(&o)
	s := Step{Outcome: &o}
	if g.chance(30) && o.Lease == "" {
		s.Repeat, s.Every = 2+g.Int64N(5), pick(g.dice, int64(0), 0, 1, 100, 1_000)
	}
	return s
}

// neutral returns a result without a verdict, on a live lease if there is one.
func (g *generator) neutral() Step {
	return Step{Outcome: &Outcome{Kind: pick(g.dice, "cancelled", "evaluator_error"), Lease: g.live().ID}}
}

// kind returns a kind of the mood of the moment, now and then in another spelling.
func (g *generator) kind() string {
	bad := g.bad
	if state := g.circuit().state; (state == Open || state == Probing) && g.chance(60) {
		bad = false
	}
	switch {
	case g.chance(9):
		return pick(g.dice, "policy_rejection", "evaluator_error", "cancelled", "made_up", "Odd_Tone", "toolMisuse")
	case g.chance(5):
		return pick(g.dice, "MissingEvidence", "ACCEPTED", "transportfailure")
	case g.chance(20) != bad:
		return pick(g.dice, append([]string{"missing_evidence", "transport_failure"}, failing...)...)
	}
	return "accepted"
}

func (g *generator) spend(o *Outcome) {
	if g.chance(35) {
		o.CostMicros = pick(g.dice, int64(1), 100_000, 250_000, 333_333, 500_000, 1_000_000)
	}
	if g.chance(35) {
		o.InputTokens, o.OutputTokens = pick(g.dice, int64(10), 50, 100), pick(g.dice, int64(0), 10, 50)
	}
	if g.chance(20) {
		o.FallbackFrom = "a:w:v0"
	}
}

// admission puts an outcome on a lease where the circuit is probed, and sometimes on one that is none.
func (g *generator) admission(o *Outcome) {
	switch probing := g.circuit().state == Probing; {
	case probing && g.chance(55):
		o.Lease = g.live().ID
	case probing && g.chance(15) || g.chance(4):
		o.Lease = g.used()
	case g.circuit().state == Open && g.chance(50):
		o.Epoch = nil
	}
}

// times gives an outcome a time and a latency of its own, so that it started beside a time that matters.
func (g *generator) times(o *Outcome) {
	clock := g.model.clock
	if g.chance(15) {
		past := pick(g.dice, int64(0), 1, 999, 1_000, 1_001, 5_000, 10_000, 60_000, 60_001, -5_000, -100_000_000)
		o.Time = new(max(clock-past, 0))
	}
	if g.chance(20) {
		o.LatencyMS = pick(g.dice, int64(1), 99, 100, 101, 1_000, 1_001, 5_000)
	}
	c := g.circuit()
	since := pick(g.dice, c.changed, c.retryAt)
	if since != nil && *since <= clock && g.chance(15) {
		o.Time, o.LatencyMS = new(clock), max(clock-*since+pick(g.dice, int64(-1), 0, 1), 0)
	}
}
