package suggest

import (
	"cmp"
	"slices"
)

const (
	drills   = 100  // Moments of a recording from which on answers go bad, for a try.
	patience = 1000 // Outcomes after which a try has failed; never fewer than five windows.
)

// try finds out how soon the candidate notices changes.
func (c *Candidate) try(runs []run) {
	if c.Matching > c.Last {
		c.Half, c.All = Delay{never, never}, Delay{never, never}
	} else {
		c.Half, c.All = c.drill(runs, 2), c.drill(runs, 1)
	}
	c.Truth = c.known(runs)
}

// drill lets from moments all over the recording one good answer of so many go bad, and returns after how many outcomes
// that is noticed. What was recorded goes on behind its end with its beginning.
func (c *Candidate) drill(runs []run, oneOf uint64) Delay {
	var delays []int
	for _, x := range runs {
		if len(x.healthy) < 2*c.Last {
			continue
		}
		for i := range drills {
			start := c.Last + i*(len(x.healthy)-c.Last)/drills
			delays = append(delays, c.notice(x.healthy, start, oneOf))
		}
	}
	slices.SortFunc(delays, func(a, b int) int { return cmp.Compare(late(a), late(b)) })
	return Delay{delays[(len(delays)-1)*5/10], delays[(len(delays)-1)*9/10]}
}

// notice returns after how many outcomes a change at a place is noticed.
func (c *Candidate) notice(healthy []bool, start int, oneOf uint64) int {
	window := slices.Clone(healthy[start-c.Last : start])
	n := number(window)
	for i := range max(patience, 5*c.Last) {
		bad := healthy[(start+i)%len(healthy)] || scrambled(uint64(start), uint64(i))%oneOf == 0
		at := i % c.Last
		if window[at] {
			n--
		}
		if window[at] = bad; bad {
			n++
		}
		if n >= c.Matching {
			return i + 1
		}
	}
	return never
}

// scrambled returns a number that looks like chance and is the same each time (splitmix64).
func scrambled(a, b uint64) uint64 {
	x := a<<32 + b + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// known returns what the candidate would have made of the stretches that are known to be bad, nil without any.
func (c *Candidate) known(runs []run) *Found {
	var f Found
	for _, x := range runs {
		n, began, found := 0, -1, false
		end := func() {
			if began >= 0 && !found {
				f.Missed++
			}
			began, found = -1, false
		}
		for i, o := range x.whole {
			if o.bad {
				n++
			}
			if i >= c.Last && x.whole[i-c.Last].bad {
				n--
			}
			switch {
			case !o.known:
				end()
				continue
			case began < 0:
				began = i
				f.Stretches++
			}
			if !found && i >= c.Last-1 && n >= c.Matching {
				found = true
				f.Slowest = max(f.Slowest, i-began+1)
			}
		}
		end()
	}
	if f.Stretches == 0 {
		return nil
	}
	return &f
}
