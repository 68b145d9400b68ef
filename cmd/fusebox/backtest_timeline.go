package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

const (
	plainWidth    = 100 // Of a timeline where there is no terminal.
	longestBarRow = 160
)

// Marks of a timeline: the share of answers accepted, and below it what the policy does.
var levels = []rune("▁▂▃▄▅▆▇█")

const (
	tripMark = '▲'
	openMark = '━'
)

func (p *backtestPrinter) legend() {
	p.line("\n%s", p.paint.faint(fmt.Sprintf("timelines: %c none accepted to %c all; %c trips, %c is open",
		levels[0], levels[len(levels)-1], tripMark, openMark)))
}

// timeline prints a circuit's answers over time, and below them when it was open. The name stands before that.
func (p *backtestPrinter) timeline(line *backtest.Timeline, c *backtest.Circuit, name string) {
	if line == nil {
		p.line("  no timeline is kept of more than %d circuits", drawnCircuits)
		return
	}
	from, to := p.clocks(c)
	buckets := line.Thinned(p.columns(from, to, name))
	p.text.WriteString("  " + p.paint.faint(from) + " " + p.bars(buckets) + " " + p.paint.faint(to) + "\n")
	p.marks(buckets, c, name, from)
}

// clocks returns how a timeline's ends are written.
func (p *backtestPrinter) clocks(c *backtest.Circuit) (from, to string) {
	format := time.TimeOnly
	if c.To.Sub(c.From) >= 24*time.Hour {
		format = "01-02 15:04"
	}
	return c.From.UTC().Format(format), c.To.UTC().Format(format)
}

// columns returns how many columns there are for the bars.
func (p *backtestPrinter) columns(from, to, name string) int {
	width := p.width
	if width == 0 {
		width = plainWidth
	}
	return max(min(width, longestBarRow)-len("  ")-max(len(from), len(name))-len("  ")-len(to), 10)
}

// bars draws the share of answers accepted, a column for each bucket.
func (p *backtestPrinter) bars(buckets []backtest.Bucket) string {
	var all, run strings.Builder
	var paint func(string) string
	last := -1
	flush := func() {
		if run.Len() > 0 {
			all.WriteString(paint(run.String()))
			run.Reset()
		}
	}
	for _, b := range buckets {
		grade, mark := 0, ' '
		if b.Outcomes > 0 {
			mark = levels[min(int(b.Accepted*int64(len(levels))/b.Outcomes), len(levels)-1)]
			grade = 1 + int(min(b.Accepted*100/b.Outcomes, 99)/50) // Below half, or not.
			if b.Accepted*5 >= b.Outcomes*4 {
				grade = 3
			}
		}
		if grade != last {
			flush()
			paint = []func(string) string{p.paint.faint, p.paint.bad, p.paint.warn, p.paint.good}[grade]
			last = grade
		}
		run.WriteRune(mark)
	}
	flush()
	return all.String()
}

// marks draws below the bars when the circuit was open.
func (p *backtestPrinter) marks(buckets []backtest.Bucket, c *backtest.Circuit, name, from string) {
	row := []rune(strings.Repeat(" ", len(buckets)))
	for _, open := range c.Open {
		for i := columnOf(buckets, open.From); i <= columnOf(buckets, open.To); i++ {
			row[i] = openMark
		}
	}
	for i := range c.Trips {
		row[columnOf(buckets, c.Trips[i].At)] = tripMark
	}
	text := fmt.Sprintf("  %-*s %s", len(from), name, p.paint.bad(strings.TrimRight(string(row), " ")))
	p.text.WriteString(strings.TrimRight(text, " ") + "\n")
}

// columnOf returns the bucket in which a time lies.
func columnOf(buckets []backtest.Bucket, at time.Time) int {
	i, exact := slices.BinarySearchFunc(buckets, at, func(b backtest.Bucket, at time.Time) int {
		return b.From.Compare(at)
	})
	if exact {
		return i
	}
	return max(i-1, 0)
}
