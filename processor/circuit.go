package processor

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// circuit is all that is known of one circuit in one life.
type circuit struct {
	name   string
	regime Regime          // Under which it was last touched.
	policy *breaker.Policy // By which it is judged; always one of the regime's.

	breaker    breaker.Breaker
	counts     breaker.Counts
	recent     recent
	notCounted schemas.NotCounted // Since the last change.

	born      time.Time
	last      time.Time // When its last record came.
	sequence  int64
	inputs    schemas.Inputs // As of its last record.
	forgotten bool           // By the sweep: nothing is left of it but to say so.

	unshown bool    // What the newest record says of the shadow is no longer so.
	shadow  *Shadow // Nil where no policy judges beside.
}

// newCircuit returns a circuit that begins its life.
func newCircuit(name string, under Regime, at time.Time) *circuit {
	policy := under.Policies.For(name)
	c := &circuit{name: name, regime: under, policy: policy, counts: breaker.NewCounts(policy), born: at}
	c.bindShadow(at)
	return c
}

func (c *circuit) policies() *breaker.Policies { return c.regime.Policies }

// rebind brings the circuit, and its shadow, under a later regime when the clock stands at `at`.
func (c *circuit) rebind(to Regime, at time.Time) {
	policy := to.Policies.For(c.name)
	c.judgeBy(to, policy)
	if by := policy.Shadow; by != nil && c.shadow != nil && c.shadow.policy.Name == by.Name {
		c.shadow.judgeBy(to, by)
	}
	c.bindShadow(at)
}

// judgeBy puts a policy of a later regime in force. What has been counted stays where it still counts.
func (c *circuit) judgeBy(to Regime, policy *breaker.Policy) {
	if to.Policies != c.regime.Policies {
		c.counts = c.counts.Rebind(c.regime.Policies, c.policy, to.Policies, policy)
	}
	c.regime, c.policy = to, policy
}

// idle tells whether the circuit is forgotten when its next record comes at that time.
func (c *circuit) idle(at time.Time, after time.Duration) bool {
	return !at.Before(c.last.Add(after)) && c.breaker.Phase == schemas.Closed &&
		c.breaker.Override == nil && c.counts.Degraded == nil
}

// state returns the record of the circuit as it is.
func (c *circuit) state() schemas.State {
	b := &c.breaker
	s := schemas.State{
		Circuit: c.name, State: b.State(), Previous: b.Previous, Epoch: b.Epoch, Sequence: c.sequence, Born: c.born,
		ChangedAt: b.ChangedAt, RetryAt: b.RetryAt, Enforced: c.policy.Enforce, Attempt: b.Attempt, Cause: b.Cause,
		Degraded: c.counts.Degraded, Leases: b.Leases, Probe: b.Probe, Ramp: b.Ramp,
		Policy: c.policy.Name, PolicyVersion: c.regime.Policies.Version, Inputs: c.inputs,
	}
	s.Probe.Concurrency = c.policy.HalfOpen.Concurrency
	if b.Override != nil {
		o := *b.Override
		o.Then = b.Then(c.policy)
		s.Override = &o
	}
	if c.shadow != nil {
		s.Shadow = c.shadow.summary()
	}
	return s
}

// recentIDs is how many different ids a circuit remembers.
const recentIDs = 64

// recent are the hashes of the newest ids, oldest at next once all places are taken.
type recent struct {
	ids  []uint64
	next uint8
}

// seen tells whether an id is among the newest, and remembers it where it is not. An empty id is nobody's.
func (r *recent) seen(id string) bool {
	if id == "" {
		return false
	}
	h := xxhash.Sum64String(id)
	if r.has(h) {
		return true
	}
	if len(r.ids) < recentIDs {
		if len(r.ids) == cap(r.ids) { // Eight more, not twice as many: most circuits are small.
			r.ids = append(make([]uint64, 0, len(r.ids)+8), r.ids...)
		}
		r.ids = append(r.ids, h)
		return false
	}
	r.ids[r.next] = h
	r.next = (r.next + 1) % recentIDs
	return false
}

// has looks at eight ids at a time, as nearly every look is in vain: half the time of one by one in BenchmarkStep.
func (r *recent) has(h uint64) bool {
	ids := r.ids
	for ; len(ids) >= 8; ids = ids[8:] {
		if ids[0] == h || ids[1] == h || ids[2] == h || ids[3] == h ||
			ids[4] == h || ids[5] == h || ids[6] == h || ids[7] == h {
			return true
		}
	}
	return slices.Contains(ids, h)
}
