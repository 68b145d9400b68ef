package breaker

import (
	"time"

	"github.com/fusebox-project/fusebox/windows"
)

// Observe returns what a rule compares with its threshold, both in the units of the policy file, and how many outcomes
// its window holds, all as of the last outcome that it saw. An immediate rule compares nothing: 0, 1 and 0.
func (p *Policy) Observe(c *Counts, rule int) (observed, threshold float64, throughput int64) {
	r := &p.Rules[rule]
	if r.Type == Immediate {
		return 0, 1, 0
	}
	k := &p.counters[r.counter]
	throughput = c.live[k.slot].window.Count()
	if throughput == 0 && (r.Type == Ratio || r.Type == SlowRatio) {
		return 0, share(r.Threshold, milli), 0
	}
	observed, threshold = r.observed(k, c)
	return observed, threshold, throughput
}

// Advance moves all windows on to a time at which nothing came.
func (p *Policy) Advance(c *Counts, at time.Time) {
	for i := range p.counters {
		if k := &p.counters[i]; k.window > 0 {
			c.live[k.slot].window.Advance(at)
		}
	}
}

// Fires tells whether a rule would fire if an outcome that it sees and does not match left the counts as they are. An
// immediate rule never does.
func (p *Policy) Fires(c *Counts, rule int) bool {
	r := &p.Rules[rule]
	return r.Type != Immediate && r.fires(&p.counters[r.counter], c, Sighting{})
}

// Recent calls yield with what the widest window of the policy holds, oldest first: when, to the width of the window's
// cells, of which kind, and how many. It returns the window's length, as time or as outcomes; both are 0 where no rule
// has a window.
func (p *Policy) Recent(c *Counts, yield func(at time.Time, kind uint8, count int64)) (time.Duration, int64) {
	widest := p.widest()
	if widest == nil {
		return 0, 0
	}
	c.live[widest.slot].window.Times(func(at time.Time, x windows.Tally) { yield(at, x.Kind, x.Count) })
	return widest.window, widest.last
}

// Stretch is how a bad stretch came to trip a rule: what the rule saw from the oldest outcome that it matched on, and
// how much of that it matched.
type Stretch struct{ Outcomes, Bad int64 }

// Stretch returns the stretch that a rule has in its window, or its streak.
func (p *Policy) Stretch(c *Counts, rule int) Stretch {
	r := &p.Rules[rule]
	k := &p.counters[r.counter]
	if r.Type == Immediate {
		return Stretch{1, 1}
	}
	l := &c.live[k.slot]
	if r.Type == Consecutive {
		return Stretch{l.streak, l.streak}
	}
	seen, matched := l.window.Stretch()
	if r.Type != Sum {
		matched = l.window.Measure()
	}
	return Stretch{seen, matched}
}
