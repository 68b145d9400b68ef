package suggest

import (
	"math"
	"slices"
)

const (
	fifths     = 5     // Into so many parts a recording is cut to see whether it is all of one kind.
	fewInPart  = 30    // Fewer outcomes than this tell nothing by themselves.
	unlikely   = 0.01  // Parts that differ by more than chance does once in a hundred times are taken to differ.
	sure       = 1.645 // Deviations of a bound that is too low once in 20 times,
	ratherSure = 1.3   // and once in 10.
)

// Level is how much of what a rule sees is bad while all is well.
type Level struct {
	Share  float64 `json:"share"`  // Of the whole stretch.
	Steady bool    `json:"steady"` // Its fifths differ no more than by chance.
	Worst  float64 `json:"worst"`  // The share to go by: that of the whole, or of the worst fifth where they differ.
	Of     int     `json:"of"`     // How many outcomes that is a share of.
	parts  [][]bool
}

// levelOf finds the level of a healthy stretch, which is not empty.
func levelOf(bad []bool) Level {
	l := Level{Share: share(bad), Steady: true, Of: len(bad), parts: [][]bool{bad}}
	l.Worst = l.Share
	size := len(bad) / fifths
	if size < fewInPart || l.Share == 0 || l.Share == 1 {
		return l
	}
	var parts [][]bool
	excess, worst := 0.0, 0.0
	for part := range slices.Chunk(bad[:size*fifths], size) {
		parts = append(parts, part)
		of := share(part)
		excess += float64(size) * (of - l.Share) * (of - l.Share) / (l.Share * (1 - l.Share))
		worst = max(worst, of)
	}
	// The chance of that much or more: the tail of chi-square with four degrees of freedom.
	if math.Exp(-excess/2)*(1+excess/2) < unlikely {
		l.Steady, l.Worst, l.Of, l.parts = false, worst, size, parts
	}
	return l
}

func share(bad []bool) float64 { return float64(number(bad)) / float64(len(bad)) }

func number(bad []bool) int {
	n := 0
	for _, b := range bad {
		if b {
			n++
		}
	}
	return n
}

// windows calls do with how many are bad in each window of so many outcomes.
func windows(bad []bool, last int, do func(bad int)) {
	n := 0
	for i, b := range bad {
		if b {
			n++
		}
		if i >= last && bad[i-last] {
			n--
		}
		if i >= last-1 {
			do(n)
		}
	}
}

// streaks tells how many times as wide the windows spread as they would if each outcome was bad or good by itself: so
// many outcomes tell as much as one. Of parts that differ it is what the middle one says, as a change within a part
// looks like a streak. It is 1 where it is no more than so few windows spread by chance: as the longest of many windows
// is gone by, what chance does to one of them would else pass for a streak.
func (l *Level) streaks(last int) float64 {
	all := make([]float64, 0, fifths)
	for _, part := range l.parts {
		all = append(all, streaksIn(part, last))
	}
	slices.Sort(all)
	middle, chance := all[len(all)/2], math.Sqrt(2*float64(last)/float64(len(l.parts[0])))
	if middle < 1+sure*chance {
		return 1
	}
	return middle
}

func streaksIn(bad []bool, last int) float64 {
	of := share(bad)
	if len(bad) <= last || of == 0 || of == 1 {
		return 1
	}
	sum, squares, n := 0.0, 0.0, 0.0
	windows(bad, last, func(bad int) {
		sum, squares, n = sum+float64(bad), squares+float64(bad*bad), n+1
	})
	// Windows that overlap spread about the mean of their own stretch, and so a little too little.
	own := 1 - float64(last)/float64(len(bad))
	return (squares/n - sum*sum/n/n) / own / (float64(last) * of * (1 - of))
}

// upper returns the share that can lie behind the level, given how much the outcomes tell.
func (l *Level) upper(streaks float64) float64 { return wilson(l.Worst, float64(l.Of)/streaks, sure) }

// wilson returns the share that can lie behind one that was found in so many (Wilson's bound, 95 %).
func wilson(p, n, z float64) float64 {
	return (p + z*z/(2*n) + z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))) / (1 + z*z/n)
}

// together returns the share of bad outcomes that can lie behind what was found after bad ones: as few were seen, it is
// far above what was found.
func (l *Level) together(alike float64) float64 {
	found := l.Worst + alike*(1-l.Worst)
	return wilson(found, max(l.Worst*float64(l.Of), leastMatching), ratherSure)
}

// alike tells how much more likely an outcome is to be bad after a bad one than after a good one, if that is what makes
// windows spread so many times as wide.
func alike(last int, streaks float64) float64 {
	n := float64(last)
	low, high := 0.0, 0.999
	for range 40 {
		r := (low + high) / 2
		if (1+r)/(1-r)-2*r*(1-math.Pow(r, n))/(n*(1-r)*(1-r)) < streaks {
			low = r
		} else {
			high = r
		}
	}
	return low
}

// chances returns by number the chance that so many of the last outcomes are bad, or more, where each is bad with a
// probability, and with another one after one that was bad.
func chances(last int, probability, afterBad float64) []float64 {
	afterBad = max(afterBad, probability)
	afterGood := probability * (1 - afterBad) / (1 - probability)
	good, bad := make([]float64, last+2), make([]float64, last+2) // By how many were bad, and how the last one was.
	good[0], bad[1] = 1-probability, probability
	for range last - 1 {
		for k := last; k >= 0; k-- {
			wasGood, wasBad := good[k], bad[k]
			good[k] = wasGood*(1-afterGood) + wasBad*(1-afterBad)
			bad[k+1] = wasGood*afterGood + wasBad*afterBad
		}
		bad[0] = 0
	}
	tail := 0.0
	for k := last; k >= 0; k-- {
		tail += good[k] + bad[k]
		good[k] = tail
	}
	return good[:last+1]
}
