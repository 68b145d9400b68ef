package breaker

// Verdict is what the rules of a policy said of the counts after one outcome.
type Verdict struct {
	Opens int    // Index of the first opening rule that fired, or -1.
	Fired uint64 // A bit for each rule that fired, opening or degrading.
}

// Judge judges each rule that saw the outcome, in order. It notes in the counts which degrading rules fire.
func (p *Policy) Judge(c *Counts, s Sighting) Verdict {
	v := Verdict{Opens: -1}
	for i := range p.Rules {
		r := &p.Rules[i]
		if s.seen&(1<<r.counter) == 0 {
			continue
		}
		fires := r.fires(&p.counters[r.counter], c, s)
		if fires {
			v.Fired |= 1 << i
		}
		switch {
		case !fires:
			c.flags &^= 1 << i
		case r.Degrade:
			c.flags |= 1 << i
		case v.Opens < 0:
			v.Opens = i
		}
	}
	return v
}

// HasEnough tells whether a rule that saw the outcome has the minimum that it waits for.
func (p *Policy) HasEnough(c *Counts, s Sighting) bool {
	for i := range p.Rules {
		r := &p.Rules[i]
		if s.seen&(1<<r.counter) == 0 {
			continue
		}
		if r.MinimumThroughput == 0 || c.live[p.counters[r.counter].slot].window.Count() >= r.MinimumThroughput {
			return true
		}
	}
	return false
}

// fires compares what the rule counted with its threshold, in whole numbers.
func (r *Rule) fires(k *counter, c *Counts, s Sighting) bool {
	if r.Type == Immediate {
		return s.matched&(1<<r.counter) != 0
	}
	l := &c.live[k.slot]
	n := l.window.Count()
	switch r.Type {
	case Ratio:
		return n > 0 && n >= r.MinimumThroughput && reaches(l.window.Weight(), 1, r.Threshold, n)
	case SlowRatio:
		return n > 0 && n >= r.MinimumThroughput && reaches(l.window.Measure(), milli, r.Threshold, n)
	case Count:
		return l.window.Measure() >= r.Threshold
	case Consecutive:
		return l.streak >= r.Threshold
	case Sum:
		if r.Selector.Of == CostUSD {
			return l.window.Measure() >= r.Threshold
		}
		return reaches(l.window.Measure(), micro, r.Threshold, 1)
	}
	return false
}

// observed returns the number that is compared with the threshold, and the threshold, in the units of the policy file.
func (r *Rule) observed(k *counter, c *Counts) (observed, threshold float64) {
	if r.Type == Immediate {
		return 1, 1
	}
	l := &c.live[k.slot]
	switch r.Type {
	case Ratio:
		return share(l.window.Weight(), times(l.window.Count(), milli)), share(r.Threshold, milli)
	case SlowRatio:
		return share(l.window.Measure(), l.window.Count()), share(r.Threshold, milli)
	case Count:
		return float64(l.window.Measure()), float64(r.Threshold)
	case Consecutive:
		return float64(l.streak), float64(r.Threshold)
	}
	if r.Selector.Of == CostUSD {
		return share(l.window.Measure(), micro), share(r.Threshold, micro)
	}
	return float64(l.window.Measure()), share(r.Threshold, micro)
}
