// Package lint holds policies against outcomes that were recorded while all was well, and says which rules do not fit
// them: those that would have fired, those that wait for kinds that nobody produced, and those whose windows never held
// enough. It runs the outcomes through the policies as a backtest does, and does no I/O.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// Finding is a rule that does not fit what was recorded.
type Finding struct {
	Policy, Rule string
	Line, Column int
	Message      string
}

// Lint is one set of policies on its way through a recording.
type Lint struct {
	policies *breaker.Policies
	run      *backtest.Run
	kinds    map[string]bool
	seen     map[*breaker.Policy][]rule
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
}

// New returns a lint that has seen nothing.
func New(policies *breaker.Policies) *Lint {
	return &Lint{
		policies: policies, run: backtest.New(policies, backtest.Options{}), kinds: map[string]bool{},
		seen: map[*breaker.Policy][]rule{},
	}
}

// Add takes the next outcome, whose Time must be set. Those of one circuit come in their order.
func (l *Lint) Add(o *schemas.Outcome) {
	l.kinds[l.policies.KindLabel(o.Kind)] = true
	step := l.run.Step(o)
	policy := step.Policy()
	rules := l.seen[policy]
	if rules == nil {
		rules = make([]rule, len(policy.Rules))
		for i := range rules {
			rules[i].now = map[string]bool{}
		}
		l.seen[policy] = rules
	}
	for i := range policy.Rules {
		r := &policy.Rules[i]
		observed, threshold, throughput := step.Observe(i)
		rules[i].most = max(rules[i].most, throughput)
		fires := r.Degrade && r.Type != breaker.Immediate && throughput > 0 && throughput >= r.MinimumThroughput &&
			observed >= threshold
		if step.Trip != nil && step.Trip.Rule == r.Name {
			fires, observed, threshold = true, step.Trip.Observed, step.Trip.Threshold
			rules[i].most = max(rules[i].most, step.Trip.Throughput)
		}
		rules[i].note(fires, firing{step.Circuit, step.At, observed, threshold})
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

// Findings returns what does not fit, in the order of the file. Policies whose circuits were not recorded are passed
// over.
func (l *Lint) Findings() []Finding {
	var all []Finding
	for policy, rules := range l.seen {
		for i := range rules {
			r := &policy.Rules[i]
			for _, message := range l.judge(r, &rules[i]) {
				all = append(all, Finding{policy.Name, r.Name, r.Line, r.Column, message})
			}
		}
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return all
}

func (l *Lint) judge(r *breaker.Rule, seen *rule) []string {
	var messages []string
	produced := func(kind string) bool { return l.kinds[kind] }
	if kinds := r.Selector.Kinds; kinds != nil && !slices.ContainsFunc(kinds, produced) {
		messages = append(messages, fmt.Sprintf("rule %s can never fire by what was recorded: nobody produced %s; "+
			"is that how producers name it?", r.Name, strings.Join(kinds, " or ")))
	}
	if seen.fired > 0 {
		f, does := seen.first, "opened"
		if r.Degrade {
			does = "degraded"
		}
		messages = append(messages, fmt.Sprintf("rule %s would have %s %s at %s, with %s at a threshold of %s%s; "+
			"if all was well then, write a higher threshold", r.Name, does, f.circuit, f.at.UTC().Format(time.RFC3339),
			decimal(f.observed), decimal(f.threshold), more(seen.fired)))
	}
	if r.Window > 0 && r.MinimumThroughput > seen.most {
		messages = append(messages, fmt.Sprintf("rule %s never judges at the recorded rate: its window of %s held "+
			"at most %d, and it waits for %d; write a longer window, a smaller minimum_throughput, or last in place "+
			"of window", r.Name, schemas.Brief(r.Window), seen.most, r.MinimumThroughput))
	}
	return messages
}

// more tells how often it was in all, where it was not once.
func more(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", the first of %d times", n)
}

func decimal(n float64) string { return schemas.Decimal(n, 3) }
