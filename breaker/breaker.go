package breaker

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/fusebox-project/fusebox/schemas"
)

// Breaker is the machine of one circuit: a value that changes only through its methods, each a row of the table in the
// specification. The zero value is closed at epoch 0. Methods that change it say how much: see Change.
//
// Causes, leases, ramps and overrides that it holds never change in place, so a copy of a Breaker is a Breaker of its
// own.
type Breaker struct {
	Phase     schemas.Phase // Closed, Open or HalfOpen: what holds where no override is in force.
	Previous  schemas.Phase // What State returned before the newest change.
	Epoch     int64
	Attempt   int
	ChangedAt time.Time // The zero time where it never changed.
	RetryAt   time.Time // The zero time where none is set.
	Recovered time.Time // The last recovery; the zero time where there was none.
	Cause     *schemas.Cause
	Probe     schemas.Probe // Concurrency stays 0: it is the policy's.
	Leases    []schemas.Lease
	Ramp      []schemas.RampStep
	Override  *schemas.OverrideInForce // Nil where there is none.

	used []uint64 // Hashes of the lease ids granted in this epoch.
}

// Change tells how much a method changed.
type Change uint8

// Changes. A Moved circuit is in another state or under another override: its counts have to be emptied.
const (
	Same    Change = iota // Nothing changed.
	Touched               // Something that is published changed.
	Moved                 // State or override changed, and all leases are void.
)

// InconclusiveLimit is how many leases in a row without a verdict open a circuit again.
const InconclusiveLimit = 3

// usedLimit is how many lease ids are remembered within an epoch; the oldest go first.
const usedLimit = 1024

// State returns the state that is published: the override's where one is in force.
func (b *Breaker) State() schemas.Phase {
	if b.Override == nil {
		return b.Phase
	}
	switch b.Override.Mode {
	case schemas.ForceOpen:
		return schemas.ForcedOpen
	case schemas.ForceClosed:
		return schemas.ForcedClosed
	case schemas.Disable:
		return schemas.Disabled
	}
	return b.Phase
}

// Expire ends an override whose time has come, at its own end.
func (b *Breaker) Expire(at time.Time, p *Policy) Change {
	if o := b.Override; o != nil && !o.Until.IsZero() && !at.Before(o.Until) {
		return b.endOverride(o.Until, p)
	}
	return Same
}

// Decree puts an operator's word in force.
func (b *Breaker) Decree(at time.Time, s *schemas.Signal, p *Policy) Change {
	switch s.Mode {
	case schemas.Clear:
		if b.Override == nil {
			return Same
		}
		return b.endOverride(at, p)
	case schemas.Reset:
		b.move(at, schemas.Closed, nil)
		b.Attempt, b.Recovered = 0, time.Time{}
	default:
		o := &schemas.OverrideInForce{Mode: s.Mode, Actor: s.Actor, Reason: s.Reason}
		if s.TTL > 0 {
			o.Until = at.Add(s.TTL)
		}
		b.move(at, schemas.Closed, o)
	}
	b.Epoch++
	b.used = nil
	return Moved
}

// Then returns what the circuit is once the override in force has ended.
func (b *Breaker) Then(p *Policy) schemas.Phase {
	if b.Override.Mode == schemas.ForceOpen && p.Enabled {
		return schemas.Open
	}
	return schemas.Closed
}

func (b *Breaker) endOverride(at time.Time, p *Policy) Change {
	b.move(at, b.Then(p), nil)
	if b.Phase == schemas.Open {
		b.RetryAt = at
	}
	return Moved
}

// move changes state and override, and clears what does not outlive a change.
func (b *Breaker) move(at time.Time, to schemas.Phase, o *schemas.OverrideInForce) {
	b.Previous = b.State()
	b.Phase, b.Override, b.ChangedAt = to, o, at
	b.RetryAt, b.Cause, b.Leases, b.Ramp, b.Probe = time.Time{}, nil, nil, nil, schemas.Probe{}
}

// Disable closes a circuit that is open or half-open, because its policy is off or gone.
func (b *Breaker) Disable(at time.Time) Change {
	if b.Override != nil || b.Phase == schemas.Closed {
		return Same
	}
	b.move(at, schemas.Closed, nil)
	b.Epoch++
	b.used = nil
	return Moved
}

// Trip opens a closed circuit.
func (b *Breaker) Trip(at time.Time, circuit string, p *Policy, cause *schemas.Cause, retryAfterMS int64) Change {
	if b.Attempt == 0 || !b.Recovered.IsZero() && at.Sub(b.Recovered) >= p.Break.HealthyAfter {
		b.Attempt = 0
	}
	return b.open(at, circuit, p, cause, retryAfterMS)
}

