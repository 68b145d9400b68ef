//go:build synctests

package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestLife goes once around: closed, open, refused, probed by one call, closed again.
func TestLife(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		if s := g.State(circuit); s.Known || s.State.State != schemas.Closed || s.Epoch != 0 || !s.Enforced {
			t.Errorf("State of an unknown circuit = %+v, want closed at epoch 0", s)
		}
		w.trip(g, circuit)
		refused := w.refused(g, circuit)
		if refused.State != schemas.Open || refused.Cause == nil || refused.Cause.Rule != "row" ||
			refused.RetryAfter <= 29*time.Second || refused.RetryAfter > 30*time.Second {
			t.Errorf("refused by %+v, want the rule row and about 30s", refused)
		}
		if s := g.State(circuit); s.RetryAfter != refused.RetryAfter || s.Epoch != 1 {
			t.Errorf("State = epoch %d, retry after %v, want 1 and %v", s.Epoch, s.RetryAfter, refused.RetryAfter)
		}
		time.Sleep(refused.RetryAfter)
		began := time.Now()
		lease := w.enter(g, circuit)
		if took := time.Since(began); took > 300*time.Millisecond {
			t.Errorf("the lease came after %v, want it as soon as it was granted", took)
		}
		if lease.ID() == "" || lease.Epoch() != 1 || time.Until(lease.Deadline()) > 20*time.Second {
			t.Errorf("a probe's lease: id %q, epoch %d, until %v", lease.ID(), lease.Epoch(), lease.Deadline())
		}
		if again := w.refused(g, circuit); again.State != schemas.HalfOpen || again.RetryAfter > 20*time.Second {
			t.Errorf("beside a probe: %+v, want half open, at most the lease time", again)
		}
		if err := lease.Report(client.Outcome{Kind: client.Accepted}); err != nil {
			t.Errorf("Report: %v", err)
		}
		if s := w.becomes(g, circuit, schemas.Closed); s.Epoch != 2 {
			t.Errorf("closed again at epoch %d, want 2", s.Epoch)
		}
		if err := lease.Report(client.Outcome{Kind: client.MissingEvidence}); !errors.Is(err, client.ErrReported) {
			t.Errorf("a second Report = %v, want ErrReported", err)
		}
		w.report(g, circuit, client.Accepted)
		if p := g.Policies(); p == nil || p.Version != w.policies.Version {
			t.Errorf("Policies = %v, want those in force", p)
		}
		if routes := g.Routes(); len(routes) != 1 || routes[0].Otherwise != "human-review" {
			t.Errorf("Routes = %+v, want those of the policies in force", routes)
		}
	})
}

// TestRows enters circuits in every state that admits or refuses without a probe, and again a minute later.
func TestRows(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		until := time.Now().Add(30 * time.Second)
		why := &schemas.Cause{Rule: "row", Type: "consecutive", Kind: client.MissingEvidence}
		word := func(mode schemas.Mode, until time.Time, then schemas.Phase) *schemas.OverrideInForce {
			return &schemas.OverrideInForce{Mode: mode, Actor: "ann", Until: until, Then: then}
		}
		never := time.Time{}
		rows := []struct {
			name       string
			state      schemas.State
			now, later bool // Admitted.
			wait       time.Duration
			operator   bool // The refusal names the operator.
		}{
			{"closed", schemas.State{}, true, true, 0, false},
			{"degraded", schemas.State{Degraded: why}, true, true, 0, false},
			{"disabled", schemas.State{
				State: schemas.Disabled, Override: word(schemas.Disable, until, schemas.Closed),
			}, true, true, 0, false},
			{"forced closed", schemas.State{
				State: schemas.ForcedClosed, Override: word(schemas.ForceClosed, never, schemas.Closed),
			}, true, true, 0, false},
			{"open", schemas.State{
				State: schemas.Open, RetryAt: until.Add(time.Hour), Cause: why,
			}, false, false, time.Hour + 30*time.Second, false},
			{"half open and full", schemas.State{State: schemas.HalfOpen, Leases: []schemas.Lease{
				{ID: "a", Holder: "other", ExpiresAt: until.Add(time.Hour)},
			}}, false, false, time.Hour + 30*time.Second, false},
			{"forced open", schemas.State{
				State: schemas.ForcedOpen, Override: word(schemas.ForceOpen, never, schemas.Open),
			}, false, false, 0, true},
			{"forced open for a while", schemas.State{
				State: schemas.ForcedOpen, Override: word(schemas.ForceOpen, until, schemas.Closed),
			}, false, true, 30 * time.Second, true},
			{"on a ramp", schemas.State{Ramp: []schemas.RampStep{{Share: 0, Until: until}}},
				false, true, 30 * time.Second, false},
		}
		for _, row := range rows {
			row.state.Circuit, row.state.Epoch, row.state.Enforced = row.name, 7, true
			unenforced := row.state
			unenforced.Circuit, unenforced.Enforced = row.name+", not enforced", false
			w.put(row.state, unenforced)
		}
		w.until("all are known", func() bool { return g.Stats().Circuits == 2*len(rows) })
		for _, row := range rows {
			check(t, g, row.name, row.now, row.wait, row.operator)
			check(t, g, row.name+", not enforced", true, 0, false)
		}
		time.Sleep(time.Minute)
		for _, row := range rows {
			check(t, g, row.name, row.later, max(0, row.wait-time.Minute), row.operator)
			check(t, g, row.name+", not enforced", true, 0, false)
		}
	})
}

// check enters a circuit that is at epoch 7.
func check(t *testing.T, g *client.Gate, name string, admitted bool, wait time.Duration, operator bool) {
	t.Helper()
	lease, err := g.Enter(t.Context(), name)
	var refused *client.RefusedError
	errors.As(err, &refused)
	switch {
	case (err == nil) != admitted:
		t.Errorf("Enter(%s) = %v, want it admitted %v", name, err, admitted)
	case admitted && (lease.Epoch() != 7 || lease.ID() != "" || g.State(name).RetryAfter != 0):
		t.Errorf("%s is entered at epoch %d, lease %q, want 7 and no lease", name, lease.Epoch(), lease.ID())
	case !admitted && (refused == nil || refused.RetryAfter > wait || refused.RetryAfter < wait-2*time.Second):
		t.Errorf("Enter(%s) = %#v, want to come back in %v", name, refused, wait)
	case !admitted && (refused.Override != nil) != operator:
		t.Errorf("Enter(%s) = %v, want the operator named %v", name, refused, operator)
	}
}

// TestRampTakesItsShare makes many calls while a circuit recovers.
func TestRampTakesItsShare(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		w.put(schemas.State{Circuit: circuit, Epoch: 2, Enforced: true, Ramp: []schemas.RampStep{
			{Share: 0.1, Until: time.Now().Add(10 * time.Second)},
			{Share: 0.5, Until: time.Now().Add(20 * time.Second)},
		}})
		w.until("the ramp is known", func() bool { return g.State(circuit).Known })
		for _, want := range []int{100, 500, 1000} {
			admitted := 0
			for range 1000 {
				lease, err := g.Enter(t.Context(), circuit)
				var refused *client.RefusedError
				switch {
				case err == nil && lease.Epoch() == 2:
					admitted++
				case !errors.As(err, &refused) || !refused.Ramp || refused.RetryAfter > 10*time.Second:
					t.Fatalf("Enter on a ramp = %#v, want it refused until the next step", err)
				}
			}
			if admitted < want*7/10 || admitted > want*13/10 {
				t.Errorf("%d of 1000 calls admitted, want about %d", admitted, want)
			}
			time.Sleep(10 * time.Second)
		}
	})
}
