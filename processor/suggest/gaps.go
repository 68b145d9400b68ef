package suggest

import (
	"fmt"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
)

// mostNamed is how many kinds are named one by one that nobody knows by default.
const mostNamed = 20

// Gaps tells what the proposal has no rule for, and why: a line for each route without a rule for failures or for
// rejections, and one for each kind that counted for nothing.
func (p *Proposal) Gaps() []string {
	var lines []string
	for i := range p.Groups {
		lines = append(lines, p.Groups[i].gaps()...)
	}
	unknown := backtest.Unknown{Kinds: p.Unknown}
	for i, kind := range unknown.Common() {
		if more := len(p.Unknown) - i; i == mostNamed && more > 1 {
			lines = append(lines, fmt.Sprintf("and %d more kinds that are none of the nine", more))
			break
		}
		do := "where it is a failure, declare it and give it a rule"
		if meant := backtest.Meant(kind, breaker.Builtin()); meant != "" {
			do = "did you mean " + meant + "?"
		}
		lines = append(lines, fmt.Sprintf("kind %q, of %s, is none of the nine: it was taken for neutral; %s",
			kind, outcomes(int(p.Unknown[kind])), do))
	}
	return lines
}

func (g *Group) gaps() []string {
	var lines []string
	for i := range g.Signals {
		if s := &g.Signals[i]; len(s.Proposed) == 0 {
			lines = append(lines, fmt.Sprintf("%s: no rule for %s: %s", oneLine(g.Name), s.Name, s.whyNone()))
		}
	}
	if g.rules() == 0 {
		lines = append(lines, oneLine(g.Name)+": no rule at all, and so no policy")
	}
	return lines
}

// whyNone tells why no rule is proposed.
func (s *Signal) whyNone() string {
	if len(s.Candidates) == 0 {
		what := "good or failures"
		if s.Kind != "" {
			what = "good, failures or " + s.Name
		}
		return fmt.Sprintf("too few outcomes are %s: %s, and it takes %d of one circuit", what,
			thousands(s.Seen), fewInPart)
	}
	what := s.Name
	if s.Bad == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return fmt.Sprintf("with %s %s in %s while all was well, a bad time cannot be told from chance; record more, or "+
		"allow a greater --false-trips", thousands(s.Bad), what, outcomes(s.Seen))
}
