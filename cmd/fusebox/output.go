package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// addJSONFlag gives a command the flag --json.
func addJSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON, for machines")
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

// writeTable writes rows as columns that line up. Where paint is not nil it colours a cell after it was padded.
func writeTable(w io.Writer, rows [][]string, paint func(row, column int, cell string) string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for r, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i < len(row)-1 {
				cell += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			}
			if paint != nil {
				cell = paint(r, i, cell)
			}
			line.WriteString(cell)
		}
		if _, err := fmt.Fprintln(w, line.String()); err != nil {
			return err
		}
	}
	return nil
}
