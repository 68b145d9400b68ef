package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/schemas"
)

// completionTimeout is how long a shell that completes waits for Kafka.
const completionTimeout = 2 * time.Second

var modes = []string{"force_open", "force_closed", "disable", "reset", "clear"}

// completeOverride completes the modes, then the circuits.
func completeOverride(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return modes, cobra.ShellCompDirectiveNoFileComp
	case 1:
		return knownCircuits(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeCircuit completes one circuit.
func completeCircuit(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return knownCircuits(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

// knownCircuits returns the names of the circuits that are known, none where they cannot be had in time: a shell that
// completes shows no error.
func knownCircuits(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	read, err := readStatus(ctx, completionTimeout)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(read.circuits))
}

// completeUntil completes what a stretch of time ends at.
var completeUntil = cobra.FixedCompletions([]string{"now"}, cobra.ShellCompDirectiveNoFileComp)

// stateWords are what --state takes.
func stateWords() []string {
	words := []string{"degraded"}
	for _, p := range schemas.Phases {
		words = append(words, p.String())
	}
	return words
}
