package breaker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/fusebox-project/fusebox/schemas"
)

// Match tells why a circuit has the policy that it has.
type Match struct {
	Pattern Glob      // The first of the policy's that matches; nothing where no policy does.
	Before  []*Policy // Those that were asked before, and match by no pattern.
	After   []*Policy // Those further down that would match too, and are not asked.
}

// Match tells why a circuit has the policy that For returns.
func (p *Policies) Match(circuit string) Match {
	var m Match
	for _, policy := range p.policies {
		g := policy.matching(circuit)
		switch {
		case policy.Shadows != "": // It has no circuits of its own.
		case m.Pattern != "" && g != "":
			m.After = append(m.After, policy)
		case g != "":
			m.Pattern = g
		case m.Pattern == "":
			m.Before = append(m.Before, policy)
		}
	}
	return m
}

// matching returns the first pattern that the circuit matches, or nothing.
func (p *Policy) matching(circuit string) Glob {
	i := slices.IndexFunc(p.Match, func(g Glob) bool { return g.Matches(circuit) })
	if i < 0 {
		return ""
	}
	return p.Match[i]
}

// Explain tells in words which policy a circuit gets and what that does to it: rules, kinds, break, probes, recovery
// and where its traffic goes meanwhile. It is for people; nothing should read it but they.
func (p *Policies) Explain(circuit string) string {
	var b strings.Builder
	policy := p.For(circuit)
	fmt.Fprintf(&b, "Circuit %s\n", circuit)
	m := p.Match(circuit)
	if policy.Matched {
		fmt.Fprintf(&b, "Policy %s (line %d), by the pattern %s\n", policy.Name, policy.Line, m.Pattern)
	} else {
		b.WriteString("No policy matches it: it is refused nothing, and its outcomes are not counted.\n")
	}
	m.explain(&b)
	if policy.Matched {
		if effect := policy.effect(); effect != "enforced" {
			fmt.Fprintf(&b, "It is %s.\n", effect)
		}
		if by := policy.Shadow; by != nil {
			fmt.Fprintf(&b, "Policy %s (line %d) judges beside it, which nobody obeys.\n", by.Name, by.Line)
		}
		policy.explainRules(&b)
		p.explainKinds(&b, policy)
		policy.explainRecovery(&b)
	}
	p.explainRoutes(&b, circuit)
	return b.String()
}

// mostNamed is how many policies are named that do not judge a circuit.
const mostNamed = 10

// explain tells of the policies that do not judge the circuit.
func (m *Match) explain(b *strings.Builder) {
	list := func(policies []*Policy, name func(*Policy) string) {
		for i, policy := range policies {
			if more := len(policies) - i; i == mostNamed && more > 1 {
				fmt.Fprintf(b, "  and %d others\n", more)
				return
			}
			fmt.Fprintf(b, "  %s (line %d)%s\n", policy.Name, policy.Line, name(policy))
		}
	}
	switch {
	case len(m.Before) == 0:
	case m.Pattern == "":
		b.WriteString("Asked, and none of their patterns matches\n")
	default:
		b.WriteString("Asked first, and none of their patterns matches\n")
	}
	list(m.Before, func(p *Policy) string { return ": " + patterns(p.Match) })
	if len(m.After) > 0 {
		b.WriteString("Further down, and not asked, as the first that matches holds\n")
	}
	list(m.After, func(*Policy) string { return "" })
}

func patterns(globs []Glob) string {
	words := make([]string, len(globs))
	for i, g := range globs {
		words[i] = string(g)
	}
	return strings.Join(words, ", ")
}

func (p *Policy) explainRules(b *strings.Builder) {
	b.WriteString("\nRules, in the order in which they are judged after each outcome that they see\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range p.Rules {
		r := &p.Rules[i]
		fmt.Fprintf(w, "  %s\tline %d\t%s\n", r.Name, r.Line, p.words(r))
	}
	w.Flush()
	if p.Longest > 0 {
		fmt.Fprintf(b, "An outcome of more than %s ago is late and not counted.\n", schemas.Brief(p.Longest))
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
	if len(by[Failure]) == 0 || policy.plain() {
		return
	}
	b.WriteString("\nWhat a failure weighs\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  kind\tjudged by\tlow\tnormal\thigh\tcritical")
	for kind, role := range policy.roles {
		if role != Failure {
			continue
		}
		for _, g := range judgeGroups(&policy.weights[kind]) {
			fmt.Fprintf(w, "  %s\t%s", p.kinds.name(uint8(kind)), strings.Join(g.judges, ", "))
			for _, s := range risingSeverities {
				fmt.Fprintf(w, "\t%s", inThousandths(g.weights[s]))
			}
			fmt.Fprintln(w)
		}
	}
	w.Flush()
}

// explainRecovery tells how an open circuit closes again.
func (p *Policy) explainRecovery(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nRecovery\n")
	for _, f := range p.recovery() {
		about := f.About
		if about == "leaseless" {
			about = ""
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", about, standing(f.Lines), f.Says)
	}
	w.Flush()
}

// standing says where something stands in the file.
func standing(lines []int) string {
	if len(lines) == 0 {
		return "built in"
	}
	words := make([]string, 0, len(lines))
	for _, line := range slices.Compact(slices.Sorted(slices.Values(lines))) {
		words = append(words, strconv.Itoa(line))
	}
	if len(words) == 1 {
		return "line " + words[0]
	}
	return "lines " + strings.Join(words, ", ")
}

// explainRoutes tells where routers go while the circuit refuses.
func (p *Policies) explainRoutes(b *strings.Builder, circuit string) {
	facts := p.routeFacts(circuit)
	if len(facts) == 0 {
		return
	}
	b.WriteString("\nWhere routers go\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, f := range facts {
		fmt.Fprintf(w, "  %s\t%s\n", f.About, f.Says)
	}
	w.Flush()
}