func (b *Breaker) open(at time.Time, circuit string, p *Policy, cause *schemas.Cause, retryAfterMS int64) Change {
	b.move(at, schemas.Open, nil)
	b.Attempt++
	b.Epoch++
	b.used = nil
	b.Cause = cause
	b.RetryAt = at.Add(p.Break.length(circuit, b.Attempt, b.Epoch, retryAfterMS))
	return Moved
}

// Due tells whether a probe may be sent: the circuit is half-open, or open and its break has ended.
func (b *Breaker) Due(at time.Time) bool {
	return b.Override == nil &&
		(b.Phase == schemas.HalfOpen || b.Phase == schemas.Open && !at.Before(b.RetryAt))
}

// Claim answers a claim for a probe.
func (b *Breaker) Claim(at time.Time, s *schemas.Signal, p *Policy) (granted bool, c Change) {
	if !b.Due(at) || !p.Enabled {
		return false, Same
	}
	if i := b.lease(s.Lease); i >= 0 {
		return b.Leases[i].Holder == s.Holder, Same
	}
	if s.HasEpoch && s.Epoch != b.Epoch {
		return false, Same
	}
	id := xxhash.Sum64String(s.Lease)
	if slices.Contains(b.used, id) || len(b.Leases) >= p.HalfOpen.Concurrency {
		return false, Same
	}
	c = b.HalfOpen(at)
	lease := schemas.Lease{ID: s.Lease, Holder: s.Holder, ExpiresAt: at.Add(p.HalfOpen.Lease)}
	b.Leases = append(slices.Clip(b.Leases), lease)
	b.used = append(slices.Clip(b.used[max(0, len(b.used)+1-usedLimit):]), id)
	return true, max(c, Touched)
}

// HalfOpen makes an open circuit half-open, in the same epoch.
func (b *Breaker) HalfOpen(at time.Time) Change {
	if b.Phase == schemas.HalfOpen {
		return Same
	}
	retryAt, cause := b.RetryAt, b.Cause
	b.move(at, schemas.HalfOpen, nil)
	b.RetryAt, b.Cause = retryAt, cause
	return Moved
}

// Live tells whether a lease is live. Expired ones have to be reclaimed first.
func (b *Breaker) Live(id string) bool { return b.lease(id) >= 0 }

func (b *Breaker) lease(id string) int {
	return slices.IndexFunc(b.Leases, func(l schemas.Lease) bool { return l.ID == id })
}

// free takes a lease back. Its id stays used.
func (b *Breaker) free(id string) {
	if i := b.lease(id); i >= 0 {
		b.Leases = slices.Concat(b.Leases[:i], b.Leases[i+1:])
	}
}

// Expired returns the live lease that expired first, if one has.
func (b *Breaker) Expired(at time.Time) (id string, ok bool) {
	first := time.Time{}
	for _, l := range b.Leases {
		if !at.Before(l.ExpiresAt) && (!ok || l.ExpiresAt.Before(first)) {
			id, first, ok = l.ID, l.ExpiresAt, true
		}
	}
	return id, ok
}

// Unused frees a lease whose call was never made.
func (b *Breaker) Unused(id string) Change {
	b.free(id)
	return Touched
}

// Inconclusive frees a lease that ended without a verdict. The third in a row opens the circuit again, for that cause.
func (b *Breaker) Inconclusive(at time.Time, circuit string, p *Policy, id string, cause *schemas.Cause) Change {
	b.free(id)
	b.Probe.Inconclusive++
	if b.Probe.Inconclusive < InconclusiveLimit {
		return Touched
	}
	return b.open(at, circuit, p, cause, 0)
}

// Succeeded counts a probe's success. An empty id is a probe without a lease.
func (b *Breaker) Succeeded(at time.Time, p *Policy, id string) Change {
	b.free(id)
	b.Probe.Successes++
	b.Probe.Inconclusive = 0
	if b.Probe.Successes < p.HalfOpen.Successes {
		return Touched
	}
	b.move(at, schemas.Closed, nil)
	b.Epoch++
	b.used = nil
	b.Recovered = at
	until := at
	for _, step := range p.Ramp {
		until = until.Add(step.For)
		b.Ramp = append(b.Ramp, schemas.RampStep{Share: share(step.ShareMilli, milli), Until: until})
	}
	return Moved
}

// Failed counts a probe's failure. An empty id is a probe without a lease. Where it was the last that the policy allows
// it opens the circuit again, for that cause.
func (b *Breaker) Failed(
	at time.Time, circuit string, p *Policy, id string, cause *schemas.Cause, retryMS int64,
) Change {
	b.free(id)
	b.Probe.Failures++
	b.Probe.Inconclusive = 0
	if b.Probe.Failures < p.HalfOpen.Failures {
		return Touched
	}
	return b.open(at, circuit, p, cause, retryMS)
}
