package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

func newPolicyExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [FILE] CIRCUIT",
		Short: "Tell in words what a circuit is judged by",
		Long: `Tells which policy of a file a circuit gets and why, its rules with every default filled in, how it comes
back, where its calls go meanwhile, and in which lines of the file that stands.
Without a file it goes by FUSEBOX_POLICY_FILE, or else by the built-in policy, as 'fusebox run' does; "builtin" names
that one.`,
		Example: "  fusebox policy explain policies.yaml submission-extraction:gpt-primary:v4\n" +
			"  fusebox policy explain builtin submission-extraction:gpt-primary:v4",
		Args:              arguments("[FILE]", "CIRCUIT"),
		ValidArgsFunction: completeExplain,
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && isPolicyFile(args[0]) {
			return usageErrorf("which circuit? %s policy explain %s CIRCUIT", program(), args[0])
		}
		circuit := args[len(args)-1]
		if err := schemas.CheckCircuit(circuit); err != nil {
			return usageErrorf("circuit %q: %w", circuit, err)
		}
		policies, err := policiesToExplain(args[:len(args)-1])
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), explain(policies, circuit))
		}
		out := cmd.OutOrStdout()
		text := policies.Explain(circuit)
		if n := explain(policies, circuit).Nearest; n != nil {
			text += fmt.Sprintf("\nNearly matched by the pattern %s of policy %s (line %d): is the name misspelt?\n",
				n.Pattern, n.Policy, n.Line)
		}
		_, err = io.WriteString(out, hang(text, widthOf(out)))
		return err
	}
	return cmd
}

// isPolicyFile tells whether what stands in the place of a circuit is a file, or is called like a policy file.
func isPolicyFile(name string) bool {
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" || name == builtin {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func policiesToExplain(files []string) (*breaker.Policies, error) {
	if len(files) == 0 {
		c, err := loadConfig()
		if err != nil {
			return nil, err
		}
		return c.policies()
	}
	return usablePolicies(files[0], files[0])
}

// explained is what a circuit is judged by, in the words of a policy file.
type explained struct {
	Circuit  string          `json:"circuit"`
	Policy   string          `json:"policy"` // Empty where none matches.
	Matched  bool            `json:"matched"`
	Version  string          `json:"policy_version"`
	Line     int             `json:"line"`
	Pattern  breaker.Glob    `json:"pattern"` // The first of the policy's that matches.
	Before   []askedPolicy   `json:"before"`  // Policies that were asked first and match by no pattern.
	After    []askedPolicy   `json:"after"`   // Policies that would match too and are not asked.
	Enabled  bool            `json:"enabled"`
	Enforce  bool            `json:"enforce"`
	Rules    []explainedRule `json:"rules"`
	Break    explainedBreak  `json:"break"`
	HalfOpen explainedProbe  `json:"half_open"`
	Ramp     []explainedRamp `json:"ramp"`
	Idle     string          `json:"idle_after"`
	Facts    []breaker.Fact  `json:"facts"`             // All of it in words.
	Nearest  *nearPattern    `json:"nearest,omitempty"` // Where no policy matches: what may have been meant.
}

// askedPolicy is a policy that does not judge the circuit.
type askedPolicy struct {
	Policy string         `json:"policy"`
	Line   int            `json:"line"`
	Match  []breaker.Glob `json:"match"`
}

func askedPolicies(policies []*breaker.Policy) []askedPolicy {
	asked := make([]askedPolicy, 0, len(policies))
	for _, p := range policies {
		asked = append(asked, askedPolicy{p.Name, p.Line, p.Match})
	}
	return asked
}

type explainedRule struct {
	Name        string   `json:"name"`
	Line        int      `json:"line"`
	Type        string   `json:"type"`
	Action      string   `json:"action"`
	Threshold   float64  `json:"threshold"`
	Window      string   `json:"window,omitempty"`
	Last        int64    `json:"last,omitempty"`
	Minimum     int64    `json:"minimum_throughput,omitempty"`
	Kinds       []string `json:"kinds,omitempty"`
	Severity    string   `json:"severity,omitempty"`
	ReasonCodes []string `json:"reason_codes,omitempty"`
	Evaluators  []string `json:"evaluators,omitempty"`
	Over        string   `json:"over,omitempty"`
	Of          string   `json:"of,omitempty"`
	Only        string   `json:"only,omitempty"`
}

type explainedBreak struct {
	Duration     string  `json:"duration"`
	Backoff      float64 `json:"backoff"`
	Max          string  `json:"max"`
	Jitter       float64 `json:"jitter"`
	HealthyAfter string  `json:"healthy_after"`
}

type explainedProbe struct {
	Concurrency int    `json:"concurrency"`
	Successes   int    `json:"successes"`
	Failures    int    `json:"failures"`
	Lease       string `json:"lease"`
	Implicit    bool   `json:"implicit"`
}

type explainedRamp struct {
	Share float64 `json:"share"`
	For   string  `json:"for"`
}

func explain(policies *breaker.Policies, circuit string) explained {
	p, match := policies.For(circuit), policies.Match(circuit)
	e := explained{
		Pattern: match.Pattern, Before: askedPolicies(match.Before), After: askedPolicies(match.After),
		Facts: policies.Facts(circuit), Matched: p.Matched,
		Circuit: circuit, Version: policies.Version, Enabled: p.Enabled, Enforce: p.Enforce,
		Rules: []explainedRule{}, Ramp: []explainedRamp{}, Idle: p.IdleAfter.String(),
		Break: explainedBreak{
			p.Break.Duration.String(), thousandths(p.Break.BackoffMilli), p.Break.Max.String(),
			thousandths(p.Break.JitterMilli), p.Break.HealthyAfter.String(),
		},
		HalfOpen: explainedProbe{
			p.HalfOpen.Concurrency, p.HalfOpen.Successes, p.HalfOpen.Failures, p.HalfOpen.Lease.String(),
			p.HalfOpen.Implicit,
		},
	}
	if p.Matched {
		e.Policy, e.Line = p.Name, p.Line
	} else {
		e.Nearest = nearestPattern(circuit, policies)
	}
	for i := range p.Rules {
		e.Rules = append(e.Rules, explainRule(&p.Rules[i]))
	}
	for _, step := range p.Ramp {
		e.Ramp = append(e.Ramp, explainedRamp{thousandths(step.ShareMilli), step.For.String()})
	}
	return e
}

func explainRule(r *breaker.Rule) explainedRule {
	e := explainedRule{
		Name: r.Name, Line: r.Line, Type: r.Type.String(), Action: "open", Threshold: threshold(r),
		Window: span(r.Window), Last: r.Last, Minimum: r.MinimumThroughput, Kinds: r.Selector.Kinds,
		ReasonCodes: r.Selector.ReasonCodes, Over: span(r.Selector.Over), Of: r.Selector.Of.String(),
		Only: r.Selector.Only.String(),
	}
	if r.Degrade {
		e.Action = "degrade"
	}
	if r.Selector.HasSeverity {
		e.Severity = r.Selector.Severity.String()
	}
	for _, evaluator := range r.Selector.Evaluators {
		e.Evaluators = append(e.Evaluators, evaluator.String())
	}
	return e
}

// threshold returns a rule's threshold as the file has it.
func threshold(r *breaker.Rule) float64 {
	switch r.Type {
	case breaker.Ratio, breaker.SlowRatio:
		return thousandths(r.Threshold)
	case breaker.Sum:
		return float64(r.Threshold) / 1e6
	}
	return float64(r.Threshold)
}

func thousandths(n int64) float64 { return float64(n) / 1000 }

// span writes a duration, and nothing where there is none.
func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
