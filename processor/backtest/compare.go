package backtest

import (
	"math"
	"slices"
	"time"
)

// Totals are what the circuits of a report add up to.
type Totals struct {
	Circuits    int     `json:"circuits"`
	Tripped     int     `json:"tripped"` // Circuits that opened at all.
	Outcomes    int64   `json:"outcomes"`
	Accepted    int64   `json:"accepted"`
	Failures    int64   `json:"failures"`
	Others      int64   `json:"others"`
	Openings    int     `json:"openings"` // Times that a circuit went from closed to open.
	Trips       int     `json:"trips"`    // Openings, and probes that failed.
	OpenSeconds float64 `json:"open_seconds"`
	Seconds     float64 `json:"seconds"` // From each circuit's first outcome to its newest.
	Refused     Refused `json:"refused"`
}

// Totals adds the circuits up.
func (r *Report) Totals() Totals {
	t := Totals{Circuits: len(r.Circuits)}
	var openMS, ms, costMicros int64 // Whole numbers: their sums are exact, and the same in any order.
	for i := range r.Circuits {
		c := r.Circuits[i]
		if len(c.Open) > 0 {
			t.Tripped++
		}
		t.Outcomes += c.Outcomes
		t.Accepted += c.Accepted
		t.Failures += c.Failures
		t.Others += c.Others
		t.Openings += len(c.Open)
		t.Trips += len(c.Trips)
		openMS += int64(math.Round(c.OpenSeconds * 1e3))
		ms += c.To.Sub(c.From).Milliseconds()
		t.Refused.Failures += c.Refused.Failures
		t.Refused.Accepted += c.Refused.Accepted
		t.Refused.Others += c.Refused.Others
		costMicros += int64(math.Round(c.Refused.CostUSD * 1e6))
	}
	t.OpenSeconds, t.Seconds, t.Refused.CostUSD = float64(openMS)/1e3, float64(ms)/1e3, float64(costMicros)/1e6
	return t
}

// Share returns the share of time for which a circuit was open.
func Share(openSeconds, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return openSeconds / seconds
}

// OpenShare returns the share of its time for which the circuit was open.
func (c *Circuit) OpenShare() float64 { return Share(c.OpenSeconds, c.To.Sub(c.From).Seconds()) }

// Openings returns the trips by which the circuit went from closed to open, one for each of Open.
func (c *Circuit) Openings() []*Trip {
	var openings []*Trip
	for i := range c.Trips {
		if n := len(openings); n < len(c.Open) && c.Trips[i].At.Equal(c.Open[n].From) {
			openings = append(openings, &c.Trips[i])
		}
	}
	return openings
}

// Comparison is two policies over the same outcomes: what taking A instead of B changes.
type Comparison struct {
	Earlier  int          `json:"earlier"` // Bad stretches that A found before B.
	Later    int          `json:"later"`
	Same     int          `json:"same"`
	OnlyA    int          `json:"only_a"` // Those that B did not find.
	OnlyB    int          `json:"only_b"`
	Circuits []Difference `json:"circuits"` // In the order of the reports.
}

// Difference is what two policies do differently with one circuit.
type Difference struct {
	Circuit string `json:"circuit"`
	Pairs   []Pair `json:"pairs"`
	OnlyA   []Trip `json:"only_a"`
	OnlyB   []Trip `json:"only_b"`
}

// Opened tells whether the circuit opened at all, under one policy or both.
func (d *Difference) Opened() bool { return len(d.Pairs)+len(d.OnlyA)+len(d.OnlyB) > 0 }

// Pair is a bad stretch that both policies found: the first opening of each in it.
type Pair struct {
	A        time.Time `json:"a"`
	B        time.Time `json:"b"`
	RuleA    string    `json:"rule_a"`
	RuleB    string    `json:"rule_b"`
	Outcomes int64     `json:"outcomes"` // By how many A is later; negative is earlier.
	Seconds  float64   `json:"seconds"`
}

// Compare compares two reports of the same outcomes.
func Compare(a, b *Report) Comparison {
	c := Comparison{Circuits: []Difference{}}
	for i := range a.Circuits {
		d := differ(a.Circuits[i], b.Circuits[i])
		c.OnlyA += len(d.OnlyA)
		c.OnlyB += len(d.OnlyB)
		for _, p := range d.Pairs {
			switch {
			case p.Outcomes < 0:
				c.Earlier++
			case p.Outcomes > 0:
				c.Later++
			default:
				c.Same++
			}
		}
		c.Circuits = append(c.Circuits, d)
	}
	return c
}

// differ compares how two policies found the bad stretches of a circuit. Openings whose episodes overlap, of one policy
// and of the other in turn, are about one stretch, and each policy found it by its first: where one is open already, a
// later opening of the other is earlier than nothing.
func differ(a, b *Circuit) Difference {
	d := Difference{Circuit: a.Circuit, Pairs: []Pair{}, OnlyA: []Trip{}, OnlyB: []Trip{}}
	all := append(a.episodes(0), b.episodes(1)...)
	slices.SortStableFunc(all, func(x, y episode) int { return x.From.Compare(y.From) })
	for len(all) > 0 {
		var found [2]*Trip
		end := all[0].To
		for len(all) > 0 && !all[0].From.After(end) {
			e := &all[0]
			if found[e.side] == nil {
				found[e.side] = e.trip
			}
			if e.To.After(end) {
				end = e.To
			}
			all = all[1:]
		}
		switch byA, byB := found[0], found[1]; {
		case byB == nil:
			d.OnlyA = append(d.OnlyA, *byA)
		case byA == nil:
			d.OnlyB = append(d.OnlyB, *byB)
		default:
			d.Pairs = append(d.Pairs, pair(byA, byB))
		}
	}
	return d
}

// episode is an opening with the bad stretch that led to it: from its first failure to the recovery.
type episode struct {
	Stretch
	trip *Trip
	side int // 0 is A, 1 is B.
}

func (c *Circuit) episodes(side int) []episode {
	var episodes []episode
	for i, trip := range c.Openings() {
		e := episode{c.Open[i], trip, side}
		if !trip.Since.IsZero() && trip.Since.Before(e.From) {
			e.From = trip.Since
		}
		episodes = append(episodes, e)
	}
	return episodes
}

func pair(a, b *Trip) Pair {
	return Pair{
		A: a.At, B: b.At, RuleA: a.Rule, RuleB: b.Rule,
		Outcomes: a.Index - b.Index, Seconds: a.At.Sub(b.At).Seconds(),
	}
}
