package main

import (
	"html/template"
	"slices"
	"time"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

// What a page holds at most: its size is bounded whatever was recorded.
const (
	pageRows     = 200 // Circuits in its table.
	pageCircuits = 40  // Circuits with timelines.
	pageTrips    = 40  // Trips of a circuit, by each policy.
)

// pageView is what the template of the page shows.
type pageView struct {
	Security        string
	Styles, Scripts template.HTML
	Licence         string

	Sides      []pageSide
	Truths     []pageTruth     // None without a truth.
	Totals     backtest.Totals // Of the first side.
	From, To   time.Time
	Verdict    string // Of a comparison, as are the next two.
	Found      string
	Compared   [][]string // Rows, the first of names.
	Header     []string   // Of the table of circuits.
	Rows       []pageRow
	More       string // Circuits that have no row, counted; "" where all have one.
	MoreOpened int
	Hidden     int // Circuits that opened and have no timeline.
	Circuits   []pageCircuit
	Data       pageData
}

type pageSide struct {
	Name    string // A or B; "" where there is one.
	Title   string
	Version string
	Notes   []string
}

// pageTruth is what came of one set of policies, held against the truth.
type pageTruth struct {
	Name  string     // A, B or shadow; "" where there is one.
	Rows  [][]string // The first of names.
	False int        // Trips outside of it.
}

// pageRow is a circuit in the table.
type pageRow struct {
	Name   string
	Cells  []string
	Opened bool
	Drawn  int // Number of its timeline, from 1 on; 0 where it has none.
}

// pageCircuit is a circuit with its timeline.
type pageCircuit struct {
	Number int
	Name   string
	Facts  []string
	Missed []string // Stretches known to be bad that were not found.
	Trips  []pageTrip
	More   int // Trips that are not listed.
}

type pageTrip struct {
	Side string // A, B, shadow or "".
	*backtest.Trip
	False  bool // Outside of all that is known to be bad.
	Kinds  string
	Passed string // How many bad answers by then.
}

// pageData is what the page's script draws.
type pageData struct {
	Sides    []string      `json:"sides"`
	Circuits []pageDrawing `json:"circuits"`
}

// pageDrawing is what is drawn of a circuit: what came, and by each policy what it would have done.
type pageDrawing struct {
	Name  string            `json:"name"`
	Line  backtest.Drawing  `json:"line"`
	Bad   [][2]float64      `json:"bad"` // Known stretches, in seconds since 1970.
	Sides []pageDrawingSide `json:"sides"`
}

type pageDrawingSide struct {
	Rules []backtest.RuleLine `json:"rules"`
	Open  [][2]float64        `json:"open"` // Seconds since 1970.
	Trips []pageDrawnTrip     `json:"trips"`
}

type pageDrawnTrip struct {
	At    float64 `json:"at"`
	False bool    `json:"false"`
	Words string  `json:"words"`
}

func newPageView(b *backtester) *pageView {
	first := b.sides[0]
	v := &pageView{Totals: first.report.Totals()}
	v.From, v.To = recordedSpan(&first.report)
	for _, s := range b.sides {
		v.Sides = append(v.Sides, pageSide{s.label, s.title(), s.policies.Version, s.notes()})
		v.addTruth(s)
		v.addTruth(s.beside)
		v.Data.Sides = append(v.Data.Sides, s.label)
	}
	v.Data.Circuits = []pageDrawing{}
	if len(b.sides) == 2 {
		v.compare(first, b.sides[1])
		return v
	}
	v.one(first)
	return v
}

// one fills in what one set of policies does with the circuits, and what their shadows would do.
func (v *pageView) one(s *backtestSide) {
	sides := []*backtestSide{s}
	if s.beside != nil {
		sides = append(sides, s.beside)
		v.Data.Sides = append(v.Data.Sides, besideName)
	}
	listed := s.worst[:min(len(s.worst), pageRows)]
	rows := circuitRows(listed)
	v.Header = rows[0]
	numbers := make(map[string]int) // Of those that are drawn: once, though they may have two rows.
	for i, c := range listed {
		number, drawn := numbers[c.Circuit]
		if !drawn {
			number = v.draw(sides, c.Circuit)
			numbers[c.Circuit] = number
		}
		v.Rows = append(v.Rows, pageRow{c.Circuit, rows[i+1][1:], len(c.Trips) > 0, number})
	}
	v.rest(s, len(tripped(s.worst)))
}

// compare fills in what two policies do differently with the circuits, those that opened first.
func (v *pageView) compare(a, b *backtestSide) {
	c := backtest.Compare(&a.report, &b.report)
	ta, tb := a.report.Totals(), b.report.Totals()
	v.Verdict, v.Found, v.Compared = verdict(ta, tb, &c), found(&c), totalRows(&ta, &tb)
	order := differing(a, &c)
	all := slices.Concat(order, quiet(&c))
	rows := compareRows(a, b, &c, all[:min(len(all), pageRows)])
	v.Header = rows[0]
	for i, cells := range rows[1:] {
		drawn := v.draw([]*backtestSide{a, b}, cells[0])
		v.Rows = append(v.Rows, pageRow{cells[0], cells[1:], i < len(order), drawn})
	}
	v.rest(a, len(order))
}

// rest counts what the page does not show.
func (v *pageView) rest(s *backtestSide, opened int) {
	if more := len(s.worst) - len(v.Rows); more > 0 {
		v.More = s.countRows(more)
	}
	v.MoreOpened, v.Hidden = opened, opened
	for _, row := range v.Rows {
		if !row.Opened {
			continue
		}
		v.MoreOpened--
		if row.Drawn > 0 {
			v.Hidden--
		}
	}
}

// addTruth adds what came of a side held against the truth, where there are both.
func (v *pageView) addTruth(s *backtestSide) {
	if s == nil || s.judged == nil {
		return
	}
	t := pageTruth{s.label, [][]string{truthHeader}, len(s.judged.FalseTrips)}
	for i := range s.judged.Stretches[:min(len(s.judged.Stretches), pageRows)] {
		t.Rows = append(t.Rows, truthRow(&s.judged.Stretches[i]))
	}
	v.Truths = append(v.Truths, t)
}

// draw adds a circuit with its timeline and returns its number, or 0 where there is no room or no timeline.
func (v *pageView) draw(sides []*backtestSide, name string) int {
	if len(v.Circuits) == pageCircuits || sides[0].lines[name] == nil {
		return 0
	}
	number := len(v.Circuits) + 1
	c := pageCircuit{Number: number, Name: name}
	d := pageDrawing{Name: name, Line: sides[0].lines[name].Draw()}
	d.Bad = sides[0].knownBad(name, d.Line.End())
	for _, s := range sides {
		circuit := s.circuit(name)
		if circuit == nil {
			continue // No shadow judges it.
		}
		side := pageDrawingSide{Rules: []backtest.RuleLine{}, Open: [][2]float64{}, Trips: []pageDrawnTrip{}}
		said := circuitFacts{label: s.label, circuit: circuit}
		if line := s.lines[name]; line != nil {
			drawing := line.Draw()
			side.Rules, said.kinds = drawing.Rules, drawing.Kinds
		}
		side.Open = openTimes(circuit.Open, d.Line.Width)
		c.Missed = append(c.Missed, s.missed(name)...)
		listed := min(len(circuit.Trips), pageTrips)
		for j := range circuit.Trips[:listed] {
			t := &circuit.Trips[j]
			wrong := s.isFalse(name, t)
			c.Trips = append(c.Trips, pageTrip{s.label, t, wrong, kindCounts(t.ByKind), passed(t)})
			side.Trips = append(side.Trips, pageDrawnTrip{unix(t.At), wrong, t.Words})
		}
		c.More += len(circuit.Trips) - listed
		c.Facts = said.add(c.Facts)
		d.Sides = append(d.Sides, side)
	}
	d.Line.Rules = nil
	v.Circuits, v.Data.Circuits = append(v.Circuits, c), append(v.Data.Circuits, d)
	return number
}

// openTimes returns when a circuit was open. Stretches that are less than a bucket apart are one: nobody would see the
// gap, and so there are not many.
func openTimes(open []backtest.Stretch, width float64) [][2]float64 {
	times := [][2]float64{}
	for _, o := range open {
		from, to := unix(o.From), unix(o.To)
		if last := len(times) - 1; last >= 0 && from-times[last][1] < width {
			times[last][1] = to
			continue
		}
		times = append(times, [2]float64{from, to})
	}
	return times
}

func unix(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }
