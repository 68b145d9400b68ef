package breaker

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fusebox-project/fusebox/schemas"
)

// Explain tells in words which policy a circuit gets and what that does to it: rules, kinds, break, probes, recovery
// and where its traffic goes meanwhile. It is for people; nothing should read it but they.
func (p *Policies) Explain(circuit string) string {
	var b strings.Builder
	policy := p.For(circuit)
	fmt.Fprintf(&b, "Circuit %s\n", circuit)
	if !policy.Matched {
		b.WriteString("No policy matches it: it is refused nothing, and its outcomes are not counted.\n")
	} else {
		fmt.Fprintf(&b, "Policy %s (line %d), by the pattern %s\n", policy.Name, policy.Line, policy.matching(circuit))
		b.WriteString(policy.effect())
		p.explainRules(&b, policy)
		p.explainKinds(&b, policy)
		policy.explainRecovery(&b)
	}
	p.explainRoutes(&b, circuit)
	return b.String()
}

// matching returns the first pattern that the circuit matches.
func (p *Policy) matching(circuit string) Glob {
	return p.Match[slices.IndexFunc(p.Match, func(g Glob) bool { return g.Matches(circuit) })]
}

// effect tells whether anybody acts by the policy.
func (p *Policy) effect() string {
	switch {
	case !p.Enabled:
		return "It is switched off (enabled: false): outcomes are not counted and claims are refused.\n"
	case !p.Enforce:
		return "It is not enforced (enforce: false): states are published and no router obeys them.\n"
	}
	return ""
}

func (p *Policies) explainRules(b *strings.Builder, policy *Policy) {
	b.WriteString("\nRules, in the order in which they are judged after each outcome that they see\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range policy.Rules {
		r := &policy.Rules[i]
		fmt.Fprintf(w, "  %s\tline %d\t%s\n", r.Name, r.Line, r.words())
	}
	w.Flush()
	if policy.Longest > 0 {
		fmt.Fprintf(b, "An outcome of more than %s ago is late and not counted.\n", brief(policy.Longest))
	}
}

// explainKinds tells what each kind is evidence of, and what failures weigh.
func (p *Policies) explainKinds(b *strings.Builder, policy *Policy) {
	var by [3][]string
	for i, role := range policy.roles[1:] {
		by[role] = append(by[role], p.kinds.name(uint8(i+1)))
	}
	b.WriteString("\nKinds\n")
	fmt.Fprintf(b, "  success  %s\n", orNone(by[Success]))
	fmt.Fprintf(b, "  failure  %s\n", orNone(by[Failure]))
	fmt.Fprintf(b, "  neutral  %s\n", strings.Join(append(by[Neutral], "any that is not declared"), ", "))
	if len(by[Failure]) == 0 {
		return
	}
	b.WriteString("\nWhat a failure weighs\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  kind\tjudged by\tlow\tnormal\thigh\tcritical")
	for kind, role := range policy.roles {
		if role == Failure {
			explainWeights(w, p.kinds.name(uint8(kind)), &policy.weights[kind])
		}
	}
	w.Flush()
}

// explainWeights writes a line for each kind of judge, one for those that are alike.
func explainWeights(w *tabwriter.Writer, kind string, weights *[severities][evaluatorTypes]int64) {
	column := func(e int) (c [severities]int64) {
		for s := range weights {
			c[s] = weights[s][e]
		}
		return c
	}
	for e := range evaluatorTypes {
		var judges []string
		for other, judge := range evaluatorWords {
			if column(other) == column(e) {
				judges = append(judges, judge)
			}
		}
		if judges[0] != evaluatorWords[e] {
			continue
		}
		fmt.Fprintf(w, "  %s\t%s", kind, strings.Join(judges, ", "))
		for _, s := range []schemas.Severity{schemas.Low, schemas.Normal, schemas.High, schemas.Critical} {
			fmt.Fprintf(w, "\t%s", inThousandths(weights[s][e]))
		}
		fmt.Fprintln(w)
	}
}

// explainRecovery tells how an open circuit closes again.
func (p *Policy) explainRecovery(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nRecovery\n")
	fmt.Fprintf(w, "  open\tfor %s\n", p.Break.words())
	h := p.HalfOpen
	fmt.Fprintf(w, "  probes\t%d at a time, each to answer within %s; %s, %s\n", h.Concurrency, brief(h.Lease),
		plural(h.Successes, "success closes it", "successes close it"),
		plural(h.Failures, "failure opens it again", "failures open it again"))
	if h.Implicit || !p.Enforce {
		fmt.Fprintf(w, "  \tcalls without a lease that start after the break count as probes too\n")
	} else {
		fmt.Fprintf(w, "  \tcalls without a lease never count as probes\n")
	}
	fmt.Fprintf(w, "  then\t")
	for _, step := range p.Ramp {
		fmt.Fprintf(w, "%s of traffic for %s, ", percent(step.ShareMilli), brief(step.For))
	}
	fmt.Fprintf(w, "all traffic\n")
	fmt.Fprintf(w, "  idle\tforgotten after %s without a record, if closed\n", brief(p.IdleAfter))
	w.Flush()
}

// words tells how long the breaks are.
func (b *Break) words() string {
	words := brief(b.Duration)
	if b.BackoffMilli > 1000 {
		words += fmt.Sprintf(", %s times as long at each further trip, up to %s, and again %s after %s of health",
			inThousandths(b.BackoffMilli), brief(b.Max), brief(b.Duration), brief(b.HealthyAfter))
	}
	if b.JitterMilli > 0 {
		words += "; give or take " + percent(b.JitterMilli)
	}
	return words
}

// explainRoutes tells where routers go while the circuit refuses.
func (p *Policies) explainRoutes(b *strings.Builder, circuit string) {
	for _, route := range p.Routes {
		i := slices.Index(route.Chain, circuit)
		if i < 0 {
			continue
		}
		fmt.Fprintf(b, "\nWhile it refuses, routers of use case %s go to\n", route.UseCase)
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for _, cause := range p.kinds.names[1:] {
			if chain, ok := route.ByCause[cause]; ok {
				fmt.Fprintf(w, "  for %s\t%s\n", cause, onward(chain, route.Otherwise))
			}
		}
		cause := "for any cause"
		if len(route.ByCause) > 0 {
			cause = "for any other cause"
		}
		fmt.Fprintf(w, "  %s\t%s\n", cause, onward(route.Chain[i+1:], route.Otherwise))
		w.Flush()
	}
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
