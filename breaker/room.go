package breaker

import (
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// Room is how much of one sort of outcome can come, one outcome after the other, without any rule firing on any of it.
// The zero value is none. The numbers are totals of what comes.
type Room struct{ Outcomes, CostMicros, InputTokens, OutputTokens, Tokens int64 }

// AllRoom is the room where no rule can fire. Nobody counts further than it goes.
var AllRoom = Room{schemas.MaxWhole, schemas.MaxWhole, schemas.MaxWhole, schemas.MaxWhole, schemas.MaxWhole}

// Room returns how many outcomes like o, a success of count 1, can come until the clock stands at `until` without any
// rule firing on one of them, provided that the counts have all that the rules have matched, and that nothing else
// comes meanwhile. So it makes no difference whether they come one by one, and the rules say no each time, or counted
// by one record, and the rules say no once. The counts may lag behind the clock, and may miss successes that nothing
// matched.
//
// A ratio falls with every success, so it fires on one that completes the minimum, on one that comes when older ones
// have left the window, or on none. Hence there is room only where the minimum is there without what leaves the window
// until then, and the ratio is below the threshold without it. There is none where rules have windows by number, which
// hold whole records, where a rule selects such successes by kind, and beside a shadow, which takes an outcome as one
// probe however many it counts while it is open.
func (p *Policy) Room(c *Counts, until time.Time, o *schemas.Outcome, kind uint8) Room {
	if !p.Enabled {
		return AllRoom
	}
	if p.Shadow != nil || p.roles[kind] != Success {
		return Room{}
	}
	room := AllRoom
	for i := range p.Rules {
		r := &p.Rules[i]
		k := &p.counters[r.counter]
		matches := k.tally(o, kind, Success, milli).Matched
		if !r.leaves(&room, k, c, until, matches) {
			return Room{}
		}
	}
	return room
}

// leaves takes from the room what the rule does not leave of it, and tells whether it leaves any.
func (r *Rule) leaves(room *Room, k *counter, c *Counts, until time.Time, matches bool) bool {
	if r.Last > 0 || matches && r.Type != SlowRatio && r.Type != Sum {
		return false
	}
	if r.Type == Immediate || r.Type == Consecutive {
		return true
	}
	w := &c.live[k.slot].window
	switch r.Type {
	case Count:
		return w.Measure() < r.Threshold
	case Ratio:
		n := w.Left(until)
		return n >= max(r.MinimumThroughput, 1) && !reaches(w.Weight(), 1, r.Threshold, n+1)
	case SlowRatio:
		n := w.Left(until)
		if n < max(r.MinimumThroughput, 1) || reaches(w.Measure(), milli, r.Threshold, n+1) {
			return false
		}
		if matches {
			room.Outcomes = min(room.Outcomes, slowRoom(w.Measure(), n, r.Threshold))
		}
		return room.Outcomes > 0
	}
	return r.leavesSum(room, w.Measure(), matches)
}

// slowRoom returns the greatest number j of slow outcomes for which (slow+j)/(n+j) is below the threshold, in
// thousandths, as slow/n is.
func slowRoom(slow, n, threshold int64) int64 {
	if threshold >= milli {
		return schemas.MaxWhole
	}
	n = min(n, schemas.MaxWhole/milli)
	return max(threshold*n-milli*slow-1, 0) / (milli - threshold)
}

// leavesSum is leaves for a sum.
func (r *Rule) leavesSum(room *Room, sum int64, matches bool) bool {
	most := r.Threshold - 1 // The greatest sum that does not fire.
	if r.Selector.Of != CostUSD {
		most = (r.Threshold+micro-1)/micro - 1
	}
	if sum > most {
		return false
	}
	if !matches {
		return true
	}
	left := &room.CostMicros
	switch r.Selector.Of {
	case InputTokens:
		left = &room.InputTokens
	case OutputTokens:
		left = &room.OutputTokens
	case Tokens:
		left = &room.Tokens
	}
	*left = min(*left, most-sum)
	return true
}
