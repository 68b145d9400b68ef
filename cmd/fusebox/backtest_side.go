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
	label    string // A or B, "" where there is one, or shadow.
	policies *breaker.Policies
	run      *backtest.Run
	spill    *spill
	truth    *backtest.Truth // nil where none was given.
	unknown  backtest.Unknown

	inOrder []*backtest.Timeline          // Of at most drawnCircuits, in the order in which they came.
	lines   map[string]*backtest.Timeline // The same, by circuit.
	rules   bool                          // Lines have the rules' values.

	beside *backtestSide // What the shadows among the policies would do; nil where none is to be told of.

	report backtest.Report
	worst  []*backtest.Circuit // Of the report and of that of beside, the worst first, those of one circuit together.
	judged *backtest.Judged    // nil without truth.
}

// sideNames are what the two policies of a comparison are called.
var sideNames = [...]string{"A", "B"}

// besideName is what the shadows' side is called.
const besideName = "shadow"

func newBacktestSide(name string, policies *breaker.Policies, resident int, rules, beside bool) *backtestSide {
	s := &backtestSide{name: name, policies: policies, spill: &spill{}, rules: rules}
	s.lines = make(map[string]*backtest.Timeline)
	s.run = backtest.New(policies, backtest.Options{Resident: resident, Store: s.spill, Beside: beside})
	return s
}

// shadows returns the names of the policies that judge beside others.
func (s *backtestSide) shadows() (names []string) {
	for _, p := range s.policies.All() {
		if p.Shadow != nil {
			names = append(names, p.Shadow.Name)
		}
	}
	return names
}

// step judges one outcome.
func (s *backtestSide) step(o *schemas.Outcome) {
	if s.beside != nil {
		s.beside.step(o)
	}
	step := s.run.Step(o)
	if step.Circuit == "" {
		return // Nothing judges it, or the store failed, as the report will say.
	}
	if s.truth != nil {
		s.truth.Note(&step)
	}
	if step.Kind == schemas.UnknownKind {
		s.unknown.Note(o)
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
	if s.beside != nil {
		if err := s.beside.finish(); err != nil {
			return err
		}
	}
	s.sort()
	if s.truth != nil {
		judged := s.truth.Judge(&report)
		s.judged = &judged
	}
	if s.beside != nil && s.beside.judged != nil {
		s.beside.judged.Keep(func(circuit string) bool { return s.beside.circuit(circuit) != nil })
	}
	return nil
}

// sort puts the circuits in order, each by the worse of its rows.
func (s *backtestSide) sort() {
	s.worst = s.rows()
	if s.beside == nil {
		slices.SortStableFunc(s.worst, worse)
		return
	}
	worst := make(map[string]*backtest.Circuit, len(s.report.Circuits))
	for _, c := range s.worst {
		if w := worst[c.Circuit]; w == nil || worse(c, w) < 0 {
			worst[c.Circuit] = c
		}
	}
	slices.SortStableFunc(s.worst, func(a, b *backtest.Circuit) int {
		return worse(worst[a.Circuit], worst[b.Circuit])
	})
}

// rows returns the circuits by name, each followed by what its shadow does.
func (s *backtestSide) rows() []*backtest.Circuit {
	rows := make([]*backtest.Circuit, 0, len(s.report.Circuits))
	for i := range s.report.Circuits {
		c := s.report.Circuits[i]
		rows = append(rows, c)
		if s.beside == nil {
			continue
		}
		if shadow := s.beside.circuit(c.Circuit); shadow != nil {
			rows = append(rows, shadow)
		}
	}
	return rows
}

// worse orders circuits, the worst first.
func worse(a, b *backtest.Circuit) int {
	return cmp.Or(cmp.Compare(b.OpenShare(), a.OpenShare()), cmp.Compare(len(b.Trips), len(a.Trips)),
		cmp.Compare(failed(b), failed(a)))
}

// circuit returns a circuit's row of the report, which is ordered by name, or nil where it has none.
func (s *backtestSide) circuit(name string) *backtest.Circuit {
	i, found := slices.BinarySearchFunc(s.report.Circuits, name, func(c *backtest.Circuit, name string) int {
		return cmp.Compare(c.Circuit, name)
	})
	if !found {
		return nil
	}
	return s.report.Circuits[i]
}

// lineOf returns the timeline of a row, nil where none is kept.
func (s *backtestSide) lineOf(c *backtest.Circuit) *backtest.Timeline {
	if c.Shadow {
		s = s.beside
	}
	return s.lines[c.Circuit]
}

// close removes what was put away.
func (s *backtestSide) close() {
	_ = s.spill.close() // It is a temporary file.
	if s.beside != nil {
		s.beside.close()
	}
}

// failed returns the share of a circuit's outcomes that are failures.
func failed(c *backtest.Circuit) float64 { return float64(c.Failures) / float64(max(c.Outcomes, 1)) }
