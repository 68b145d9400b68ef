package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
)

func newPolicyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "policy",
		Short:   "Check, test and explain policy files",
		Example: "  fusebox policy check policies.yaml",
	}, newPolicyCheckCommand(), newPolicyTestCommand(), newPolicyExplainCommand())
}

// policies returns the policies that the configuration names: those of the policy file, or the built-in ones.
func (c config) policies() (*breaker.Policies, error) {
	if c.PolicyFile == "" {
		return breaker.Builtin(), nil
	}
	policies, err := readPolicies(c.PolicyFile)
	if _, wrong := asFaults(err); wrong {
		return nil, usageErrorf("FUSEBOX_POLICY_FILE=%q is wrong:\n%w", c.PolicyFile, err)
	}
	if err != nil {
		return nil, usageErrorf("FUSEBOX_POLICY_FILE=%q: want a YAML file (%w)", c.PolicyFile, err)
	}
	return policies, nil
}

// readPolicies reads a policy file. Its error is breaker.Faults where the file can be read and its text is wrong.
func readPolicies(file string) (*breaker.Policies, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return breaker.Read(file, text)
}

// count writes a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// asFaults tells whether an error is about a policy file's text, and returns what is wrong with it.
func asFaults(err error) (breaker.Faults, bool) {
	var faults breaker.Faults
	return faults, errors.As(err, &faults)
}

// place writes where something is in a file.
func (p palette) place(file string, line, column int) string {
	return p.bold(fmt.Sprintf("%s:%d:%d:", file, line, column))
}
