package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/lint"
)

func newPolicyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:        "check FILE...",
		SuggestFor: []string{"lint", "validate"},
		Short:      "Say what is wrong in policy files, and where",
		Long: `Reads policy files as 'fusebox run' would, and prints all that is wrong as file:line:column: message.
Exit status 3 if anything is. "builtin" names the built-in policy.

--against names recorded outcomes (JSON lines, plain, gzip or zstd) of a time in which all was well, and may be given
several times. The rules are held against them. A problem, with exit status 3, is

  - a rule that would have fired
  - a rule that waits for a kind of the file's own (kinds:) that nobody produced, or for any kind in place of which
    somebody produced one that the file does not declare and that is nearly called so
  - a rule whose window never held as many outcomes as it waits for
  - a circuit that no rule ever judged, as every window held too few of it
  - a file of which no policy matches any recorded circuit
  - a recording that is not in the order of time, so that most outcomes of a circuit were late

A note is what may be as it should be. It changes nothing about the exit status:

  - a rule that could not be tried, as none of its kinds happened, such as policy_rejection, or too little was recorded
  - a policy that matches no recorded circuit, and circuits that no policy matches
  - a kind that somebody produced and the file does not declare

--truth names a CSV file of stretches known to be bad, as for 'fusebox backtest': their outcomes are left out.`,
		Example: "  fusebox policy check policies.yaml\n" +
			"  fusebox policy check policies.yaml --against healthy.jsonl.gz\n" +
			"  fusebox policy check policies.yaml --against week.jsonl.gz \\\n    --truth incidents.csv",
		Args:              arguments("FILE..."),
		ValidArgsFunction: completePolicies,
	}
	asJSON := addJSONFlag(cmd)
	against := cmd.Flags().StringArray("against", nil, "hold the rules against a `file` of outcomes of a healthy time")
	truthFile := cmd.Flags().String("truth", "", "with --against: a CSV `file` of stretches known to be bad")
	_ = cmd.MarkFlagFilename("against", recordedEndings...)
	_ = cmd.MarkFlagFilename("truth", "csv")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if *truthFile != "" && len(*against) == 0 {
			return usageErrorf("--truth needs --against")
		}
		truth, err := readTruth(*truthFile)
		if err != nil {
			return err
		}
		all, err := checkPolicies(files)
		if err != nil {
			return err
		}
		if len(*against) > 0 {
			if err := lintPolicies(cmd, all, *against, truth); err != nil {
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
	Notes    []policyFault `json:"notes"`             // What may be as it should be.
	Against  *heldAgainst  `json:"against,omitempty"` // Nothing where it was held against nothing.

	policies *breaker.Policies
	lint     *lint.Lint
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
	c := checkedPolicies{
		File: file, OK: policies != nil, Faults: faultsOf(faults), Notes: []policyFault{}, policies: policies,
	}
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
	said := slices.Clone(c.Faults)
	for _, note := range c.Notes {
		note.Message = p.warn("note:") + " " + note.Message
		said = append(said, note)
	}
	slices.SortStableFunc(said, func(a, b policyFault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	for _, f := range said {
		if _, err := fmt.Fprintf(w, "%s %s\n", p.place(f.File, f.Line, f.Column), f.Message); err != nil {
			return err
		}
	}
	if !c.OK {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s, %s, version %s\n", c.File, p.good("ok"),
		count(c.Policies, "policy", "policies"), count(c.Rules, "rule", "rules"), c.Version)
	return err
}
