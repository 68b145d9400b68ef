package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
)

func newPolicyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say what is wrong in policy files, and where",
		Long: `Reads policy files as 'fusebox run' would, and prints all that is wrong as file:line:column: message.
Exit status 3 if anything is.

--against names recorded outcomes (JSON lines, plain, gzip or zstd) of a time in which all was well, and may be given
several times. It tells of each rule that does not fit them: one that would have fired, one that waits for kinds that
nobody produced, and one whose window never held as many outcomes as it waits for.`,
		Example: "  fusebox policy check policies.yaml\n" +
			"  fusebox policy check policies.yaml --against healthy.jsonl.gz",
		Args: arguments("FILE..."),
	}
	asJSON := addJSONFlag(cmd)
	against := cmd.Flags().StringArray("against", nil, "hold the rules against a `file` of outcomes of a healthy time")
	_ = cmd.MarkFlagFilename("against")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		all, err := checkPolicies(files)
		if err != nil {
			return err
		}
		if len(*against) > 0 {
			if err := lintPolicies(cmd, all, *against); err != nil {
				return err
			}
		}
		return printChecked(cmd.OutOrStdout(), all, *asJSON)
	}
	return cmd
}

// checkedPolicies is what `fusebox policy check` says of one file.
type checkedPolicies struct {
	File     string        `json:"file"`
	OK       bool          `json:"ok"`
	Version  string        `json:"version,omitempty"`
	Policies int           `json:"policies"`
	Rules    int           `json:"rules"`
	Faults   []policyFault `json:"faults"`

	policies *breaker.Policies
}

type policyFault struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func checkPolicies(files []string) ([]checkedPolicies, error) {
	all := make([]checkedPolicies, 0, len(files))
	for _, file := range files {
		policies, err := readPolicies(file)
		faults, wrong := asFaults(err)
		if err != nil && !wrong {
			return nil, usageErrorf("%w", err)
		}
		all = append(all, checked(file, policies, faults))
	}
	return all, nil
}

func printChecked(w io.Writer, all []checkedPolicies, asJSON bool) error {
	if asJSON {
		if err := writeJSON(w, all); err != nil {
			return err
		}
	}
	bad := false
	for _, c := range all {
		bad = bad || !c.OK
		if asJSON {
			continue
		}
		if err := c.write(w); err != nil {
			return err
		}
	}
	if bad {
		return foundProblems()
	}
	return nil
}

func checked(file string, policies *breaker.Policies, faults breaker.Faults) checkedPolicies {
	c := checkedPolicies{File: file, OK: policies != nil, Faults: faultsOf(faults), policies: policies}
	if policies == nil {
		return c
	}
	c.Version, c.Policies = policies.Version, len(policies.All())
	for _, p := range policies.All() {
		c.Rules += len(p.Rules)
	}
	return c
}

// faultsOf returns faults in the form for machines.
func faultsOf(faults breaker.Faults) []policyFault {
	all := make([]policyFault, 0, len(faults))
	for _, f := range faults {
		all = append(all, policyFault{f.File, f.Line, f.Column, f.Message})
	}
	return all
}

func (c checkedPolicies) write(w io.Writer) error {
	p := paletteFor(w)
	if c.OK {
		_, err := fmt.Fprintf(w, "%s: %s, %s, %s, version %s\n", c.File, p.good("ok"),
			count(c.Policies, "policy", "policies"), count(c.Rules, "rule", "rules"), c.Version)
		return err
	}
	for _, f := range c.Faults {
		if _, err := fmt.Fprintf(w, "%s %s\n", p.place(f.File, f.Line, f.Column), f.Message); err != nil {
			return err
		}
	}
	return nil
}
