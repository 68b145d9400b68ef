package backtest

import (
	"math"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Timeline is what a circuit's answers were like over time, in buckets of equal width. When they get too many, the
// width doubles, so that its size is bounded. Between Buckets/2 and Buckets of them are in use once some time has
// passed. The zero value is not usable.
type Timeline struct {
	from, width int64 // Milliseconds.
	most        int
	used        int
	kinds       []kindLine
	rules       []ruleLine // None where they are not wanted.
}

// kindLine counts the outcomes of a kind in each bucket.
type kindLine struct {
	name   string
	role   breaker.Role
	counts []uint32
}

// ruleLine holds the highest value of a rule in each bucket, NaN where it had none to compare.
type ruleLine struct {
	name      string
	threshold float64
	highest   []float32
}

// NewTimeline returns a timeline of at most so many buckets, an even number, with the rules' values or without.
func NewTimeline(buckets int, rules *breaker.Policy) *Timeline {
	t := &Timeline{width: 1, most: buckets}
	if rules != nil {
		t.rules = make([]ruleLine, len(rules.Rules))
		for i := range t.rules {
			t.rules[i] = ruleLine{name: rules.Rules[i].Name, highest: unset(buckets)}
		}
	}
	return t
}

func unset(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(math.NaN())
	}
	return values
}

// Add adds the outcomes of a step.
func (t *Timeline) Add(s *Step, outcomes int64) {
	at := s.At.UnixMilli()
	if t.used == 0 {
		t.from = at
	}
	bucket := (at - t.from) / t.width
	for ; bucket >= int64(t.most); bucket = (at - t.from) / t.width {
		t.double()
	}
	i := int(bucket)
	t.used = max(t.used, i+1)
	counts := t.counts(s)
	counts[i] = uint32(min(int64(counts[i])+outcomes, math.MaxUint32))
	for r := range t.rules {
		t.rules[r].observe(s, r, i)
	}
}

// counts returns the counts of the step's kind.
func (t *Timeline) counts(s *Step) []uint32 {
	for i := range t.kinds {
		if t.kinds[i].name == s.Kind {
			return t.kinds[i].counts
		}
	}
	line := kindLine{s.Kind, s.Role, make([]uint32, t.most)}
	t.kinds = append(t.kinds, line)
	return line.counts
}

// observe takes in what a rule compares. Where its minimum is not reached it compares nothing.
func (r *ruleLine) observe(s *Step, rule, bucket int) {
	observed, threshold, throughput := s.Observe(rule)
	r.threshold = threshold
	if s.Trip != nil && s.Trip.Rule == r.name {
		observed = s.Trip.Observed // A trip leaves the circuit empty.
	} else if s.Phase != schemas.Closed || throughput < s.Policy().Rules[rule].MinimumThroughput {
		return
	}
	r.highest[bucket] = higher(r.highest[bucket], float32(observed))
}

// higher returns the higher of two values, of which either may be NaN.
func higher(a, b float32) float32 {
	if a >= b || math.IsNaN(float64(b)) {
		return a
	}
	return b
}

// double makes the buckets twice as wide.
func (t *Timeline) double() {
	t.width *= 2
	t.used = (t.used + 1) / 2
	for _, k := range t.kinds {
		for i := range t.most / 2 {
			k.counts[i] = uint32(min(uint64(k.counts[2*i])+uint64(k.counts[2*i+1]), math.MaxUint32))
		}
		clear(k.counts[t.most/2:])
	}
	for _, r := range t.rules {
		for i := range t.most / 2 {
			r.highest[i] = higher(r.highest[2*i], r.highest[2*i+1])
		}
		copy(r.highest[t.most/2:], unset(t.most/2))
	}
}

// Bucket is a part of a timeline.
type Bucket struct {
	From     time.Time
	Outcomes int64
	Accepted int64
}

// Thinned returns the timeline in at most so many buckets.
func (t *Timeline) Thinned(buckets int) []Bucket {
	per := (t.used + buckets - 1) / buckets
	var thin []Bucket
	for i := 0; i < t.used; i += per {
		b := Bucket{From: t.at(i)}
		for _, k := range t.kinds {
			n := sum(k.counts[i:min(i+per, t.used)])
			b.Outcomes += n
			if k.name == schemas.Accepted {
				b.Accepted += n
			}
		}
		thin = append(thin, b)
	}
	return thin
}

// at returns where a bucket begins.
func (t *Timeline) at(bucket int) time.Time {
	return time.UnixMilli(t.from + int64(bucket)*t.width).UTC()
}

func sum(counts []uint32) int64 {
	var n int64
	for _, c := range counts {
		n += int64(c)
	}
	return n
}
