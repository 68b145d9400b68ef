package main

import (
	"fmt"
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

// next says what a circuit waits for, where it waits for anything.
func next(s *schemas.State, now time.Time) string {
	var parts []string
	switch {
	case s.Override != nil && s.Override.Until.IsZero():
		parts = append(parts, "until cleared")
	case s.Override != nil:
		parts = append(parts, "ends in "+in(now, s.Override.Until))
	case s.ProbeDue(now):
		parts = append(parts, "probe due")
	case s.State == schemas.Open:
		parts = append(parts, "probe in "+in(now, s.RetryAt))
	case s.State == schemas.HalfOpen && len(s.Leases) > 0:
		parts = append(parts, fmt.Sprintf("probe out, by %s", s.Leases[0].Holder))
	case s.State == schemas.HalfOpen:
		parts = append(parts, "probe due")
	case len(s.Ramp) > 0:
		parts = append(parts, fmt.Sprintf("%s of calls admitted", percent(s.Ramp[0].Share)))
	}
	if !s.Enforced {
		parts = append(parts, "not enforced")
	}
	if s.Policy == "" {
		parts = append(parts, "no policy matches")
	}
	return strings.Join(parts, ", ")
}

// because says why a circuit is as it is, "" of one that is well.
func because(s *schemas.State) string {
	switch {
	case s.Override != nil:
		return "by " + s.Override.Actor + ": " + s.Override.Reason
	case s.Operator != nil && (s.Operator.Mode == schemas.Reset || s.Operator.Mode == schemas.Clear):
		return s.Operator.Mode.String() + " by " + s.Operator.Actor + ": " + s.Operator.Reason
	case s.State == schemas.Open && s.Cause == nil && s.Previous == schemas.ForcedOpen:
		return "an override (force_open) has ended"
	case s.Cause != nil:
		return s.Cause.Words()
	case s.Degraded != nil:
		return s.Degraded.Words()
	}
	return ""
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
func ago(now, t time.Time) string { return in(t, now) }

// in writes how long it is until a time, in at most two units.
func in(now, t time.Time) string {
	d := max(t.Sub(now), 0)
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return schemas.Brief(d.Round(time.Minute))
	case d >= time.Second:
		return schemas.Brief(d.Round(time.Second))
	}
	return schemas.Brief(d.Round(time.Millisecond))
}

// percent writes a share as a reader says it.
func percent(share float64) string { return schemas.Decimal(share*100, 0) + "%" }

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
