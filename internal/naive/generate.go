package naive

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Generate returns a random policy file, which is valid, and random steps, the same for the same seed. The numbers are
// small, and the steps are chosen by what the model is in at the time, so that coincidences happen: a claim exactly
// when a probe is due, a result one millisecond before its lease ends, an outcome as old as the window.
func Generate(seed uint64) (Policies, []Step) {
	p, steps, _ := Scenario(seed)
	return p, steps
}

// Scenario returns what Generate returns, and what the model saw after each step.
func Scenario(seed uint64) (Policies, []Step, []Seen) {
	d := dice{rand.New(rand.NewPCG(seed, 0x66757365))}
	p := d.policies()
	g := &generator{dice: d, model: New(p), bad: d.chance(60), fickle: d.chance(12)}
	for range 15 + d.IntN(45) {
		g.next()
	}
	return p, g.steps, g.seen
}

// circuits are those of a test; the first is the one that most steps are about, the last has no policy at times.
var circuits = []string{"a:x:v1", "b:y:v1", "c:z"}

// generator is a scenario in the making.
type generator struct {
	dice
	model  *Model
	steps  []Step
	seen   []Seen
	bad    bool // Whether most answers fail now.
	fickle bool // Whether most probes end without a verdict.
	fresh  int  // The last number used in a name that must be new.
	name   string
}

// next adds a step, or several that belong together.
func (g *generator) next() {
	g.name = circuits[0]
	if g.chance(15) {
		g.name = pick(g.dice, circuits...)
	}
	if g.chance(15) {
		g.bad = !g.bad
	}
	switch state := g.circuit().state; {
	case g.chance(4):
		g.do(Step{Policy: new(g.reloaded(g.model.policies))})
	case g.chance(3):
		g.do(Step{})
	case state == Open && g.chance(60):
		g.doAt(g.near(g.circuit().retryAt), pick(g.dice, g.claim, g.claim, g.outcome, g.outcome)())
	case state == Probing && g.fickle && g.chance(80):
		g.do(pick(g.dice, g.release, g.claim, g.claim, g.neutral)())
	case state == Probing && g.chance(30):
		g.do(pick(g.dice, g.release, g.claim)())
	case state == ForcedOpen || state == ForcedClosed || state == Disabled:
		g.do(pick(g.dice, g.outcome, g.outcome, g.claim, g.override)())
	case g.chance(4):
		g.do(g.override())
	case g.chance(5):
		g.do(pick(g.dice, g.release, g.claim)())
	case g.chance(1):
		g.flood()
	case g.IntN(300) == 0:
		g.manyIDs()
	default:
		g.do(g.outcome())
	}
}

// circuit returns what the model knows of the circuit of this step.
func (g *generator) circuit() *circuit {
	if c := g.model.circuits[g.name]; c != nil {
		return c
	}
	return newCircuit(g.model.clock)
}

func (g *generator) do(s Step) { g.doAt(g.time(), s) }

func (g *generator) doAt(at int64, s Step) {
	s.At, s.Circuit = at, g.name
	g.steps = append(g.steps, s)
	g.seen = append(g.seen, g.model.Step(s))
}

// near returns a time at, or right beside, a time that matters.
func (g *generator) near(t *int64) int64 {
	if t == nil {
		return g.model.clock
	}
	return max(*t+pick(g.dice, int64(0), 0, 0, 0, -1, 1, 500), 0)
}

// time returns the time of the next step: often that of the last, or one at which something changes by itself.
func (g *generator) time() int64 {
	clock := g.model.clock
	switch n := g.IntN(100); {
	case n < 35:
		return clock
	case n < 70:
		return clock + pick(g.dice, int64(1), 1, 10, 100, 500, 1_000, 2_000)
	case n < 93:
		return g.near(new(pick(g.dice, g.boundaries()...)))
	case n < 98:
		return max(clock-pick(g.dice, int64(1), 500, 5_000, 60_000), 0)
	}
	_, s := g.model.policies.find(g.name)
	return clock + pick(g.dice, s.idleAfter, s.idleAfter-1, s.healthyAfter)
}

// boundaries returns the times to come at which the circuit changes by itself, or the clock's where there are none.
func (g *generator) boundaries() []int64 {
	c, clock := g.circuit(), g.model.clock
	_, s := g.model.policies.find(g.name)
	times := []int64{c.lastRecord + s.idleAfter}
	for _, t := range []*int64{c.retryAt, c.until, c.changed} {
		if t != nil {
			times = append(times, *t)
		}
	}
	if c.recovered != nil {
		times = append(times, *c.recovered+s.healthyAfter)
	}
	for _, l := range c.leases {
		times = append(times, l.ExpiresAt, l.ExpiresAt)
	}
	for _, w := range c.windows {
		for _, e := range w.entries[:min(3, len(w.entries))] {
			times = append(times, e.t+w.length)
		}
	}
	times = slices.DeleteFunc(times, func(t int64) bool { return t <= clock || t > clock+700_000 })
	slices.Sort(times)
	if len(times) > 1 && g.chance(80) {
		times = times[:len(times)-1]
	}
	return append(times, clock)
}

// flood sends more distinct times than a window has cells for, and a few failures after them.
func (g *generator) flood() {
	every := pick(g.dice, int64(1), 2, 3, 7, 33)
	kind := pick(g.dice, "accepted", "accepted", "accepted", "missing_evidence")
	g.do(Step{Outcome: &Outcome{Kind: kind}, Repeat: 100 + g.Int64N(250), Every: every})
	for range 2 + g.IntN(4) {
		g.bad = true
		g.do(g.outcome())
	}
}

// manyIDs sends as many different ids as a circuit remembers, give or take one, and then the first ones again.
func (g *generator) manyIDs() {
	for i := range mostIDs - 1 + g.IntN(3) {
		o := Outcome{Kind: pick(g.dice, "accepted", "cancelled"), ID: fmt.Sprintf("n%d", i)}
		g.doAt(g.model.clock, Step{Outcome: &o})
	}
	for i := range 3 {
		g.doAt(g.model.clock, Step{Outcome: &Outcome{Kind: "accepted", ID: fmt.Sprintf("n%d", i)}})
	}
}
