package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

// What is listed without --all.
const (
	listedCircuits = 30 // Rows of the table.
	shownCircuits  = 10 // With their trips.
	listedTrips    = 10 // Of a circuit.
)

// print prints what was found, for people or for machines.
func (b *backtester) print(out io.Writer) error {
	if b.asJSON {
		return writeJSON(out, b.machineReadable())
	}
	p := backtestPrinter{out: out, paint: paletteFor(out), width: widthOf(out), all: b.all}
	p.head(b.sides)
	if len(b.sides) == 2 {
		p.compare(b.sides[0], b.sides[1])
	} else {
		p.one(b.sides[0])
	}
	for _, s := range b.sides {
		p.truth(s, &b.limits)
		if s.beside != nil {
			p.truth(s.beside, &truthLimits{}) // They are not held to any.
		}
	}
	_, err := io.WriteString(out, strings.TrimLeft(p.text.String(), "\n"))
	return err
}

// backtestPrinter makes the text for people.
type backtestPrinter struct {
	out   io.Writer
	paint palette
	width int  // 0 where it is no terminal.
	all   bool // There is no limit to what is listed.
	text  strings.Builder
}

// most returns how many things may be listed of those that there are a limit for.
func (p *backtestPrinter) most(there, limit int) int {
	if p.all {
		return there
	}
	return min(there, limit)
}

func (p *backtestPrinter) line(format string, args ...any) {
	p.text.WriteString(hang(fmt.Sprintf(format, args...), p.width) + "\n")
}

// head says what was judged by what.
func (p *backtestPrinter) head(sides []*backtestSide) {
	t := sides[0].report.Totals()
	first, last := recordedSpan(&sides[0].report)
	p.line("%s of %s, %s to %s (UTC)", count(int(t.Outcomes), "outcome", "outcomes"),
		count(t.Circuits, "circuit", "circuits"), stamp(first), stamp(last))
	for _, s := range sides {
		name := "by "
		if s.label != "" {
			name = p.paint.bold(s.label) + " is "
		}
		p.line("%s%s, version %s", name, s.title(), s.policies.Version)
		for _, note := range s.notes() {
			p.line("  %s", p.paint.warn(note))
		}
	}
}

// recordedSpan returns the times of the first outcome and of the newest.
func recordedSpan(r *backtest.Report) (first, last time.Time) {
	for i := range r.Circuits {
		c := r.Circuits[i]
		if first.IsZero() || c.From.Before(first) {
			first = c.From
		}
		if c.To.After(last) {
			last = c.To
		}
	}
	return first, last
}

// title names the policies of a side.
func (s *backtestSide) title() string {
	if s.name == builtin {
		return "the built-in policy"
	}
	return s.name
}

// one prints what came of one policy: a row for each circuit, the worst first, and the trips of the worst.
func (p *backtestPrinter) one(s *backtestSide) {
	listed := s.worst[:p.most(len(s.worst), listedCircuits)]
	p.table(circuitRows(listed), func(r int) string {
		if r == 0 || len(listed[r-1].Open) == 0 {
			return ""
		}
		return "bad"
	})
	if hidden := s.worst[len(listed):]; len(hidden) > 0 {
		p.line("and %s, %d of which opened; --all lists them", s.countRows(len(hidden)), len(tripped(hidden)))
	}
	drawn := tripped(s.worst)
	shown := drawn[:p.most(len(drawn), shownCircuits)]
	for i, c := range shown {
		if i == 0 {
			p.legend()
		}
		p.circuit(s, c)
	}
	if hidden := len(drawn) - len(shown); hidden > 0 {
		p.line("\nthe trips of %s are not shown; --all shows them", s.countRows(hidden))
	}
}

// countRows counts rows that are not shown.
func (s *backtestSide) countRows(n int) string {
	if s.beside != nil {
		return count(n, "more row", "more rows") // A circuit may have two.
	}
	return count(n, "more circuit", "more circuits")
}

