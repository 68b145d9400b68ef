package main

import (
	"slices"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/near"
)

// didYouMean names the word that was meant, as the end of a sentence: "" where none is near.
func didYouMean(mistyped string, words []string) string {
	found := near.Words(mistyped, words)
	return near.Question(found[:min(len(found), 1)])
}

// nearPattern is a pattern of a policy that nearly matches a circuit that none does.
type nearPattern struct {
	Pattern string `json:"pattern"`
	Policy  string `json:"policy"`
	Line    int    `json:"line"`
}

// nearestPattern returns the pattern that a mistyped circuit was to match, nil where none is near.
func nearestPattern(circuit string, policies *breaker.Policies) *nearPattern {
	var patterns []string
	for _, p := range policies.All() {
		for _, g := range p.Match {
			patterns = append(patterns, string(g))
		}
	}
	found := near.Globs(circuit, patterns)
	if len(found) == 0 {
		return nil
	}
	for _, p := range policies.All() {
		if slices.Contains(p.Match, breaker.Glob(found[0])) {
			return &nearPattern{found[0], p.Name, p.Line}
		}
	}
	return nil
}
