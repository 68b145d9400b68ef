package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/processor/lint"
)

// heldAgainst is what policies were held against.
type heldAgainst struct {
	Files    []string `json:"files"`
	Outcomes int64    `json:"outcomes"`
	Circuits int      `json:"circuits"`
	KnownBad int64    `json:"known_bad"` // Outcomes that were left out.
}

// lintPolicies holds policy files against recorded outcomes, those in stretches known to be bad left out, and adds what
// does not fit to their faults and notes. Files that are wrong by themselves are passed over.
func lintPolicies(cmd *cobra.Command, all []checkedPolicies, against []string, truth []backtest.Bad) error {
	config, err := loadConfig()
	if err != nil {
		return err
	}
	var lints []*lint.Lint
	for i := range all {
		if c := &all[i]; c.policies != nil {
			tellShadows(cmd, c.File, c.policies)
			away := &spill{}
			defer func() { _ = away.close() }() // It is a temporary file.
			c.lint = lint.New(c.policies, backtest.Options{Resident: config.MaxResidentCircuits, Store: away})
			lints = append(lints, c.lint)
		}
	}
	if len(lints) == 0 {
		return nil
	}
	var from recordedFlags
	input, err := from.open(cmd, against)
	if err != nil {
		return err
	}
	held := heldAgainst{Files: against}
	for o, err := range input.outcomes(cmd.Context()) {
		switch {
		case err != nil:
			return err
		case isKnownBad(truth, o):
			held.KnownBad += o.Count
			continue
		}
		for _, l := range lints {
			l.Add(o)
		}
	}
	if err := input.summary(); err != nil {
		return err
	}
	held.Outcomes, held.Circuits = lints[0].Outcomes(), lints[0].Circuits()
	if held.Outcomes == 0 {
		return fmt.Errorf("all that was read lies in stretches known to be bad; nothing is left to hold rules against")
	}
	held.tell(cmd.ErrOrStderr())
	for i := range all {
		if c := &all[i]; c.lint != nil {
			findings, err := c.lint.Findings()
			if err != nil {
				return err
			}
			c.Against = &held
			c.found(findings)
		}
	}
	return nil
}

// tell says what the policies were held against.
func (h *heldAgainst) tell(w io.Writer) {
	fmt.Fprintf(w, "held against %s of %s in %s", count(int(h.Outcomes), "outcome", "outcomes"),
		count(h.Circuits, "circuit", "circuits"), strings.Join(h.Files, ", "))
	if h.KnownBad > 0 {
		fmt.Fprintf(w, "; left out %d in stretches known to be bad", h.KnownBad)
	}
	fmt.Fprintln(w)
}

// found adds what was found to the faults and the notes.
func (c *checkedPolicies) found(findings []lint.Finding) {
	for _, f := range findings {
		fault := policyFault{c.File, f.Line, f.Column, f.Message}
		if f.Note {
			c.Notes = append(c.Notes, fault)
			continue
		}
		c.OK = false
		c.Faults = append(c.Faults, fault)
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
