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
	circuits   int
	unmatched  []string        // Circuits that no policy matches, in the order in which they came.
	produced   map[string]bool // Kinds that the file knows, by anybody.
	undeclared backtest.Unknown
}

// policy is what was seen of a policy that judged circuits.
type policy struct {
	produced map[string]bool          // Kinds, by its circuits.
	since    map[string]time.Time     // By circuit, when its first outcome came.
	spans    map[string]time.Duration // The same, from then to its last.
	longest  time.Duration            // Of a circuit, from its first outcome to its last.
	judged   map[string]bool          // Circuits that a rule has judged, or would if more of them were recorded.
	rules    []rule
}

// rule is what was seen of a rule.
type rule struct {
	most  int64 // Outcomes in its window.
	fired int   // How often it began to fire.
	first firing
	now   map[string]bool // Circuits for which it fires now.
}

// firing is when a rule fired, and on what.
type firing struct {
	circuit             string
	at                  time.Time
	observed, threshold float64
	compared            bool // These are known.
}

// New returns a lint that has seen nothing.
func New(policies *breaker.Policies) *Lint {
	return &Lint{
		policies: policies, run: backtest.New(policies, backtest.Options{}), judged: map[*breaker.Policy]*policy{},
		produced: map[string]bool{},
	}
}

// Outcomes returns how many outcomes the lint has seen.
func (l *Lint) Outcomes() int64 { return l.outcomes }

// Circuits returns of how many circuits they were.
func (l *Lint) Circuits() int { return l.circuits }

// Add takes the next outcome, whose Time must be set. Those of one circuit come in their order.
func (l *Lint) Add(o *schemas.Outcome) {
	step := l.run.Step(o)
	matched := step.Policy().Matched
	if step.Number == l.circuits {
		l.circuits++
		if !matched {
			l.unmatched = append(l.unmatched, step.Circuit)
		}
	}
	l.outcomes += o.Count
	kind := l.policies.KindLabel(o.Kind)
	if kind == schemas.UnknownKind {
		l.undeclared.Note(o)
	}
	l.produced[kind] = true
	if matched {
		l.policy(step.Policy()).add(&step, kind)
	}
}

// policy returns what was seen of a policy.
func (l *Lint) policy(by *breaker.Policy) *policy {
	p := l.judged[by]
	if p == nil {
		p = &policy{
			produced: map[string]bool{}, since: map[string]time.Time{}, spans: map[string]time.Duration{},
			judged: map[string]bool{}, rules: make([]rule, len(by.Rules)),
		}
		for i := range p.rules {
			p.rules[i].now = map[string]bool{}
		}
		l.judged[by] = p
	}
	return p
}

// add takes down what a step did to the rules.
func (p *policy) add(step *backtest.Step, kind string) {
	p.produced[kind] = true
	if _, known := p.since[step.Circuit]; !known {
		p.since[step.Circuit] = step.At
	}
	p.spans[step.Circuit] = step.At.Sub(p.since[step.Circuit])
	p.longest = max(p.longest, p.spans[step.Circuit])
	for i := range p.rules {
		r, seen := &step.Policy().Rules[i], &p.rules[i]
		f := firing{circuit: step.Circuit, at: step.At}
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
			p.judged[step.Circuit] = true
		}
		seen.note(step.Fires(i), f)
	}
}

// note takes down whether the rule fires for a circuit now.
func (r *rule) note(fires bool, f firing) {
	if fires && !r.now[f.circuit] {
		if r.fired == 0 {
			r.first = f
		}
		r.fired++
	}
	r.now[f.circuit] = fires
}
