package schemas

import (
	"strconv"
	"time"
)

// Admission is what a router does with a call.
type Admission uint8

// Admissions. The zero value is Admits: a circuit that nobody has heard of refuses nothing.
const (
	Admits  Admission = iota // The call goes through.
	Probes                   // Whoever gets a lease tests the route; who does not, comes back later.
	Refuses                  // The call does not go through.
)

// String returns the word in decision vectors.
func (a Admission) String() string { return [...]string{"admits", "probes", "refuses"}[a] }

// Admission returns what a router does with a call, and, where it refuses, when to come back: the zero time where that
// is when an operator says so. Router and call, which numbers the calls of a router, choose who passes a ramp. Call it
// on what At returned for the same time.
func (s *State) Admission(at time.Time, router string, call uint64) (Admission, time.Time) {
	switch {
	case !s.Enforced, s.State == ForcedClosed, s.State == Disabled:
		return Admits, time.Time{}
	case s.State == Closed:
		if len(s.Ramp) == 0 || s.share(router, call) < s.Ramp[0].Share {
			return Admits, time.Time{}
		}
		return Refuses, s.Ramp[0].Until
	case s.State == ForcedOpen:
		if s.Override == nil {
			return Refuses, time.Time{}
		}
		return Refuses, s.Override.Until
	case s.State == Open && at.Before(s.RetryAt):
		return Refuses, s.RetryAt
	case s.State == HalfOpen && len(s.Leases) >= s.Probe.Concurrency:
		return Refuses, s.firstExpiry()
	}
	return Probes, time.Time{}
}

// AdmitsAlways tells whether every call goes through until the next record, whatever the time: then Admission admits
// all that At returns. Call it on a record, or on what At returned.
func (s *State) AdmitsAlways() bool {
	switch {
	case !s.Enforced:
		return true
	case s.State == Closed:
		return len(s.Ramp) == 0
	case s.State == ForcedClosed, s.State == Disabled:
		return s.Override == nil || s.Override.Until.IsZero() || s.Override.Then != Open
	}
	return false
}

// firstExpiry returns when the first lease expires.
func (s *State) firstExpiry() time.Time {
	var first time.Time
	for i, l := range s.Leases {
		if i == 0 || l.ExpiresAt.Before(first) {
			first = l.ExpiresAt
		}
	}
	return first
}

// share places a call in [0, 1), by thousandths: FNV-1a (32 bits) of router, circuit, epoch and call, the numbers in
// decimal, with a byte 0 after each but the last, modulo 1000. So calls are admitted by their share, not routers.
func (s *State) share(router string, call uint64) float64 {
	var digits [20]byte
	h := uint32(2166136261)
	h = fnv(fnv(h, router), "\x00")
	h = fnv(fnv(h, s.Circuit), "\x00")
	h = fnv(fnv(h, strconv.AppendInt(digits[:0], s.Epoch, 10)), "\x00")
	h = fnv(h, strconv.AppendUint(digits[:0], call, 10))
	return float64(h%1000) / 1000
}

// fnv goes on with an FNV-1a hash.
func fnv[T string | []byte](h uint32, text T) uint32 {
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return h
}
