package main

import (
	"cmp"
	"slices"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	drawnBuckets  = 240  // Of a timeline, wherever it is drawn.
	drawnCircuits = 5000 // Circuits of which timelines are kept, the first ones.
)

// backtestSide is one set of policies and what becomes of the outcomes by them.
type backtestSide struct {
	name     string // The file, or builtin.
	policies *breaker.Policies
	run      *backtest.Run
	spill    *spill
	truth    *backtest.Truth // nil where none was given.

	inOrder []*backtest.Timeline          // Of at most drawnCircuits, in the order in which they came.
	lines   map[string]*backtest.Timeline // The same, by circuit.
	rules   bool                          // Lines have the rules' values.

	report backtest.Report
	worst  []*backtest.Circuit // Of the report, the worst first.
	judged *backtest.Judged    // nil without truth.
}

func newBacktestSide(name string, policies *breaker.Policies, resident int, truth []backtest.Bad, rules bool,
) *backtestSide {
	s := &backtestSide{name: name, policies: policies, spill: &spill{}, rules: rules}
	s.lines = make(map[string]*backtest.Timeline)
	s.run = backtest.New(policies, backtest.Options{Resident: resident, Store: s.spill})
	if truth != nil {
		s.truth = backtest.NewTruth(truth)
	}
	return s
}

// step judges one outcome.
func (s *backtestSide) step(o *schemas.Outcome) {
	step := s.run.Step(o)
	if step.Circuit == "" {
		return // The store failed, as the report will say.
	}
	if s.truth != nil {
		s.truth.Note(&step)
	}
	if line := s.line(&step); line != nil {
		line.Add(&step, o.Count)
	}
}

// line returns the timeline of a step's circuit, nil where there are too many.
func (s *backtestSide) line(step *backtest.Step) *backtest.Timeline {
	switch n := len(s.inOrder); {
	case step.Number < n:
		return s.inOrder[step.Number]
	case n == drawnCircuits:
		return nil
	}
	var rules *breaker.Policy
	if s.rules {
		rules = step.Policy()
	}
	line := backtest.NewTimeline(drawnBuckets, rules)
	s.inOrder = append(s.inOrder, line)
	s.lines[step.Circuit] = line
	return line
}

// finish makes the report of all that was judged.
func (s *backtestSide) finish() error {
	report, err := s.run.Report()
	if err != nil {
		return err
	}
	s.report = report
	for i := range report.Circuits {
		s.worst = append(s.worst, &report.Circuits[i])
	}
	slices.SortStableFunc(s.worst, func(a, b *backtest.Circuit) int {
		return cmp.Or(cmp.Compare(b.OpenShare(), a.OpenShare()), cmp.Compare(len(b.Trips), len(a.Trips)),
			cmp.Compare(failed(b), failed(a)))
	})
	if s.truth != nil {
		judged := s.truth.Judge(&report)
		s.judged = &judged
	}
	return nil
}

// circuit returns a circuit's row of the report, which is ordered by name.
func (s *backtestSide) circuit(name string) *backtest.Circuit {
	i, _ := slices.BinarySearchFunc(s.report.Circuits, name, func(c backtest.Circuit, name string) int {
		return cmp.Compare(c.Circuit, name)
	})
	return &s.report.Circuits[i]
}

// failed returns the share of a circuit's outcomes that are failures.
func failed(c *backtest.Circuit) float64 { return float64(c.Failures) / float64(max(c.Outcomes, 1)) }
