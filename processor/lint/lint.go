// Package lint holds policies against outcomes that were recorded while all was well, and says what of them does not
// fit: rules that would have fired, rules that wait for what nobody produced, rules whose windows never held enough,
// and circuits that no policy matches. It runs the outcomes through the policies as a backtest does, and does no I/O.
//
// A problem is what is wrong by what was recorded. A note is what may well be as it should be, and could not be tried
// on this recording: that nothing of a built-in kind happened, or that none of a policy's circuits was recorded.
package lint

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// Lint is one set of policies on its way through a recording.
type Lint struct {
	policies *breaker.Policies
	run      *backtest.Run
	judged   map[*breaker.Policy]*policy

	outcomes   int64
	circuits   []circuit       // By their numbers, in the order in which they came.
	unmatched  []string        // Circuits that no policy matches, in the same order.
	produced   map[string]bool // Kinds that the file knows, by anybody.
	undeclared backtest.Unknown
}

// circuit is what was seen of a circuit. There is one for every circuit that was recorded, so it is kept small.
type circuit struct {
	name        string
	by          *policy // Nil where none matches.
	first, last int64   // When outcomes came, in milliseconds since 1970.
	fires       uint64  // A bit for each rule that fires now.
	judged      bool    // A rule has judged it, or would if more of it were recorded.
}

// span returns for how long the circuit was recorded.
func (c *circuit) span() time.Duration { return time.Duration(c.last-c.first) * time.Millisecond }

// policy is what was seen of a policy that judged circuits.
type policy struct {
	produced map[string]bool // Kinds, by its circuits.
	circuits int
	judging  bool          // A rule has judged one of them.
	longest  time.Duration // Of a circuit, from its first outcome to its last.
	rules    []rule
}

// rule is what was seen of a rule.
type rule struct {
	most  int64 // Outcomes in its window.
	fired int   // How often it began to fire.
	first firing
}

// firing is when a rule fired, and on what.
type firing struct {
	circuit             string
	at                  time.Time
	observed, threshold float64
	compared            bool // These are known.
}

// New returns a lint that has seen nothing. The options say how much memory it takes.
func New(policies *breaker.Policies, options backtest.Options) *Lint {
	return &Lint{
		policies: policies, run: backtest.New(policies, options), judged: map[*breaker.Policy]*policy{},
		produced: map[string]bool{},
	}
}

// Outcomes returns how many outcomes the lint has seen.
func (l *Lint) Outcomes() int64 { return l.outcomes }

// Circuits returns of how many circuits they were.
func (l *Lint) Circuits() int { return len(l.circuits) }

// Add takes the next outcome, whose Time must be set. Those of one circuit come in their order.
func (l *Lint) Add(o *schemas.Outcome) {
	step := l.run.Step(o)
	if step.Circuit == "" {
		return // The store failed, as Findings will say.
	}
	if step.Number == len(l.circuits) {
		l.circuits = append(l.circuits, l.circuit(&step))
	}
	l.outcomes += o.Count
	if step.Kind == schemas.UnknownKind {
		l.undeclared.Note(o)
	}
	l.produced[step.Kind] = true
	if c := &l.circuits[step.Number]; c.by != nil {
		c.add(&step)
	}
}

// circuit returns a circuit that has just become known.
func (l *Lint) circuit(step *backtest.Step) circuit {
	c := circuit{name: step.Circuit, first: step.At.UnixMilli()}
	by := step.Policy()
	if !by.Matched {
		l.unmatched = append(l.unmatched, step.Circuit)
		return c
	}
	if c.by = l.judged[by]; c.by == nil {
		c.by = &policy{produced: map[string]bool{}, rules: make([]rule, len(by.Rules))}
		l.judged[by] = c.by
	}
	c.by.circuits++
	return c
}

// add takes down what a step did to the rules.
func (c *circuit) add(step *backtest.Step) {
	p := c.by
	p.produced[step.Kind] = true
	c.last = step.At.UnixMilli()
	p.longest = max(p.longest, c.span())
	for i := range p.rules {
		r, seen := &step.Policy().Rules[i], &p.rules[i]
		f := firing{circuit: c.name, at: step.At}
		var throughput int64
		if step.Trip == nil {
			f.observed, f.threshold, throughput = step.Observe(i)
			f.compared = r.Type != breaker.Immediate
		} else if step.Trip.Rule == r.Name { // A trip empties what the others compared.
			f.observed, f.threshold, throughput = step.Trip.Observed, step.Trip.Threshold, step.Trip.Throughput
			f.compared = r.Type != breaker.Immediate
		}
		seen.most = max(seen.most, throughput)
		if r.Window == 0 || throughput >= r.MinimumThroughput {
			c.judged, p.judging = true, true
		}
		now, was := step.Fires(i), c.fires&(1<<i) != 0
		if now && !was {
			seen.note(f)
		}
		if now != was {
			c.fires ^= 1 << i
		}
	}
}

// note takes down that the rule begins to fire.
func (r *rule) note(f firing) {
	if r.fired == 0 {
		r.first = f
	}
	r.fired++
}
