package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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
