package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// addJSONFlag gives a command the flag --json, by which it prints one value.
func addJSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON, for machines")
}

// addRecordsFlag gives a command the flag --json, by which it prints records as they are on the wire.
func addRecordsFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON, one record a line, as it is on the wire")
}

// writeJSON writes a value as one line of JSON.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// isTerminal tells whether a stream is a terminal, at which somebody reads or types.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
}

// palette colours words. The zero value leaves them as they are.
type palette struct{ on bool }

// paletteFor returns the colours for a writer: none where it is no terminal or the user wants none.
func paletteFor(w io.Writer) palette { return palette{isTerminal(w) && !wantsNoColor()} }

func (p palette) bad(s string) string   { return p.paint(s, color.FgRed) }
func (p palette) good(s string) string  { return p.paint(s, color.FgGreen) }
func (p palette) warn(s string) string  { return p.paint(s, color.FgYellow) }
func (p palette) faint(s string) string { return p.paint(s, color.Faint) }
func (p palette) bold(s string) string  { return p.paint(s, color.Bold) }

func (p palette) paint(s string, attribute color.Attribute) string {
	if !p.on || s == "" {
		return s
	}
	c := color.New(attribute)
	c.EnableColor()
	return c.Sprint(s)
}

// writeTable writes rows as columns that line up, see table.
func writeTable(w io.Writer, rows [][]string, paint func(row, column int, cell string) string) error {
	_, err := fmt.Fprintln(w, strings.Join(table(rows, widthOf(w), paint), "\n"))
	return err
}

// table lays rows out as columns that line up, and returns a text for each. Columns that do not fit into the width go
// below the first ones, indented; a width of 0 holds everything. Where paint is not nil it colours a cell after it was
// padded.
func table(rows [][]string, width int, paint func(row, column int, cell string) string) []string {
	const indent = "    "
	widths := columnWidths(rows)
	breaks := make([]bool, len(widths)) // Before which columns a line ends.
	for i, at := 0, 0; i < len(widths); i++ {
		if width > 0 && at > 0 && at+widths[i] > width {
			breaks[i], at = true, len(indent)
		}
		at += widths[i] + 2
	}
	texts := make([]string, len(rows))
	for r, row := range rows {
		lines := []string{""}
		for i, cell := range row {
			last := &lines[len(lines)-1]
			if breaks[i] {
				*last = strings.TrimRight(*last, " ")
				lines = append(lines, indent)
				last = &lines[len(lines)-1]
			}
			if i < len(row)-1 {
				cell += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			}
			if paint != nil {
				cell = paint(r, i, cell)
			}
			*last += cell
		}
		for i, line := range lines {
			lines[i] = strings.TrimRight(line, " ")
		}
		lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
		texts[r] = strings.Join(lines, "\n")
	}
	return texts
}

// columnWidths returns how many columns of a terminal the widest cell of each column takes.
func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}
