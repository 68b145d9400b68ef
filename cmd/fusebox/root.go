package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/processor/near"
)

func newRoot() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "fusebox",
		Short: "A semantic circuit breaker for AI routes",
		Long: `Fusebox counts, per circuit, whether the answers of an AI route were usable, and tells every router when
a route has stopped giving usable answers, why, and who may test whether it has recovered.
It runs as a Kafka stream processor.

Exit status: 0 ok, 1 it failed, 2 the call or the configuration is wrong, 3 a check found problems.
What goes on until it is stopped (dev, watch, run) ends with 0 at Ctrl-C or SIGTERM, anything else with 1.

Data goes to stdout, everything else to stderr. Configuration is by environment, see 'fusebox run --help'.`,
		Example: `  fusebox policy check policies.yaml
  FUSEBOX_BROKERS=kafka:9092 fusebox topics create
  FUSEBOX_BROKERS=kafka:9092 fusebox run`,
		SilenceErrors: true,
		SilenceUsage:  true,
	},
		newEmitCommand(), newStatusCommand(), newWatchCommand(), newOverrideCommand(),
		newDevCommand(), newBenchCommand(), newBacktestCommand(),
		newRunCommand(), newTopicsCommand(), newPolicyCommand(), newAuditCommand(),
		newVersionCommand(),
	)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() { // By themselves both take words that mean nothing.
		case "completion":
			group(cmd)
		case "help":
			cmd.Args = isCommand
		}
	}
	root.Version = thisBuild().Version
	root.SetVersionTemplate(thisBuild().String())
	root.SetHelpFunc(help)
	root.SetFlagErrorFunc(flagFault)
	markRuns(root)
	return root
}

// group makes a command that does nothing but hold others.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cmd.SetOut(cmd.ErrOrStderr())
		if err := cmd.Help(); err != nil {
			return err
		}
		return &statusError{status: exitUsage}
	}
	return cmd
}

// isCommand checks that words lead to a command.
func isCommand(cmd *cobra.Command, words []string) error {
	found, rest, err := cmd.Root().Find(words)
	if err == nil && found.HasSubCommands() && len(rest) > 0 {
		err = unknownCommand(found, rest[0])
	}
	return err
}

// unknownCommand says that a group has no command of a name, and what was meant: one that is called so in another
// group, or nearly so in this one, or nearly so in another.
func unknownCommand(group *cobra.Command, name string) error {
	all := commandsOf(group.Root())
	var meant, names []string
	for _, c := range all {
		if names = append(names, c.Name()); c.Name() == name || slices.Contains(c.SuggestFor, name) {
			meant = append(meant, c.CommandPath())
		}
	}
	if len(meant) == 0 {
		meant = group.SuggestionsFor(name)
	}
	if like := near.Words(name, names); len(meant) == 0 && len(like) > 0 {
		for _, c := range all {
			if c.Name() == like[0] {
				meant = append(meant, c.CommandPath())
			}
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", name, group.CommandPath(), near.Question(meant))
}

// commandsOf returns all commands below one that do something.
func commandsOf(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			all = append(append(all, sub), commandsOf(sub)...)
		}
	}
	return all
}
