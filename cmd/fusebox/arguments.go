package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// arguments returns the check of a command's arguments by their names: "A" has to be there, "[A]" may be, and "A..."
// takes all that follow. What it says of a wrong call has an example in it.
func arguments(names ...string) cobra.PositionalArgs {
	var required []string
	most := len(names)
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			required = append(required, strings.TrimSuffix(name, "..."))
		}
		if strings.Contains(name, "...") {
			most = -1
		}
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(required):
			missing := required[len(args):]
			verb := "is"
			if len(missing) > 1 {
				verb = "are"
			}
			return fmt.Errorf("%s %s missing, as in: %s", strings.Join(missing, " and "), verb, firstExample(cmd))
		case most == 0 && len(args) > 0:
			return fmt.Errorf("%s takes no argument, and %q is one", cmd.CommandPath(), args[0])
		case most >= 0 && len(args) > most:
			return fmt.Errorf("%q is one argument too many, as in: %s", args[most], firstExample(cmd))
		}
		return nil
	}
}

// firstExample returns the first example of a command, on one line.
func firstExample(cmd *cobra.Command) string {
	joined := strings.ReplaceAll(cmd.Example, "\\\n", " ")
	first, _, _ := strings.Cut(strings.TrimSpace(joined), "\n")
	return strings.Join(strings.Fields(first), " ")
}
