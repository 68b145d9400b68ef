package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/lint"
)

// lintPolicies holds policy files against recorded outcomes, and adds what does not fit to their faults. Files that are
// wrong by themselves are passed over.
func lintPolicies(cmd *cobra.Command, all []checkedPolicies, against []string) error {
	lints := make([]*lint.Lint, len(all))
	for i, c := range all {
		if c.policies != nil {
			tellShadows(cmd, c.File, c.policies)
			lints[i] = lint.New(c.policies)
		}
	}
	var from recordedFlags
	input, err := from.open(cmd, against)
	if err != nil {
		return err
	}
	for o, err := range input.outcomes(cmd.Context()) {
		if err != nil {
			return err
		}
		for _, l := range lints {
			if l != nil {
				l.Add(o)
			}
		}
	}
	if err := input.summary(); err != nil {
		return err
	}
	for i, l := range lints {
		if l != nil {
			all[i].found(l.Findings())
		}
	}
	return nil
}

// found adds what was found to the faults.
func (c *checkedPolicies) found(findings []lint.Finding) {
	for _, f := range findings {
		c.OK = false
		c.Faults = append(c.Faults, policyFault{c.File, f.Line, f.Column, f.Message})
	}
}

// tellShadows says which policies of a file are passed over, as they judge beside others.
func tellShadows(cmd *cobra.Command, file string, policies *breaker.Policies) {
	for _, p := range policies.All() {
		if p.Shadows != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: shadow %s is not judged here; "+
				"to try it, give it match in place of shadows\n", file, p.Name)
		}
	}
}
