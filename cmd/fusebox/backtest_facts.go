package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// circuitFacts are what a page says of a circuit above its timeline, by one policy.
type circuitFacts struct {
	label   string // Of the side.
	circuit *backtest.Circuit
	kinds   []backtest.KindLine
}

// add adds the facts to those of the sides before. What kinds came is said once where the policies have the same roles.
func (f *circuitFacts) add(facts []string) []string {
	label := f.label
	if label == besideName {
		label += " " + f.circuit.Policy
	}
	if label != "" {
		label += ": "
	}
	if came := f.came(); !slices.ContainsFunc(facts, func(s string) bool { return strings.HasSuffix(s, came) }) {
		if len(facts) > 0 {
			came = label + came
		}
		facts = append(facts, came)
	}
	return append(facts, label+f.did())
}

// did says what the policy does with the circuit.
func (f *circuitFacts) did() string {
	c := f.circuit
	if len(c.Trips) == 0 {
		return "never open"
	}
	avoids := of(c.Refused.Failures, c.Failures) + " bad answers"
	if c.Others > 0 {
		avoids += ", " + of(c.Refused.Others, c.Others) + " neutral ones"
	}
	return fmt.Sprintf("%s, open %s of the time, avoids %s and %s, refuses %s good ones",
		count(len(c.Trips), "trip", "trips"), points(c.OpenShare()), avoids, dollars(c.Refused.CostUSD),
		of(c.Refused.Accepted, c.Accepted))
}

// came says how many answers came of each kind, by what they are to the policy.
func (f *circuitFacts) came() string {
	c := f.circuit
	words := []string{fmt.Sprintf("%d accepted", c.Accepted)}
	bad, neither := map[string]int64{}, map[string]int64{}
	for _, k := range f.kinds {
		switch {
		case k.Kind == schemas.Accepted:
		case k.Role == "failure":
			bad[k.Kind] = k.Sum()
		default:
			neither[k.Kind] = k.Sum()
		}
	}
	if c.Failures > 0 {
		words = append(words, fmt.Sprintf("%d bad (%s)", c.Failures, kindCounts(bad)))
	}
	if c.Others > 0 {
		words = append(words, fmt.Sprintf("%d neutral (%s)", c.Others, kindCounts(neither)))
	}
	return fmt.Sprintf("%s: %s", count(int(c.Outcomes), "outcome", "outcomes"), strings.Join(words, ", "))
}
