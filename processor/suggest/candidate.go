package suggest

import (
	"cmp"
	"math"
	"slices"
)

const (
	leastMatching = 5       // No rule trips on fewer bad outcomes: how they come in streaks is not known of so few.
	leastLoss     = 1.0 / 3 // Of the good answers. A route that lost less is better than none.
	never         = -1      // Of a delay.
)

// lasts are the windows that are tried, in outcomes.
var lasts = []int{10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 500, 1000}

// watch is what a rule looks at.
type watch struct {
	name, kind string  // Kind is empty for the failures.
	sees       []class // In this order: good ones, bad ones.
	bad        class
}

var watched = []watch{
	{"failures", "", []class{good, failure}, failure},
	{"rejections", "policy_rejection", []class{good, failure, rejection}, rejection},
}

// Signal is one thing to watch in the circuits of a group.
type Signal struct {
	Name       string      `json:"name"`
	Kind       string      `json:"kind,omitempty"` // Empty for the failures.
	Seen       int         `json:"seen"`           // Healthy outcomes that such a rule sees.
	Bad        int         `json:"bad"`            // Those of them that are bad.
	PerDay     float64     `json:"per_day"`        // Outcomes that such a rule sees; 0 where that is not known.
	Level      Level       `json:"level"`          // Of the circuit with the worst one.
	Candidates []Candidate `json:"candidates"`
	Proposed   []Proposed  `json:"proposed"` // At most two.
}

// Proposed is a rule that is proposed.
type Proposed struct {
	Rule      string `json:"rule"`      // Its name.
	Candidate int    `json:"candidate"` // Index among the candidates.
}

// Candidate is a rule that could be proposed.
type Candidate struct {
	Last      int     `json:"last"`
	Matching  int     `json:"matching"`  // So many of the last ones have to be bad; more than there are can never be.
	Threshold float64 `json:"threshold"` // The share that this is, in whole thousandths.
	Highest   int     `json:"highest"`   // The most that were bad in a healthy window, of as many as Last.
	Streaks   float64 `json:"streaks"`   // How many outcomes tell as much as one, as they come in streaks.
	Upper     float64 `json:"upper"`     // The share of bad ones that can lie behind the recording.
	Chance    float64 `json:"chance"`    // Of a false trip in a window.
	PerDay    float64 `json:"per_day"`   // False trips on the route, at the recorded rate, at most.
	Half      Delay   `json:"half"`      // If from some moment on half of the good answers went bad.
	All       Delay   `json:"all"`       // If all did.
	Truth     *Found  `json:"truth"`     // Of the stretches that are known to be bad; null where there are none.

	least  int     // What Matching is at least.
	passed float64 // The chance of that many.
	rare   bool    // That is seldom enough, and Matching is more as it has to mean a loss.
}

// Delay is after how many outcomes a change is found: within so many in five and in nine cases of ten, -1
// where it is not.
type Delay struct {
	Five int `json:"five"`
	Nine int `json:"nine"`
}

// Found is what became of stretches that are known to be bad.
type Found struct {
	Stretches int `json:"stretches"`
	Missed    int `json:"missed"`
	Slowest   int `json:"slowest"` // Outcomes until the last one was found of those that were.
}

// run is what a rule sees of one circuit.
type run struct {
	healthy []bool // Whether each outcome was bad, those of bad stretches left out.
	records []tally
	whole   []sighted
}

// tally is a healthy record of outcomes that are all alike.
type tally struct {
	count int
	bad   bool
}

type sighted struct{ bad, known bool } // An outcome, and whether it lies in a stretch that is known to be bad.

// signal weighs the rules that watch one thing, and says after each window how many are weighed.
func (r *Recording) signal(g *Group, w watch, goal Goal, step func(weighed int) error) (Signal, error) {
	s := Signal{Name: w.name, Kind: w.kind, Candidates: []Candidate{}, Proposed: []Proposed{}}
	var runs []run
	for _, circuit := range g.Circuits {
		x := w.run(*r.circuits[circuit])
		s.Seen += len(x.healthy)
		s.Bad += number(x.healthy)
		runs = append(runs, x)
	}
	s.PerDay = r.perDay(g, runs)
	falseTrips := goal.chance(s.PerDay)
	for i, last := range lasts {
		if err := step(i); err != nil {
			return Signal{}, err
		}
		c := Candidate{Last: last, least: leastMatching}
		for _, x := range runs {
			c.clear(x.records)
		}
		enough := false
		for _, x := range runs {
			if len(x.healthy) < max(2*last, fewInPart) {
				continue
			}
			l := levelOf(x.healthy)
			if len(s.Candidates) == 0 && l.Worst >= s.Level.Worst {
				s.Level = l
			}
			c.fit(&l, falseTrips)
			enough = true
		}
		if !enough {
			break
		}
		c.Threshold = float64(c.thousandths(c.Matching)) / 1000
		c.PerDay = c.Chance * s.PerDay
		c.try(runs)
		s.Candidates = append(s.Candidates, c)
	}
	s.choose()
	return s, step(len(lasts))
}

