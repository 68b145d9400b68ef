package breaker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fusebox-project/fusebox/schemas"
)

// Fact is one thing that policies do to a circuit, in words. Two facts about the same thing that say the same have the
// same effect.
type Fact struct {
	About string `json:"about"` // What it is about: "rule failure-ratio", "break". Once among the facts of a circuit.
	Says  string `json:"says"`
	Lines []int  `json:"lines,omitempty"` // Where the file says it; none where it is built in.
}

// Facts returns all that the policies do to a circuit: what judges it, its rules in their order, what its kinds are
// evidence of, how it recovers, and where its calls go meanwhile.
func (p *Policies) Facts(circuit string) []Fact {
	policy := p.For(circuit)
	if !policy.Matched {
		return append([]Fact{{About: "policy", Says: "none matches: it is refused nothing, and its outcomes are " +
			"not counted"}}, p.routeFacts(circuit)...)
	}
	facts := []Fact{
		{"policy", policy.Name, []int{policy.Line}},
		{"effect", policy.effect(), nil},
	}
	for i := range policy.Rules {
		r := &policy.Rules[i]
		facts = append(facts, Fact{"rule " + r.Name, policy.words(r), []int{r.Line}})
	}
	facts = append(facts, p.kindFacts(policy)...)
	facts = append(facts, policy.recovery()...)
	facts = append(facts, policy.Shadow.shadowFacts()...)
	return append(facts, p.routeFacts(circuit)...)
}

// shadowFacts tells of the policy as the one that judges beside another: nothing where there is none.
func (p *Policy) shadowFacts() []Fact {
	if p == nil {
		return nil
	}
	facts := []Fact{{"shadow", p.Name + ", which judges beside it and nobody obeys", []int{p.Line}}}
	for i := range p.Rules {
		r := &p.Rules[i]
		facts = append(facts, Fact{"shadow's rule " + r.Name, p.words(r), []int{r.Line}})
	}
	return facts
}

// effect tells whether anybody acts by the policy.
func (p *Policy) effect() string {
	switch {
	case !p.Enabled:
		return "switched off (enabled: false): outcomes are not counted and claims are refused"
	case !p.Enforce:
		return "not enforced (enforce: false): states are published and no router obeys them"
	}
	return "enforced"
}

// kindFacts tells what each kind is evidence of, and what failures weigh.
func (p *Policies) kindFacts(policy *Policy) []Fact {
	var facts []Fact
	for i, role := range policy.roles {
		if i == int(unknownKind) {
			continue
		}
		says := role.String()
		if role == Failure {
			says += weightWords(&policy.weights[i])
		}
		facts = append(facts, Fact{About: "kind " + p.kinds.name(uint8(i)), Says: says})
	}
	return facts
}

// weightWords tells what failures of a kind weigh, by severity, and by judge where those differ.
func weightWords(weights *[severities][evaluatorTypes]int64) string {
	groups := judgeGroups(weights)
	parts := make([]string, 0, len(groups))
	for _, g := range groups {
		part := " weighing " + inThousandths(g.weights[schemas.Normal])
		if g.weights != even(g.weights[schemas.Normal]) {
			part = " weighing"
			for _, s := range risingSeverities {
				part += fmt.Sprintf(" %s %s,", s, inThousandths(g.weights[s]))
			}
			part = strings.TrimSuffix(part, ",")
		}
		if len(groups) > 1 {
			part += " judged by " + strings.Join(g.judges, " or ")
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ";")
}

var risingSeverities = [severities]schemas.Severity{schemas.Low, schemas.Normal, schemas.High, schemas.Critical}

func even(weight int64) (w [severities]int64) {
	for s := range w {
		w[s] = weight
	}
	return w
}

// judgeGroup are judges by whom failures weigh the same.
type judgeGroup struct {
	judges  []string
	weights [severities]int64
}

func judgeGroups(weights *[severities][evaluatorTypes]int64) []judgeGroup {
	var groups []judgeGroup
	for e, judge := range evaluatorWords {
		var column [severities]int64
		for s := range weights {
			column[s] = weights[s][e]
		}
		i := slices.IndexFunc(groups, func(g judgeGroup) bool { return g.weights == column })
		if i < 0 {
			groups = append(groups, judgeGroup{[]string{judge}, column})
			continue
		}
		groups[i].judges = append(groups[i].judges, judge)
	}
	return groups
}

// recovery tells how an open circuit closes again.
func (p *Policy) recovery() []Fact {
	h, half := p.HalfOpen, p.lines["half_open"]
	leaseless := "calls without a lease never count as probes"
	if h.Implicit || !p.Enforce {
		leaseless = "calls without a lease that start after the break count as probes too"
	}
	then := ""
	for _, step := range p.Ramp {
		then += fmt.Sprintf("%s of traffic for %s, ", percent(step.ShareMilli), schemas.Brief(step.For))
	}
	return []Fact{
		{"open", "for " + p.Break.words(), p.lines["break"]},
		{"probes", fmt.Sprintf("%d at a time, each to answer within %s; %s, %s", h.Concurrency, schemas.Brief(h.Lease),
			plural(h.Successes, "success closes it", "successes close it"),
			plural(h.Failures, "failure opens it again", "failures open it again")), half},
		{"leaseless", leaseless, half},
		{"then", then + "all traffic", p.lines["ramp"]},
		{"idle", fmt.Sprintf("forgotten after %s without a record, if closed", schemas.Brief(p.IdleAfter)),
			p.lines["idle_after"]},
	}
}

// words tells how long the breaks are.
func (b *Break) words() string {
	words := schemas.Brief(b.Duration)
	if b.BackoffMilli > 1000 && b.Max > b.Duration {
		words += fmt.Sprintf(", %s times as long at each further trip, up to %s, and again %s after %s of health",
			inThousandths(b.BackoffMilli), schemas.Brief(b.Max), schemas.Brief(b.Duration),
			schemas.Brief(b.HealthyAfter))
	} else if b.Max > b.Duration {
		words += fmt.Sprintf(", up to %s where a call says when to come back", schemas.Brief(b.Max))
	}
	if b.JitterMilli > 0 {
		words += "; give or take " + percent(b.JitterMilli)
	}
	return words
}

// routeFacts tells where routers go while the circuit refuses.
func (p *Policies) routeFacts(circuit string) []Fact {
	var facts []Fact
	for _, route := range p.Routes {
		i := slices.Index(route.Chain, circuit)
		if i < 0 {
			continue
		}
		refused := "refused in use case " + route.UseCase
		for _, cause := range p.kinds.names[1:] {
			if chain, ok := route.ByCause[cause]; ok {
				facts = append(facts, Fact{refused + " for " + cause, onward(chain, route.Otherwise), nil})
			}
		}
		cause := " for any cause"
		if len(route.ByCause) > 0 {
			cause = " for any other cause"
		}
		facts = append(facts, Fact{refused + cause, onward(route.Chain[i+1:], route.Otherwise), nil})
	}
	return facts
}

// onward lists where calls go, one after the other.
func onward(chain []string, otherwise string) string {
	if otherwise != "" {
		chain = append(slices.Clone(chain), otherwise)
	}
	if len(chain) == 0 {
		return "nothing, the call fails"
	}
	return strings.Join(chain, ", then ")
}
