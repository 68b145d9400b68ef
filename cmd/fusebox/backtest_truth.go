package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// readTruth reads the stretches of a CSV file: nil where no file is named, and otherwise at least one. The error names
// every fault with its place.
func readTruth(file string) ([]backtest.Bad, error) {
	if file == "" {
		return nil, nil
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, usageErrorf("%w", unreadable("file of bad stretches", file, err))
	}
	defer opened.Close()
	rows := csv.NewReader(opened)
	rows.TrimLeadingSpace, rows.FieldsPerRecord, rows.Comment = true, -1, '#'
	header, err := rows.Read()
	if err != nil && err != io.EOF {
		return nil, usageErrorf("%s: %w", file, err)
	}
	t := truthReader{file: file, rows: rows}
	if err := t.columns(header); err != nil {
		return nil, err
	}
	return t.read()
}

// truthReader reads the rows behind the header.
type truthReader struct {
	file              string
	rows              *csv.Reader
	circuit, from, to int // Columns.
}

func (t *truthReader) columns(header []string) error {
	for i := range header {
		header[i] = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(header[i], "\uFEFF")))
	}
	t.circuit, t.from, t.to = slices.Index(header, "circuit"), slices.Index(header, "from"), slices.Index(header, "to")
	if min(t.circuit, t.from, t.to) < 0 {
		return usageErrorf("%s:1:1: the header is %q, want the columns circuit,from,to",
			t.file, strings.Join(header, ","))
	}
	return nil
}

func (t *truthReader) read() ([]backtest.Bad, error) {
	var bad []backtest.Bad
	var faults []error
	for {
		row, err := t.rows.Read()
		if err == io.EOF {
			break
		}
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			return nil, usageErrorf("%s:%d:%d: %w", t.file, syntax.Line, syntax.Column, syntax.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.file, err)
		}
		b, wrong := t.row(row)
		faults = append(faults, wrong...)
		bad = append(bad, b)
	}
	if len(faults) > 0 {
		return nil, usageErrorf("%w", errors.Join(faults...))
	}
	if len(bad) == 0 {
		return nil, usageErrorf("%s names no bad stretch", t.file)
	}
	return bad, nil
}

// row reads one row.
func (t *truthReader) row(row []string) (backtest.Bad, []error) {
	var faults []error
	fault := func(column int, format string, args ...any) {
		line, at := t.rows.FieldPos(min(column, len(row)-1))
		faults = append(faults, fmt.Errorf("%s:%d:%d: %s", t.file, line, at, fmt.Sprintf(format, args...)))
	}
	if len(row) <= max(t.circuit, t.from) {
		fault(len(row)-1, "has %s, want circuit,from,to", count(len(row), "column", "columns"))
		return backtest.Bad{}, faults
	}
	when := func(column int) time.Time {
		at, err := time.Parse(time.RFC3339, strings.TrimSpace(row[column]))
		if err != nil {
			fault(column, "%q is no time, want one such as 2026-09-14T12:00:00Z", row[column])
		}
		return at.UTC()
	}
	b := backtest.Bad{Circuit: row[t.circuit], From: when(t.from)}
	if err := schemas.CheckCircuit(b.Circuit); err != nil {
		fault(t.circuit, "circuit %q: %v", b.Circuit, err)
	}
	if t.to < len(row) && strings.TrimSpace(row[t.to]) != "" {
		if b.To = when(t.to); len(faults) == 0 && !b.To.After(b.From) {
			fault(t.to, "the stretch ends at %s, before it begins", row[t.to])
		}
	}
	return b, faults
}

// truthLimits are what a policy may not exceed.
type truthLimits struct {
	delay      string // As the flag says it; "" is no limit.
	outcomes   int64  // -1 where the limit is a duration.
	within     time.Duration
	falseTrips int
	countFalse bool // There is a limit for false trips.
}

// check reads the limits as the flags say them.
func (l *truthLimits) check(truth bool) error {
	if !truth && (l.delay != "" || l.countFalse) {
		return usageErrorf("--max-delay and --max-false-trips need --truth")
	}
	if l.falseTrips < 0 {
		return usageErrorf("--max-false-trips %d: want a number that is not negative", l.falseTrips)
	}
	if l.delay == "" {
		return nil
	}
	n, err := strconv.ParseInt(l.delay, 10, 64)
	if err == nil && n >= 0 {
		l.outcomes = n
		return nil
	}
	l.outcomes = -1
	if l.within, err = readDuration(l.delay); err != nil || l.within < 0 {
		return usageErrorf("--max-delay %s: want a number of outcomes, such as 30, or a duration, such as 2m", l.delay)
	}
	return nil
}

// exceeds tells whether a stretch was found too late, or not at all.
func (l *truthLimits) exceeds(s *backtest.JudgedStretch) bool {
	switch {
	case l.delay == "":
		return false
	case !s.Found:
		return true
	case l.outcomes >= 0:
		return s.DelayOutcomes > l.outcomes
	}
	return s.DelaySeconds > l.within.Seconds()
}

// exceeded says which limits were exceeded, if any, and then returns the error of a check that found problems.
func (l *truthLimits) exceeded(w io.Writer, judged *backtest.Judged) error {
	if judged == nil {
		return nil
	}
	late := 0
	for i := range judged.Stretches {
		if l.exceeds(&judged.Stretches[i]) {
			late++
		}
	}
	if late > 0 {
		fmt.Fprintf(w, "--max-delay %s: exceeded by %d of %s, %d of them missed\n", l.delay, late,
			count(len(judged.Stretches), "bad stretch", "bad stretches"), judged.Missed)
	}
	falsely := l.countFalse && len(judged.FalseTrips) > l.falseTrips
	if falsely {
		fmt.Fprintf(w, "--max-false-trips %d: there were %d\n", l.falseTrips, len(judged.FalseTrips))
	}
	if late > 0 || falsely {
		return foundProblems()
	}
	return nil
}
