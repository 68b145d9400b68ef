package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is how wide help is where there is no terminal.
const helpWidth = 80

// help prints the help of a command, broken to the terminal's width.
func help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	width := widthOf(out)
	if width == 0 {
		width = helpWidth
	}
	what := cmd.Long
	if what == "" {
		what = cmd.Short
	}
	text := reflow(strings.TrimSpace(what), width) + "\n\n" + hang(cmd.UsageString(), width)
	_, _ = io.WriteString(out, text) // Whoever asked for help and went away needs none.
}

// reflow breaks the paragraphs of a text anew, to a width. Lines that are indented stay lines.
func reflow(text string, width int) string {
	var lines []string
	joins := false // The next line goes on with the last one.
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		plain := line != "" && line[0] != ' '
		if plain && joins {
			lines[len(lines)-1] += " " + line
		} else {
			lines = append(lines, line)
		}
		joins = plain
	}
	return hang(strings.Join(lines, "\n"), width)
}

// flagFault says what is wrong with a flag and what would be right.
func flagFault(cmd *cobra.Command, err error) error {
	if before := cmd.Flags().Args(); cmd.HasSubCommands() && len(before) > 0 {
		return unknownCommand(cmd, before[0]) // The flag is its own.
	}
	if name, ok := unknownFlag(err); ok {
		return fmt.Errorf("unknown flag: --%s%s", name, didYouMeanFlag(cmd, name))
	}
	if flag, value, ok := wrongValue(err); ok {
		return fmt.Errorf("--%s %s: want %s", flag.Name, value, rightValue(flag.Value.Type(), value))
	}
	return err
}
