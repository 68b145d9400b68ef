package schemas_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestAdmitsAlways compares with what Admission says of many states, at many times and for many calls.
func TestAdmitsAlways(t *testing.T) {
	t0 := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	always := 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		soon := func() time.Time { return t0.Add(time.Duration(1+rng.IntN(99)) * time.Second) }
		s := schemas.State{
			Circuit: "c", State: schemas.Phases[rng.IntN(len(schemas.Phases))], Enforced: rng.IntN(4) > 0,
			RetryAt: soon(), Probe: schemas.Probe{Concurrency: 1 + rng.IntN(2)},
		}
		for range rng.IntN(3) {
			s.Ramp = append(s.Ramp, schemas.RampStep{Share: 0, Until: soon()})
			s.Leases = append(s.Leases, schemas.Lease{ID: "l", ExpiresAt: soon()})
		}
		switch s.State {
		case schemas.ForcedOpen, schemas.ForcedClosed, schemas.Disabled:
			s.Override = &schemas.OverrideInForce{Until: soon(), Then: schemas.Phase(rng.IntN(2))}
			if rng.IntN(3) == 0 {
				s.Override.Until = time.Time{}
			}
		}
		admits := true
		for at := range 100 {
			derived := s.At(t0.Add(time.Duration(at) * time.Second))
			admission, _ := derived.Admission(t0.Add(time.Duration(at)*time.Second), "r", uint64(at))
			admits = admits && admission == schemas.Admits
		}
		if s.AdmitsAlways() != admits {
			t.Fatalf("seed %d: AdmitsAlways() = %v of %+v, which admits at all times: %v", seed, !admits, s, admits)
		}
		if admits {
			always++
		}
	}
	if always < 100 || always > 1900 {
		t.Errorf("%d of 2000 states admit always, want some of either", always)
	}
}
