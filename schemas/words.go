package schemas

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Causes of an open circuit that are no rule of a policy.
const (
	ProbeFailed        = "probe_failed"
	ProbesInconclusive = "probes_inconclusive"
)

// Words says in one sentence why: the rule, what it observed against its threshold, and mostly which kind, as in
// "failure-ratio: 31 of 50 outcomes in 1m failed (0.62, threshold 0.5), mostly missing_evidence (27)".
func (c *Cause) Words() string {
	var b strings.Builder
	switch c.Type {
	case ProbeFailed:
		return "the probe failed" + suffix(": ", c.Kind)
	case ProbesInconclusive:
		return "three probes in a row ended without a verdict"
	case "ratio":
		b.WriteString(c.ratio())
	case "slow_ratio":
		slow := math.Round(c.Observed * float64(c.Throughput))
		fmt.Fprintf(&b, "%s: %s of %s %s too slow (%s, threshold %s)", c.Rule, Decimal(slow, 0), c.seen(),
			plural(int64(slow), "was", "were"), Decimal(c.Observed, 3), Decimal(c.Threshold, 3))
	case "count":
		fmt.Fprintf(&b, "%s: %s of %s %s (threshold %s)",
			c.Rule, Decimal(c.Observed, 0), c.seen(), c.verb(), Decimal(c.Threshold, 0))
	case "consecutive":
		fmt.Fprintf(&b, "%s: %s %s in a row %s (threshold %s)", c.Rule, Decimal(c.Observed, 0),
			plural(int64(c.Observed), "outcome", "outcomes"), c.verb(), Decimal(c.Threshold, 0))
	case "immediate":
		return fmt.Sprintf("%s: one %s is enough", c.Rule, c.single())
	case "sum":
		fmt.Fprintf(&b, "%s: %s%s added up (threshold %s)",
			c.Rule, Decimal(c.Observed, 6), c.span(), Decimal(c.Threshold, 6))
	default:
		fmt.Fprintf(&b, "%s: observed %s (threshold %s)", c.Rule, Decimal(c.Observed, 6), Decimal(c.Threshold, 6))
	}
	b.WriteString(c.mostly())
	return b.String()
}

// ratio says how many of the outcomes matched, or where they do not all weigh 1 what they weigh to each outcome.
func (c *Cause) ratio() string {
	matched, single := int64(0), len(c.Weights) > 0
	for kind, weight := range c.Weights {
		single = single && weight == float64(c.ByKind[kind])
		matched += c.ByKind[kind]
	}
	if single && math.Abs(float64(matched)-c.Observed*float64(c.Throughput)) < 0.5 {
		return fmt.Sprintf("%s: %d of %s %s (%s, threshold %s)",
			c.Rule, matched, c.seen(), c.verb(), Decimal(c.Observed, 3), Decimal(c.Threshold, 3))
	}
	return fmt.Sprintf("%s: weight %s of %s %s (threshold %s)",
		c.Rule, Decimal(c.Observed, 3), c.seen(), c.verb(), Decimal(c.Threshold, 3))
}

// verb says what the rule's matching outcomes did. Kinds that are no evidence about the route did not fail.
func (c *Cause) verb() string {
	for _, kind := range []string{Accepted, PolicyRejection, EvaluatorError, Cancelled} {
		if c.Weights[kind] != 0 {
			return "matched"
		}
	}
	return "failed"
}

// seen says what the rule looked at.
func (c *Cause) seen() string {
	if c.Last > 0 {
		return fmt.Sprintf("the last %d %s", c.Throughput, plural(c.Throughput, "outcome", "outcomes"))
	}
	return fmt.Sprintf("%d %s%s", c.Throughput, plural(c.Throughput, "outcome", "outcomes"), c.span())
}

// span says over what time the rule looked.
func (c *Cause) span() string {
	if c.Window == 0 {
		return ""
	}
	return " in " + Brief(c.Window)
}

// mostly names the kind that weighs most and its count. A sum and a slow ratio do not go by kind.
func (c *Cause) mostly() string {
	if c.Kind == "" || c.Type == "sum" || c.Type == "slow_ratio" {
		return ""
	}
	word := "mostly"
	if len(c.Weights) == 1 {
		word = "all"
	}
	if n := c.ByKind[c.Kind]; n > 0 {
		return fmt.Sprintf(", %s %s (%d)", word, c.Kind, n)
	}
	return fmt.Sprintf(", %s %s", word, c.Kind)
}

// single describes the one outcome of an immediate rule.
func (c *Cause) single() string {
	if len(c.Evidence) == 0 || c.Evidence[0].Severity == Normal {
		return c.Kind
	}
	return c.Evidence[0].Severity.String() + " " + c.Kind
}

// Kinds returns the kinds that the rule saw, the greatest weight first, then the greatest count, then by name.
func (c *Cause) Kinds() []string {
	kinds := make([]string, 0, len(c.ByKind))
	for kind := range c.ByKind {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		switch {
		case c.Weights[a] != c.Weights[b]:
			return int(math.Copysign(1, c.Weights[b]-c.Weights[a]))
		case c.ByKind[a] != c.ByKind[b]:
			return int(math.Copysign(1, float64(c.ByKind[b]-c.ByKind[a])))
		}
		return strings.Compare(a, b)
	})
	return kinds
}

// Decimal writes a number with at most so many decimals, and none that says nothing.
func Decimal(x float64, decimals int) string {
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Brief writes a duration as a policy file would: 1m and not 1m0s, and no more than three digits after the point.
func Brief(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Millisecond)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func suffix(separator, s string) string {
	if s == "" {
		return ""
	}
	return separator + s
}
