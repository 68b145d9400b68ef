package backtest

import (
	"sort"
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
	for i := range r.Circuits {
		c := &r.Circuits[i]
		if len(c.Open) > 0 {
			t.Tripped++
		}
		t.Outcomes += c.Outcomes
		t.Accepted += c.Accepted
		t.Failures += c.Failures
		t.Others += c.Others
		t.Openings += len(c.Open)
		t.Trips += len(c.Trips)
		t.OpenSeconds += c.OpenSeconds
		t.Seconds += c.To.Sub(c.From).Seconds()
		t.Refused.Failures += c.Refused.Failures
		t.Refused.Accepted += c.Refused.Accepted
		t.Refused.Others += c.Refused.Others
		t.Refused.CostUSD += c.Refused.CostUSD
	}
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
	Earlier  int          `json:"earlier"` // Openings that A has before B.
	Later    int          `json:"later"`
	Same     int          `json:"same"`
	OnlyA    int          `json:"only_a"` // Openings in a stretch in which B has none.
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

// Pair is an opening that both policies have: the times from the first failure to the recovery overlap.
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
		d := differ(&a.Circuits[i], &b.Circuits[i])
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

// differ pairs the openings of a circuit: each of A with the first of B that is about the same bad stretch and is
// nobody's yet. What is about the same stretch is no difference, even where one policy opens twice in it.
func differ(a, b *Circuit) Difference {
	d := Difference{Circuit: a.Circuit, Pairs: []Pair{}, OnlyA: []Trip{}, OnlyB: []Trip{}}
	episodesA, episodesB := a.episodes(), b.episodes()
	next := 0
	for _, e := range episodesA {
		for next < len(episodesB) && episodesB[next].To.Before(e.From) {
			next++
		}
		switch {
		case next < len(episodesB) && overlap(e.Stretch, episodesB[next].Stretch):
			d.Pairs = append(d.Pairs, pair(e.trip, episodesB[next].trip))
			next++
		case !overlapsAny(e, episodesB):
			d.OnlyA = append(d.OnlyA, *e.trip)
		}
	}
	for _, e := range episodesB {
		if !overlapsAny(e, episodesA) {
			d.OnlyB = append(d.OnlyB, *e.trip)
		}
	}
	return d
}

// episode is an opening with the bad stretch that led to it: from its first failure to the recovery.
type episode struct {
	Stretch
	trip *Trip
}

func (c *Circuit) episodes() []episode {
	var episodes []episode
	for i, trip := range c.Openings() {
		e := episode{c.Open[i], trip}
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

func overlap(a, b Stretch) bool { return !a.From.After(b.To) && !b.From.After(a.To) }

// overlapsAny looks for an overlap in episodes that end one after the other.
func overlapsAny(one episode, others []episode) bool {
	i := sort.Search(len(others), func(i int) bool { return !others[i].To.Before(one.From) })
	return i < len(others) && overlap(one.Stretch, others[i].Stretch)
}
