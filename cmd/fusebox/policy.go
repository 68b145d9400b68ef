package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
)

func newPolicyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "policy",
		Short:   "Check, test, explain, compare and propose policy files",
		Example: "  fusebox policy check policies.yaml",
	}, newPolicyCheckCommand(), newPolicyTestCommand(), newPolicyExplainCommand(), newPolicyDiffCommand(),
		newPolicySchemaCommand(), newPolicySuggestCommand())
}

// policies returns the policies that the configuration names: those of the policy file, or the built-in ones.
func (c config) policies() (*breaker.Policies, error) {
	if c.PolicyFile == "" {
		return breaker.Builtin(), nil
	}
	return usablePolicies(c.PolicyFile, fmt.Sprintf("FUSEBOX_POLICY_FILE=%q", c.PolicyFile))
}

// usablePolicies reads a policy file for a command that cannot do without it: an error ends in exit status 2 and says
// by what words the file was named.
func usablePolicies(file, named string) (*breaker.Policies, error) {
	policies, err := readPolicies(file)
	if _, wrong := asFaults(err); wrong {
		return nil, usageErrorf("the policies of %s are wrong:\n%w", named, err)
	}
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	return policies, nil
}

// readPolicies reads a policy file, or returns the built-in policies where it is called builtin. Its error is
// breaker.Faults where the file can be read and its text is wrong.
func readPolicies(file string) (*breaker.Policies, error) {
	if file == builtin {
		return breaker.Builtin(), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, unreadable("policy file", file, err)
	}
	return breaker.Read(file, text)
}

// unreadable says that a file cannot be read, and why.
func unreadable(what, file string, err error) error {
	return fmt.Errorf("%s %s cannot be read: %w", what, file, unnamed(err))
}

// unnamed returns what is wrong with a file without the file's name, where the caller names it, or another one.
func unnamed(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// count writes a number of things.
func count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural(n, one, many)) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
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
