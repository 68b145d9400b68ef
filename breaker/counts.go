package breaker

import (
	"time"

	"github.com/fusebox-project/fusebox/schemas"
	"github.com/fusebox-project/fusebox/windows"
)

// Counts are what the rules of a policy have counted for one circuit: windows, streaks, evidence, and whether it is
// degraded. They belong to one policy: see Rebind. The zero value is unusable: see NewCounts.
type Counts struct {
	Degraded *schemas.Cause // Nil where not degraded. It never changes once set.

	live     []live
	flags    uint64   // A bit for each rule that degraded when it was last judged.
	lost     []string // Names of such rules that a reload took away; the next counted outcome forgets them.
	declared []uint8  // Declared kinds counted since the counts were empty.
	evidence evidence
}

// live is what one counter has counted.
type live struct {
	window windows.Window
	streak int64
	since  int64 // Unix milliseconds: when the streak began.
	byKind []windows.Tally
}

// Sighting tells which counters of a policy saw an outcome, and which it matched.
type Sighting struct{ seen, matched uint64 }

// Seen tells whether any rule saw the outcome.
func (s Sighting) Seen() bool { return s.seen != 0 }

// NewCounts returns empty counts for a policy.
func NewCounts(p *Policy) Counts {
	c := Counts{}
	c.bind(p)
	return c
}

// bind makes room for a policy's counters, all of them empty.
func (c *Counts) bind(p *Policy) {
	c.live = make([]live, p.slots)
	for i := range p.counters {
		k := &p.counters[i]
		switch {
		case k.last > 0:
			c.live[k.slot].window = windows.NewLast(k.last)
		case k.window > 0:
			c.live[k.slot].window = windows.New(k.window)
		}
	}
	c.evidence.bind(p.slots)
}

// Clear empties the counts.
func (c *Counts) Clear() {
	for i := range c.live {
		l := &c.live[i]
		l.window.Clear()
		l.endStreak()
	}
	c.evidence.clear()
	c.Degraded, c.flags, c.lost, c.declared = nil, 0, nil, c.declared[:0]
}

// Sees tells whether any rule of the policy sees outcomes of a kind.
func (p *Policy) Sees(kind uint8) bool {
	role := p.roles[kind]
	for i := range p.counters {
		if p.counters[i].sees(kind, role) {
			return true
		}
	}
	return false
}

// Role returns what a kind is evidence of.
func (p *Policy) Role(kind uint8) Role { return p.roles[kind] }

// Add counts an outcome of time t, when the clock stands at `at`, with every counter of the policy that sees it. The
// offset is the outcome's, for the evidence.
func (p *Policy) Add(c *Counts, at, t time.Time, o *schemas.Outcome, kind uint8, offset int64) Sighting {
	role, weight := p.roles[kind], int64(milli)
	if role == Failure {
		weight = p.weights[kind][o.Severity][o.Evaluator.Type]
	}
	c.declare(kind)
	s, kept := Sighting{}, uint64(0)
	for i := range p.counters {
		k := &p.counters[i]
		if !k.sees(kind, role) {
			continue
		}
		x := k.tally(o, kind, role, weight)
		s.seen |= 1 << i
		if x.Matched {
			s.matched |= 1 << i
		}
		switch k.kind {
		case Immediate:
			continue
		case Consecutive:
			c.addToStreak(k.slot, t, x)
		default:
			w := &c.live[k.slot].window
			if w.Add(at, t, x); x.Matched && k.last == 0 && !w.Holds(t) {
				continue // Too old for this window: no evidence in it either.
			}
		}
		if x.Matched {
			kept |= 1 << k.slot
		}
	}
	if kept != 0 {
		c.evidence.add(kept, t, o, kind, offset)
	}
	return s
}

// declare notes that a declared kind has been counted.
func (c *Counts) declare(kind uint8) {
	if kind < firstDeclared {
		return
	}
	for _, k := range c.declared {
		if k == kind {
			return
		}
	}
	c.declared = append(c.declared, kind)
}

func (c *Counts) addToStreak(slot int, t time.Time, x windows.Tally) {
	l := &c.live[slot]
	if !x.Matched {
		if l.streak > 0 {
			c.evidence.unmatch(slot)
		}
		l.endStreak()
		return
	}
	if l.streak == 0 {
		l.since = t.UnixMilli()
	}
	l.since = min(l.since, t.UnixMilli())
	if l.streak += x.Count; l.streak < 0 {
		l.streak = 1<<63 - 1
	}
	l.addByKind(x)
}

func (l *live) addByKind(x windows.Tally) {
	for i := range l.byKind {
		if l.byKind[i].Kind == x.Kind {
			l.byKind[i].Count += x.Count
			l.byKind[i].Weight += x.Weight
			return
		}
	}
	l.byKind = append(l.byKind, x)
}

func (l *live) endStreak() { l.streak, l.since, l.byKind = 0, 0, l.byKind[:0] }
