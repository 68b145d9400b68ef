package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/fusebox-project/fusebox/schemas"
)

// state colours a word that stands for a state.
func (p palette) state(s *schemas.State, word string) string {
	switch {
	case s.State == schemas.Open || s.State == schemas.ForcedOpen:
		return p.bad(word)
	case s.State == schemas.HalfOpen || s.Degraded != nil || s.State == schemas.Disabled:
		return p.warn(word)
	}
	return p.good(word)
}

// stateWord names a state in a list.
func stateWord(s *schemas.State) string {
	if s.Degraded != nil {
		return "degraded"
	}
	return s.State.String()
}

// clock writes a time as a reader needs it: of today the time, else the day too.
func clock(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// ago writes how long ago a time was, in at most two units.
func ago(now, t time.Time) string { return schemas.Until(t, now) }

// percent writes a share as a reader says it.
func percent(share float64) string { return schemas.Percent(share) }

// widthOf returns the columns of a terminal, 0 of anything else.
func widthOf(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}

// visible returns how many columns a text takes: colours take none.
func visible(text string) int { return utf8.RuneCountInString(colours.ReplaceAllString(text, "")) }

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// hang breaks each line of a text that is wider than a terminal at spaces. What follows goes below the line's last
// column, if it has columns, or else below its first word. A width of 0 breaks nothing.
func hang(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if width == 0 || visible(line) <= width {
			continue
		}
		at := len(line) - len(strings.TrimLeft(line, " "))
		for _, gap := range gaps.FindAllStringIndex(line, -1) {
			if visible(line[:gap[1]]) <= width/2 {
				at = gap[1]
			}
		}
		head, indent := line[:at], strings.Repeat(" ", visible(line[:at]))
		lines[i] = head + wrap(line[at:], width, indent)[len(indent):]
	}
	return strings.Join(lines, "\n")
}

// gaps are what lies between two columns.
var gaps = regexp.MustCompile(`\S  +`)

// wrap breaks a text at spaces into lines of at most so many columns, each after the indent. A width of 0 breaks
// nothing, and a word that is longer than a line has one of its own.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	b.WriteString(indent)
	column := len(indent)
	for i, word := range strings.Fields(text) {
		length := visible(word)
		switch {
		case i == 0:
		case width > 0 && column+1+length > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}