// perDay returns how many outcomes of a group come to a rule in a day, 0 where all were recorded at one moment.
func (r *Recording) perDay(g *Group, runs []run) float64 {
	first, last, seen := int64(math.MaxInt64), int64(math.MinInt64), 0
	for i, circuit := range g.Circuits {
		for _, m := range *r.circuits[circuit] {
			first, last = min(first, m.at), max(last, m.at)
		}
		seen += len(runs[i].whole)
	}
	if last <= first {
		return 0
	}
	return float64(seen) * float64(day.Milliseconds()) / float64(last-first)
}

// run returns what a rule sees of a circuit.
func (w *watch) run(marks []mark) run {
	var x run
	for _, m := range marks {
		if !slices.Contains(w.sees, m.is) {
			continue
		}
		count, bad := int(m.count), m.is == w.bad
		x.whole = append(x.whole, slices.Repeat([]sighted{{bad, m.bad}}, count)...)
		if !m.bad {
			x.healthy = append(x.healthy, slices.Repeat([]bool{bad}, count)...)
			x.records = append(x.records, tally{count, bad})
		}
	}
	return x
}

// clear raises the least that may be proposed above every window of a circuit, however little was recorded of it. A
// window holds whole records, and so more outcomes than asked for where they stand for several.
func (c *Candidate) clear(records []tally) {
	bad, total, oldest := 0, 0, 0
	for _, r := range records {
		total += r.count
		if r.bad {
			bad += r.count
		}
		for ; total-records[oldest].count >= c.Last; oldest++ {
			total -= records[oldest].count
			if records[oldest].bad {
				bad -= records[oldest].count
			}
		}
		if total < c.Last {
			continue
		}
		c.Highest = max(c.Highest, (bad*c.Last+total-1)/total)
		for c.least <= c.Last && c.thousandths(c.least)*total <= 1000*bad {
			c.least++
		}
	}
}

// thousandths returns the threshold at which so many bad ones are enough.
func (c *Candidate) thousandths(matching int) int { return 1000 * matching / c.Last }

// fit raises the threshold until the rule trips in no window of any circuit, and in those of one by chance seldom
// enough.
func (c *Candidate) fit(l *Level, falseTrips float64) {
	streaks, linked := 1.0, 0.0
	for _, last := range lasts {
		if last <= c.Last { // What shorter windows tell of streaks is more certain.
			streaks = l.streaks(last)
			linked = max(linked, alike(last, streaks))
		}
	}
	upper := l.upper(streaks)
	trips := chances(c.Last, upper, l.together(linked))
	loss := l.Worst + leastLoss*(1-l.Worst)
	k := max(c.least, int(math.Ceil(loss*float64(c.Last)-1e-9)))
	for k <= c.Last && trips[k] > falseTrips {
		k++
	}
	if c.least <= c.Last {
		c.passed = max(c.passed, trips[c.least])
		c.rare = c.passed <= falseTrips
	}
	chance := 0.0
	if k <= c.Last {
		chance = trips[k]
	}
	if k > c.Matching || k == c.Matching && chance > c.Chance {
		c.Matching, c.Streaks, c.Upper, c.Chance = k, streaks, upper, chance
	}
}

// choose takes the candidate that first notices that half of the good answers go bad, and beside it, where that is
// another, the one that first notices that all do. What notices neither is not proposed.
func (s *Signal) choose() {
	half, all := -1, -1
	for i := range s.Candidates {
		c := &s.Candidates[i]
		if c.Half.Five != never && (half < 0 || c.compareHalf(&s.Candidates[half]) < 0) {
			half = i
		}
		if c.All.Nine != never && (all < 0 || c.All.compare(s.Candidates[all].All) < 0) {
			all = i
		}
	}
	if half >= 0 {
		s.Proposed = append(s.Proposed, Proposed{s.Name, half})
	}
	if all >= 0 && (half < 0 || s.Candidates[all].All.compare(s.Candidates[half].All) < 0) {
		s.Proposed = append(s.Proposed, Proposed{s.Name + "-all", all})
	}
}

// compareHalf tells which of two candidates is the better one: by how much of what is known to have been bad it misses,
// then by how soon it would notice that half of the good answers go bad. How soon it found what is known does not
// count: of a few stretches that is luck.
func (c *Candidate) compareHalf(other *Candidate) int {
	known := 0
	if c.Truth != nil {
		known = cmp.Compare(c.Truth.Missed, other.Truth.Missed)
	}
	return cmp.Or(known, c.Half.compare(other.Half), c.All.compare(other.All))
}

// compare tells which delay is the shorter one, by nine cases of ten first.
func (d Delay) compare(other Delay) int {
	return cmp.Or(cmp.Compare(late(d.Nine), late(other.Nine)), cmp.Compare(late(d.Five), late(other.Five)))
}

// late returns a delay as it compares.
func late(delay int) int {
	if delay == never {
		return math.MaxInt
	}
	return delay
}
