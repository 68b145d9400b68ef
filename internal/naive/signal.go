package naive

// claim handles a claim and says whether it was granted.
func (c *circuit) claim(at int64, want Claim, p *Policy, s settings) bool {
	if !p.live() || c.state != Open && c.state != Probing {
		return false
	}
	if l, ok := c.lease(want.Lease); ok {
		return l.Holder == want.Holder
	}
	switch {
	case c.used[want.Lease]:
		return false
	case want.Epoch != nil && *want.Epoch != c.epoch:
		return false
	case c.state == Open && at < *c.retryAt:
		return false
	case c.state == Probing && int64(len(c.leases)) >= s.concurrency:
		return false
	}
	if c.state == Open {
		c.halfOpen(at)
	}
	c.used[want.Lease] = true
	c.leases = append(c.leases, Lease{want.Lease, want.Holder, at + s.leaseFor})
	return true
}

// release frees a live lease without a verdict.
func (c *circuit) release(at int64, r Release, s settings) {
	if _, ok := c.lease(r.Lease); !ok {
		return
	}
	c.free(r.Lease)
	if !r.Unused {
		c.noVerdict(at, s)
	}
}

// override handles an operator's word.
func (c *circuit) override(at int64, o Override, live bool) {
	switch o.Mode {
	case "clear":
		if c.mode != "" {
			c.endOverride(at, live)
			c.transitions++
		}
	case "reset":
		c.close(at)
		c.mode, c.until = "", nil
		c.attempt, c.recovered = 0, nil
	default:
		c.change(at, forced[o.Mode])
		c.nextEpoch()
		c.retryAt, c.cause = nil, nil
		c.mode, c.until = o.Mode, nil
		if o.TTL != nil {
			until := at + *o.TTL
			c.until = &until
		}
		c.transitions++
	}
}

// reload brings new policies to a circuit, of which p and s are its own.
func (c *circuit) reload(at int64, all Policies, p *Policy, s settings) {
	kept := map[string]*window{}
	for _, r := range p.rules() {
		if w := c.windows[r.key(all, s)]; w != nil {
			kept[r.key(all, s)] = w
		}
	}
	c.windows = kept
	if !p.live() && (c.state == Open || c.state == Probing) {
		c.close(at)
	}
}
