package breaker

import (
	"github.com/cespare/xxhash/v2"

	"github.com/fusebox-project/fusebox/schemas"
)

// Published returns the breaker that a record shows which tells of a change. What records do not tell is left out: when
// it recovered last, save where the change is a recovery, and the ids of leases that were granted before in this epoch.
// At a change there are none.
func Published(s *schemas.State) Breaker {
	b := Breaker{
		Phase: s.State, Previous: s.Previous, Epoch: s.Epoch, Attempt: s.Attempt, ChangedAt: s.ChangedAt,
		RetryAt: s.RetryAt, Cause: s.Cause, Probe: s.Probe, Leases: s.Leases, Ramp: s.Ramp,
	}
	b.Probe.Concurrency = 0
	if Recovers(s) {
		b.Recovered = s.ChangedAt
	}
	if s.Override != nil {
		o := *s.Override
		o.Then = schemas.Closed
		b.Phase, b.Override = schemas.Closed, &o
	}
	for _, l := range s.Leases {
		b.used = append(b.used, xxhash.Sum64String(l.ID))
	}
	return b
}

// Recovers tells whether a record is that of a recovery: half-open to closed, by no operator and by no policy.
func Recovers(s *schemas.State) bool {
	return s.State == schemas.Closed && s.Previous == schemas.HalfOpen && s.Operator == nil && s.Trigger.Topic != ""
}
