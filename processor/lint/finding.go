package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/processor/near"
	"github.com/fusebox-project/fusebox/schemas"
)

// mostNamed is how many circuits or kinds are named one by one.
const mostNamed = 5

// Finding is what of a policy file does not fit what was recorded.
type Finding struct {
	Policy, Rule string // Empty where it is about more than one.
	Line, Column int
	Note         bool // It may be as it should be.
	Message      string
}

// Findings returns what does not fit, in the order of the file: problems and notes. Its error is the store's.
func (l *Lint) Findings() ([]Finding, error) {
	report, err := l.run.Report()
	if err != nil {
		return nil, err
	}
	all := l.undeclaredKinds()
	if late := mostlyLate(&report); len(late) > 0 {
		return append(all, Finding{Line: 1, Column: 1, Message: fmt.Sprintf("most outcomes of %d of the %d recorded "+
			"circuits were late, so nothing can be said of the rules: %s; is what was recorded in the order of time? "+
			"sort it by time", len(late), len(l.circuits), someOf(late))}), nil
	}
	if n := len(l.unmatched); n == len(l.circuits) {
		return append(all, Finding{Line: 1, Column: 1, Message: fmt.Sprintf("no policy matches any recorded "+
			"circuit, so nothing was held against the rules: %s",
			someOf(l.unmatched))}), nil
	} else if n > 0 {
		all = append(all, Finding{Line: 1, Column: 1, Note: true, Message: fmt.Sprintf("no policy matches %d of the "+
			"%d recorded circuits, so they are refused nothing and their outcomes are not counted: %s", n,
			len(l.circuits), someOf(l.unmatched))})
	}
	for _, by := range l.policies.All() {
		if by.Shadows == "" {
			all = append(all, l.findingsOf(by)...)
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return all, nil
}

// mostlyLate names the circuits most of whose outcomes were late. No rule saw those.
func mostlyLate(report *backtest.Report) (names []string) {
	for i := range report.Circuits {
		if c := report.Circuits[i]; 2*c.Late() > c.Outcomes {
			names = append(names, c.Circuit)
		}
	}
	return names
}

// undeclaredKinds are the kinds that were recorded and that the file does not know.
func (l *Lint) undeclaredKinds() []Finding {
	kinds := l.undeclared.Common()
	var all []Finding
	for _, kind := range kinds[:min(len(kinds), mostNamed)] {
		meant := ""
		if found := backtest.Meant(kind, l.policies); found != "" {
			meant = "; did you mean " + found + "?"
		}
		all = append(all, Finding{Line: 1, Column: 1, Note: true, Message: fmt.Sprintf("%s of kind %q, which the "+
			"file does not declare: that is neutral, whatever it means%s", outcomesAre(l.undeclared.Kinds[kind]), kind,
			meant)})
	}
	return all
}

// findingsOf are about one policy.
func (l *Lint) findingsOf(by *breaker.Policy) []Finding {
	seen := l.judged[by]
	about := Finding{Policy: by.Name, Line: by.Line, Column: 1, Note: true}
	switch {
	case seen == nil:
		about.Message = fmt.Sprintf("policy %s matches no recorded circuit, so nothing was held against its rules",
			by.Name)
		return []Finding{about}
	case !by.Enabled:
		about.Message = fmt.Sprintf("policy %s is switched off (enabled: false), so nothing was held against its rules",
			by.Name)
		return []Finding{about}
	}
	var all []Finding
	if sparse := l.sparse(by, seen); len(sparse) > 0 {
		about.Note = false
		about.Message = fmt.Sprintf("no rule of policy %s ever judges %d of its %d circuits at the recorded rate, as "+
			"their windows hold too few: %s; write a longer window, a smaller minimum_throughput, or last in place of "+
			"window", by.Name, len(sparse), seen.circuits, someOf(sparse))
		all = append(all, about)
	}
	for i := range by.Rules {
		r := &by.Rules[i]
		for _, f := range []Finding{l.kindsOf(r, seen), seen.rules[i].firings(r), seen.enough(r, &seen.rules[i])} {
			if f.Message != "" {
				f.Policy, f.Rule, f.Line, f.Column = by.Name, r.Name, r.Line, r.Column
				f.Message = "rule " + r.Name + " " + f.Message
				all = append(all, f)
			}
		}
	}
	return all
}

// sparse names the circuits that no rule ever judged, though they were recorded for as long as every window. Where that
// is so of all circuits it names none: each rule tells of itself then.
func (l *Lint) sparse(by *breaker.Policy, seen *policy) (names []string) {
	widest := time.Duration(0)
	for i := range by.Rules {
		widest = max(widest, by.Rules[i].Window)
	}
	if len(by.Rules) == 0 || !seen.judging {
		return nil
	}
	for i := range l.circuits {
		if c := &l.circuits[i]; c.by == seen && !c.judged && c.span() >= widest {
			names = append(names, c.name)
		}
	}
	slices.Sort(names)
	return names
}

// kindsOf tells of the kinds that a rule names and that nobody produced. A kind that the file declares was meant to be
// produced; one of the nine need not happen, unless something was produced that is nearly called so.
func (l *Lint) kindsOf(r *breaker.Rule, seen *policy) Finding {
	var missing []string
	for _, kind := range r.Selector.Kinds {
		if l.produced[kind] {
			continue
		}
		if like := l.likely(kind); like != "" {
			return Finding{Message: fmt.Sprintf("waits for %s in vain: nobody produced that, but %s of kind %q, which "+
				"the file does not declare; are they the same?", kind, outcomesAre(l.undeclared.Kinds[like]), like)}
		}
		if !slices.Contains(schemas.Kinds, kind) {
			missing = append(missing, kind)
		}
	}
	switch kinds := r.Selector.Kinds; {
	case len(missing) > 0:
		return Finding{Message: fmt.Sprintf("waits for %s in vain: the file declares that, and nobody produced it; "+
			"is that how producers name it?", strings.Join(missing, " and "))}
	case kinds != nil && !slices.ContainsFunc(kinds, func(kind string) bool { return seen.produced[kind] }):
		return Finding{Note: true, Message: fmt.Sprintf("could not be tried: no circuit of its policy produced %s "+
			"while this was recorded", strings.Join(kinds, " or "))}
	}
	return Finding{}
}

// likely returns what was produced, is not declared, and is nearly called like a kind.
func (l *Lint) likely(kind string) string {
	for _, undeclared := range slices.Sorted(maps.Keys(l.undeclared.Kinds)) {
		if slices.Contains(near.Words(undeclared, []string{kind}), kind) {
			return undeclared
		}
	}
	return ""
}

// firings tells that the rule fired.
func (r *rule) firings(of *breaker.Rule) Finding {
	if r.fired == 0 {
		return Finding{}
	}
	f, does, compared := r.first, "opened", ""
	if of.Degrade {
		does = "degraded"
	}
	if f.compared {
		compared = fmt.Sprintf(", with %s at a threshold of %s", decimal(f.observed), decimal(f.threshold))
	}
	times := ""
	if r.fired > 1 {
		times = fmt.Sprintf(", the first of %d times", r.fired)
	}
	advice := "write a higher threshold"
	if of.Type == breaker.Immediate {
		advice = "select less, as by severity or reason_codes"
	}
	return Finding{Message: fmt.Sprintf("would have %s %s at %s%s%s; if all was well then, %s", does, f.circuit,
		f.at.UTC().Format(time.RFC3339), compared, times, advice)}
}

// enough tells that a rule's window never held as many outcomes as the rule waits for. That is a problem where a
// circuit was recorded for longer than the window.
func (p *policy) enough(of *breaker.Rule, seen *rule) Finding {
	switch {
	case of.MinimumThroughput <= seen.most:
		return Finding{}
	case of.Window == 0: // With last, its window needs no rate.
		return Finding{Note: true, Message: fmt.Sprintf("could not be tried: it waits for %s, and saw at most %d "+
			"of one circuit", outcomes(of.MinimumThroughput), seen.most)}
	case p.longest < of.Window:
		return Finding{Note: true, Message: fmt.Sprintf("could not be tried: it waits for %s in %s, and saw at most "+
			"%d, but no circuit was recorded for so long", outcomes(of.MinimumThroughput), schemas.Brief(of.Window),
			seen.most)}
	}
	return Finding{Message: fmt.Sprintf("never judges at the recorded rate: its window of %s held at most %d, and it "+
		"waits for %d; write a longer window, a smaller minimum_throughput, or last in place of window",
		schemas.Brief(of.Window), seen.most, of.MinimumThroughput)}
}

func outcomes(n int64) string {
	if n == 1 {
		return "1 outcome"
	}
	return fmt.Sprintf("%d outcomes", n)
}

func outcomesAre(n int64) string {
	if n == 1 {
		return "1 outcome is"
	}
	return outcomes(n) + " are"
}

// someOf lists names, those beyond the first few by their number.
func someOf(names []string) string {
	if more := len(names) - mostNamed; more > 1 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

func decimal(n float64) string { return schemas.Decimal(n, 3) }
