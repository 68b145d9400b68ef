package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
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
		problem := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			problem += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
		}
		return fmt.Errorf("%s", problem)
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
