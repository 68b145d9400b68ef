package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// recordedEndings are how names of files of recorded outcomes end.
var recordedEndings = []string{"jsonl", "ndjson", "json", "gz", "zst"}

// policyEndings are how names of policy files, and of policy tests, end.
var policyEndings = []string{"yaml", "yml"}

// completeEndings completes files whose names end so.
func completeEndings(endings []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}

// completePolicies completes policy files, and the word for the built-in policy. A shell completes either words or
// files by itself, so the files are found here.
func completePolicies(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	dir, base := filepath.Split(typed)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil { // Such as ~/, which is the shell's to read.
		return policyEndings, cobra.ShellCompDirectiveFilterFileExt
	}
	var found []string
	directive := cobra.ShellCompDirectiveNoFileComp
	if strings.HasPrefix(builtin, typed) {
		found = append(found, builtin)
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || name[0] == '.' && base == "" {
			continue
		}
		info, err := os.Stat(dir + name) // Of what a link leads to.
		switch {
		case err != nil:
		case info.IsDir():
			found = append(found, dir+name+string(filepath.Separator))
			directive |= cobra.ShellCompDirectiveNoSpace
		case slices.Contains(policyEndings, strings.TrimPrefix(filepath.Ext(name), ".")):
			found = append(found, dir+name)
		}
	}
	return found, directive
}

// completeExplain completes a policy file, then a circuit.
func completeExplain(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return completePolicies(cmd, args, typed)
	case 1:
		return circuitsOf(cmd, args), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeDiff completes two policy files, then circuits.
func completeDiff(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) < 2 {
		return completePolicies(cmd, args, typed)
	}
	return circuitsOf(cmd, args[:2]), cobra.ShellCompDirectiveNoFileComp
}

// circuitsOf returns the circuits that policy files name in their routes, and those that are known.
func circuitsOf(cmd *cobra.Command, files []string) []string {
	circuits := knownCircuits(cmd.Context())
	for _, file := range files {
		policies, err := readPolicies(file)
		if err != nil {
			continue // A shell that completes shows no error.
		}
		for _, route := range policies.Routes {
			circuits = append(circuits, route.Chain...)
		}
	}
	slices.Sort(circuits)
	return slices.Compact(circuits)
}
