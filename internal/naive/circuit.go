package naive

import (
	"cmp"
	"math/big"
	"slices"
)

// The states of a circuit.
const (
	Closed       = "closed"
	Open         = "open"
	Probing      = "half_open"
	ForcedOpen   = "forced_open"
	ForcedClosed = "forced_closed"
	Disabled     = "disabled"
)

// forced maps the mode of an override to the state that it brings.
var forced = map[string]string{"force_open": ForcedOpen, "force_closed": ForcedClosed, "disable": Disabled}

// mostIDs is how many different ids a circuit remembers, and inconclusive how many leases in a row may end without a
// verdict until the circuit opens again.
const (
	mostIDs      = 64
	inconclusive = 3
)

// circuit is everything that is known of one circuit.
type circuit struct {
	state          string
	epoch, attempt int64
	retryAt        *int64
	cause          *cause
	mode           string // Of the override, empty without one.
	until          *int64
	leases         []Lease
	used           map[string]bool // The lease ids granted in this epoch.
	successes      int64
	failures       int64
	row            int64
	recovered      *int64 // The last recovery.
	changed        *int64 // The last change.
	windows        map[string]*window
	flags          map[string]bool // The degrading rules whose latest judgement fired.
	degraded       string
	ids            []string
	lastRecord     int64
	transitions    int
}

// cause is why a circuit is not closed.
type cause struct {
	rule       string
	observed   *big.Rat
	throughput *int64
	byKind     map[string]int64
	since      *int64
}

func newCircuit(at int64) *circuit {
	c := &circuit{state: Closed, used: map[string]bool{}, lastRecord: at}
	c.empty()
	return c
}

func (c *circuit) empty() {
	c.windows, c.flags, c.degraded = map[string]*window{}, map[string]bool{}, ""
}

// change is what every change of state or override has in common.
func (c *circuit) change(at int64, state string) {
	c.state, c.changed = state, &at
	c.leases = nil
	c.successes, c.failures, c.row = 0, 0, 0
	c.empty()
}

func (c *circuit) nextEpoch() {
	c.epoch++
	c.used = map[string]bool{}
}

func (c *circuit) halfOpen(at int64) {
	c.change(at, Probing)
	c.transitions++
}

// close closes the circuit with a new epoch.
func (c *circuit) close(at int64) {
	c.change(at, Closed)
	c.nextEpoch()
	c.retryAt, c.cause = nil, nil
	c.transitions++
}

// trip opens the circuit with a new epoch, for the break of its next attempt.
func (c *circuit) trip(at int64, why cause, retryAfter int64, s settings) {
	healthy := c.state == Closed && c.recovered != nil && at-*c.recovered >= s.healthyAfter
	c.attempt++
	if healthy {
		c.attempt = 1
	}
	c.change(at, Open)
	c.nextEpoch()
	retryAt := at + s.breakFor(c.attempt, retryAfter)
	c.retryAt, c.cause = &retryAt, &why
	c.transitions++
}

// breakFor returns the break of an attempt: duration x backoff^(attempt-1), rounded once.
func (s settings) breakFor(attempt, retryAfter int64) int64 {
	length := big.NewRat(s.duration, 1)
	for range attempt - 1 {
		length.Mul(length, big.NewRat(s.backoff, 1_000))
		if length.Cmp(big.NewRat(s.max, 1)) >= 0 {
			return s.max
		}
	}
	return min(max(nearest(length), retryAfter), s.max)
}

// expire ends an override whose time is over, at its own end.
func (c *circuit) expire(at int64, live bool) {
	if c.until != nil && at >= *c.until {
		c.endOverride(*c.until, live)
	}
}

// endOverride ends the override at the given time. Nothing is counted as a transition here.
func (c *circuit) endOverride(at int64, live bool) {
	wasOpen := c.mode == "force_open"
	c.change(at, Closed)
	c.mode, c.until = "", nil
	if wasOpen && live {
		c.state, c.retryAt = Open, &at
	}
}

// reclaim ends the leases that have expired, in the order of their expiry, each without a verdict.
func (c *circuit) reclaim(at int64, s settings) {
	if c.state != Probing {
		return
	}
	expired := slices.Clone(c.leases)
	expired = slices.DeleteFunc(expired, func(l Lease) bool { return at < l.ExpiresAt })
	slices.SortStableFunc(expired, func(a, b Lease) int { return cmp.Compare(a.ExpiresAt, b.ExpiresAt) })
	for _, l := range expired {
		if c.state == Probing {
			c.free(l.ID)
			c.noVerdict(at, s)
		}
	}
}

func (c *circuit) free(lease string) {
	c.leases = slices.DeleteFunc(slices.Clone(c.leases), func(l Lease) bool { return l.ID == lease })
}

// noVerdict counts a lease that ended without a verdict; the third in a row opens the circuit.
func (c *circuit) noVerdict(at int64, s settings) {
	c.row++
	if c.row >= inconclusive {
		c.trip(at, cause{rule: "probes_inconclusive"}, 0, s)
	}
}

// lease returns a live lease, once the expired ones are reclaimed.
func (c *circuit) lease(id string) (Lease, bool) {
	i := slices.IndexFunc(c.leases, func(l Lease) bool { return l.ID == id })
	if i < 0 {
		return Lease{}, false
	}
	return c.leases[i], true
}

// remember says whether the id is among the newest different ones, and remembers it if it is not.
func (c *circuit) remember(id string) bool {
	if id == "" {
		return false
	}
	if slices.Contains(c.ids, id) {
		return true
	}
	c.ids = append(c.ids, id)
	c.ids = c.ids[max(0, len(c.ids)-mostIDs):]
	return false
}
