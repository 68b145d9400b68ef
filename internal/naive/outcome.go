package naive

import "slices"

// outcome handles one outcome at a time of the clock and returns why it is not counted, or nothing.
func (c *circuit) outcome(at int64, o seenOutcome, p *Policy, s settings) string {
	again := c.remember(o.ID)
	switch {
	case !p.live() || c.state == Disabled:
		return "disabled"
	case again:
		return "duplicate"
	case o.Lease != "":
		if _, ok := c.lease(o.Lease); !ok {
			return "stale"
		}
		return c.probe(at, o, s)
	case c.state == ForcedOpen || c.state == Open && at < *c.retryAt:
		return "while_open"
	case c.state == Open || c.state == Probing:
		if !c.implicit(o, p, s) {
			return "while_open"
		}
		return c.probe(at, o, s)
	case o.Epoch != nil && *o.Epoch != c.epoch:
		return "stale"
	case o.Epoch == nil && c.changed != nil && o.started < *c.changed:
		return "stale"
	case p.late(o.t, at, s):
		return "late"
	case !slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.sees(o) }):
		return "neutral"
	}
	return ""
}

// implicit says whether an outcome without a lease is a probe's result.
func (c *circuit) implicit(o seenOutcome, p *Policy, s settings) bool {
	if o.started < *c.retryAt {
		return false
	}
	return !p.enforced() || s.implicit && o.Epoch == nil
}

// late says whether a time is older than the longest window of the policy's rules.
func (p *Policy) late(t, at int64, s settings) bool {
	var longest int64
	for _, r := range p.Rules {
		longest = max(longest, r.length(s))
	}
	return longest > 0 && t < at-longest
}

// probe handles the result of a probe, on a lease or without one.
func (c *circuit) probe(at int64, o seenOutcome, s settings) string {
	if o.role.Name == Neutral {
		if o.Lease != "" {
			c.free(o.Lease)
			c.noVerdict(at, s)
		}
		return "neutral"
	}
	if c.state == Open {
		c.halfOpen(at)
	}
	c.free(o.Lease)
	c.row = 0
	if o.role.Name == Success {
		c.successes++
		if c.successes >= s.successes {
			c.close(at)
			c.recovered = &at
		}
		return ""
	}
	c.failures++
	if c.failures >= s.failures {
		c.trip(at, cause{rule: "probe_failed"}, o.RetryAfterMS, s)
	}
	return ""
}

// count enters an outcome that is counted into the windows, and judges the rules that see it.
func (c *circuit) count(at int64, o seenOutcome, all Policies, p *Policy, s settings) {
	entered := map[string]bool{}
	for _, r := range p.Rules {
		key := r.key(all, s)
		if !r.sees(o) || entered[key] || r.Type == Immediate {
			continue
		}
		entered[key] = true
		if c.windows[key] == nil {
			c.windows[key] = &window{length: r.length(s), last: r.Last}
		}
		c.windows[key].add(at, r.tally(p, o))
	}
	if c.state == Closed {
		c.judge(at, o, all, p, s)
	}
}

// judge judges the rules in order. The first opening rule that fires opens the circuit.
func (c *circuit) judge(at int64, o seenOutcome, all Policies, p *Policy, s settings) {
	var first *cause
	for _, r := range p.Rules {
		if !r.sees(o) {
			continue
		}
		w := c.windows[r.key(all, s)]
		if r.Type == Immediate {
			w = &window{entries: []entry{r.tally(p, o)}}
		}
		j := r.judge(w, r.tally(p, o), s)
		if r.Action == "degrade" || !j.fires {
			c.flags[r.Name] = j.fires
		}
		if r.Action != "degrade" && j.fires && first == nil {
			first = &cause{r.Name, j.observed, j.throughput, byKind(w.entries), oldest(w.entries)}
		}
	}
	c.degraded = c.firstFlag(p)
	if first != nil {
		c.trip(at, *first, o.RetryAfterMS, s)
	}
}

// firstFlag forgets the flags of rules that are no more, and returns the first rule in order that has one.
func (c *circuit) firstFlag(p *Policy) string {
	kept, first := map[string]bool{}, ""
	for _, r := range p.Rules {
		if !c.flags[r.Name] {
			continue
		}
		kept[r.Name] = true
		if first == "" {
			first = r.Name
		}
	}
	c.flags = kept
	return first
}

func byKind(entries []entry) map[string]int64 {
	kinds := map[string]int64{}
	for _, e := range entries {
		kinds[e.kind] += e.count
	}
	return kinds
}

func oldest(entries []entry) *int64 {
	var first *int64
	for _, e := range entries {
		if e.matched && (first == nil || e.t < *first) {
			first = &e.t
		}
	}
	return first
}
