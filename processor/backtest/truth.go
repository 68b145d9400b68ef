package backtest

import (
	"slices"
	"sort"
	"time"
)

// Bad is a stretch in which a circuit is known to have given bad answers.
type Bad struct {
	Circuit string    `json:"circuit"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero"` // It is not part of the stretch; the zero time is the end of the record.
}

// holds tells whether a time lies in the stretch.
func (b Bad) holds(at time.Time) bool {
	return !at.Before(b.From) && (b.To.IsZero() || at.Before(b.To))
}

// Truth is what is known of the record from outside. It notes where in each circuit's sequence the bad stretches lie,
// and then judges by them.
type Truth struct {
	bad     []Bad
	circuit map[string]*stretches
}

// stretches are those of one circuit, by when they begin.
type stretches struct {
	rows  []int   // Of Truth.bad.
	first []int64 // Index of the first outcome at or after each begin; -1 before it came.
	last  []int64 // Index of the newest outcome in it; -1 where there is none.
	next  int     // The first that has not begun.
}

// NewTruth returns what is known before any outcome.
func NewTruth(bad []Bad) *Truth {
	t := &Truth{bad: bad, circuit: map[string]*stretches{}}
	order := make([]int, len(bad))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return bad[i].From.Compare(bad[j].From) })
	for _, row := range order {
		s := t.circuit[bad[row].Circuit]
		if s == nil {
			s = &stretches{}
			t.circuit[bad[row].Circuit] = s
		}
		s.rows = append(s.rows, row)
		s.first, s.last = append(s.first, -1), append(s.last, -1)
	}
	return t
}

// Note takes note of a step, of which there is one for each outcome, in order.
func (t *Truth) Note(s *Step) {
	known := t.circuit[s.Circuit]
	if known == nil {
		return
	}
	for known.next < len(known.rows) && !s.At.Before(t.bad[known.rows[known.next]].From) {
		known.first[known.next] = s.Index
		known.next++
	}
	for i := range known.next {
		if t.bad[known.rows[i]].holds(s.At) {
			known.last[i] = s.Index
		}
	}
}

// Judged is a report held against the truth.
type Judged struct {
	Stretches  []JudgedStretch `json:"stretches"` // In the order of the truth.
	Missed     int             `json:"missed"`
	FalseTrips []FalseTrip     `json:"false_trips"`
}

// Keep leaves out the stretches of circuits that are not kept.
func (j *Judged) Keep(keeps func(circuit string) bool) {
	j.Stretches = slices.DeleteFunc(j.Stretches, func(s JudgedStretch) bool {
		if !keeps(s.Circuit) && !s.Found {
			j.Missed--
		}
		return !keeps(s.Circuit)
	})
}

// JudgedStretch is what came of one bad stretch.
type JudgedStretch struct {
	Bad
	Outcomes      int64     `json:"outcomes"` // Of the circuit in it; where there is none, nothing can be found.
	Found         bool      `json:"found"`
	Already       bool      `json:"already"`     // The circuit was open when the stretch began.
	At            time.Time `json:"at,omitzero"` // Of the trip; the zero time where it was missed.
	Rule          string    `json:"rule,omitempty"`
	DelayOutcomes int64     `json:"delay_outcomes"`
	DelaySeconds  float64   `json:"delay_seconds"`
}

// FalseTrip is an opening outside every bad stretch of its circuit.
type FalseTrip struct {
	Circuit string `json:"circuit"`
	Trip
}

// Judge holds a report against the truth. A stretch is found by the first trip in it, one by a failed probe too, or by
// being open when it began. A false trip is one from closed, outside every stretch.
func (t *Truth) Judge(r *Report) Judged {
	j := Judged{Stretches: make([]JudgedStretch, len(t.bad)), FalseTrips: []FalseTrip{}}
	for i, bad := range t.bad {
		j.Stretches[i] = JudgedStretch{Bad: bad}
	}
	for i := range r.Circuits {
		c := r.Circuits[i]
		known := t.circuit[c.Circuit]
		if known != nil {
			for n, row := range known.rows {
				known.judge(n, &j.Stretches[row], c)
			}
		}
		for _, trip := range c.Openings() {
			if !t.knows(known, trip.At) {
				j.FalseTrips = append(j.FalseTrips, FalseTrip{c.Circuit, *trip})
			}
		}
	}
	for _, s := range j.Stretches {
		if !s.Found {
			j.Missed++
		}
	}
	return j
}

// knows tells whether a time lies in one of the stretches.
func (t *Truth) knows(known *stretches, at time.Time) bool {
	return known != nil && slices.ContainsFunc(known.rows, func(row int) bool { return t.bad[row].holds(at) })
}

// judge fills in what the circuit's trips make of its nth stretch.
func (s *stretches) judge(n int, j *JudgedStretch, c *Circuit) {
	if s.last[n] < 0 {
		return
	}
	j.Outcomes = s.last[n] - s.first[n] + 1
	if i := firstEndingAt(c.Open, j.From); i < len(c.Open) && c.Open[i].From.Before(j.From) {
		j.Found, j.Already, j.At = true, true, j.From
		return
	}
	i := sort.Search(len(c.Trips), func(i int) bool { return !c.Trips[i].At.Before(j.From) })
	if i == len(c.Trips) || !j.holds(c.Trips[i].At) {
		return
	}
	trip := &c.Trips[i]
	j.Found, j.At, j.Rule = true, trip.At, trip.Rule
	j.DelayOutcomes = trip.Index - s.first[n]
	j.DelaySeconds = trip.At.Sub(j.From).Seconds()
}

// firstEndingAt returns the index of the first of these stretches that ends at a time or later.
func firstEndingAt(open []Stretch, at time.Time) int {
	return sort.Search(len(open), func(i int) bool { return !open[i].To.Before(at) })
}
