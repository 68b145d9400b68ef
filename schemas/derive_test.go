package schemas_test

import (
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

var noon = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

func TestStateAtTheEndOfAnOverride(t *testing.T) {
	until, before := noon.Add(time.Minute), noon.Add(time.Minute-time.Millisecond)
	var never time.Time
	forced := func(mode schemas.Mode, phase, then schemas.Phase) schemas.State {
		return schemas.State{
			State: phase, Previous: schemas.Closed, Epoch: 4, ChangedAt: noon,
			Override: &schemas.OverrideInForce{Mode: mode, Until: until, Then: then},
		}
	}
	tests := []struct {
		name  string
		state schemas.State
		at    time.Time
		want  schemas.Phase
		retry time.Time
	}{
		{
			"in force", forced(schemas.ForceOpen, schemas.ForcedOpen, schemas.Open),
			before, schemas.ForcedOpen, never,
		},
		{
			"forced open, at its end", forced(schemas.ForceOpen, schemas.ForcedOpen, schemas.Open),
			until, schemas.Open, until,
		},
		{
			"forced open without a policy", forced(schemas.ForceOpen, schemas.ForcedOpen, schemas.Closed),
			until, schemas.Closed, never,
		},
		{
			"forced closed", forced(schemas.ForceClosed, schemas.ForcedClosed, schemas.Closed),
			until, schemas.Closed, never,
		},
		{
			"disabled", forced(schemas.Disable, schemas.Disabled, schemas.Closed),
			until.Add(time.Hour), schemas.Closed, never,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.state.At(tt.at)
			if got.State != tt.want || !got.RetryAt.Equal(tt.retry) || got.Epoch != 4 {
				t.Errorf("At(%v) = %v, retry at %v, epoch %d, want %v, retry at %v, epoch 4",
					tt.at, got.State, got.RetryAt, got.Epoch, tt.want, tt.retry)
			}
			ended := tt.want != tt.state.State
			if ended != (got.Override == nil) || ended != got.ChangedAt.Equal(until) {
				t.Errorf("At(%v) has override %v, changed at %v; ended is %v",
					tt.at, got.Override, got.ChangedAt, ended)
			}
			if tt.state.Override == nil {
				t.Error("At changed the state it was asked of")
			}
		})
	}
}

func TestStateAtDropsWhatIsOver(t *testing.T) {
	s := schemas.State{
		State:  schemas.HalfOpen,
		Leases: []schemas.Lease{{ID: "dead", ExpiresAt: noon}, {ID: "live", ExpiresAt: noon.Add(time.Millisecond)}},
		Ramp:   []schemas.RampStep{{Share: 0.1, Until: noon}, {Share: 0.5, Until: noon.Add(time.Second)}},
	}
	got := s.At(noon)
	if len(got.Leases) != 1 || got.Leases[0].ID != "live" {
		t.Errorf("At(expiry of one lease).Leases = %v, want the other alone", got.Leases)
	}
	if len(got.Ramp) != 1 || got.Ramp[0].Share != 0.5 {
		t.Errorf("At(end of one step).Ramp = %v, want the other alone", got.Ramp)
	}
	if len(s.Leases) != 2 || s.Leases[0].ID != "dead" || s.Ramp[0].Share != 0.1 {
		t.Errorf("At changed the state it was asked of: %v %v", s.Leases, s.Ramp)
	}
}

func TestStateProbeDue(t *testing.T) {
	open := schemas.State{State: schemas.Open, RetryAt: noon}
	if open.ProbeDue(noon.Add(-time.Millisecond)) {
		t.Error("ProbeDue a millisecond before retry_at = true, want false")
	}
	if !open.ProbeDue(noon) {
		t.Error("ProbeDue at retry_at = false, want true")
	}
	closed := schemas.State{State: schemas.Closed}
	if closed.ProbeDue(noon) {
		t.Error("ProbeDue of a closed circuit = true, want false")
	}
}