// table adds a table with a row of names, whose other rows are painted as the function says: "bad", "faint" or not.
func (p *backtestPrinter) table(rows [][]string, mark func(row int) string) {
	texts := table(rows, p.width, func(r, column int, cell string) string {
		switch {
		case r == 0:
			return p.paint.faint(cell)
		case column == 0 && mark(r) == "bad":
			return p.paint.bad(cell)
		case column == 0:
			return p.paint.good(cell)
		}
		return cell
	})
	p.text.WriteString("\n" + strings.Join(texts, "\n") + "\n")
}

// tripped returns those that opened.
func tripped(circuits []*backtest.Circuit) []*backtest.Circuit {
	var some []*backtest.Circuit
	for _, c := range circuits {
		if len(c.Trips) > 0 {
			some = append(some, c)
		}
	}
	return some
}

// circuit prints a circuit's timeline and its trips.
func (p *backtestPrinter) circuit(s *backtestSide, c *backtest.Circuit) {
	by := ""
	if c.Shadow {
		by = ", by " + judge(c)
	}
	p.line("\n%s%s", p.paint.bold(c.Circuit), by)
	p.timeline(s.lineOf(c), c, "")
	listed := c.Trips[:p.most(len(c.Trips), listedTrips)]
	for i := range listed {
		p.trip(&listed[i], "  ")
	}
	if hidden := len(c.Trips) - len(listed); hidden > 0 {
		p.line("  and %s, the last at %s; --all lists them", count(hidden, "more trip", "more trips"),
			stamp(c.Trips[len(c.Trips)-1].At))
	}
}

// trip prints when, where in the sequence and why a circuit opened, and how many bad answers came by then.
func (p *backtestPrinter) trip(t *backtest.Trip, indent string) {
	words := t.Words
	if len(t.ByKind) > 1 {
		words += "; it saw " + kindCounts(t.ByKind)
	}
	if passed := passed(t); passed != "" {
		words += "; " + passed
	}
	p.line("%s%s  #%-6d  %s", indent, stamp(t.At), t.Index, words)
}

// truth prints a report held against the truth.
func (p *backtestPrinter) truth(s *backtestSide, limits *truthLimits) {
	j := s.judged
	if j == nil {
		return
	}
	title := s.title()
	if s.label == besideName {
		title = "shadows of " + title
	}
	p.line("\n%s: %s found of %s, %s", p.paint.bold("against the truth, "+title),
		fmt.Sprint(len(j.Stretches)-j.Missed), count(len(j.Stretches), "bad stretch", "bad stretches"),
		count(len(j.FalseTrips), "false trip", "false trips"))
	rows := [][]string{truthHeader}
	marks := []string{""}
	for i := range j.Stretches[:p.most(len(j.Stretches), listedCircuits)] {
		row, bad := truthRow(&j.Stretches[i]), limits.exceeds(&j.Stretches[i]) || !j.Stretches[i].Found
		rows = append(rows, row)
		marks = append(marks, map[bool]string{true: "bad"}[bad])
	}
	p.table(rows, func(r int) string { return marks[r] })
	if hidden := len(j.Stretches) + 1 - len(rows); hidden > 0 {
		p.line("and %d more; --all lists them", hidden)
	}
	for i := range j.FalseTrips[:p.most(len(j.FalseTrips), listedTrips)] {
		t := &j.FalseTrips[i]
		p.trip(&t.Trip, "  false: "+t.Circuit+"  ")
	}
	if hidden := len(j.FalseTrips) - p.most(len(j.FalseTrips), listedTrips); hidden > 0 {
		p.line("  and %s; --all lists them", count(hidden, "more false trip", "more false trips"))
	}
}

var truthHeader = []string{"CIRCUIT", "BAD FROM", "TO", "FOUND", "AFTER", "RULE"}

func truthRow(s *backtest.JudgedStretch) []string {
	to, found, after := "its end", stamp(s.At), delay(s.DelayOutcomes, s.DelaySeconds)
	if !s.To.IsZero() {
		to = stamp(s.To)
	}
	switch {
	case s.Outcomes == 0:
		found, after = "missed", "no outcome of it was read"
	case !s.Found:
		found, after = "missed", fmt.Sprintf("%s in it", count(int(s.Outcomes), "outcome", "outcomes"))
	case s.Already:
		after = "open already"
	}
	return []string{s.Circuit, stamp(s.From), to, found, after, cmp.Or(s.Rule, "-")}
}
