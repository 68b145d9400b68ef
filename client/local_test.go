package client_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

const gpt = "extraction:gpt:v4"

// contract is what a breaker of one process usually promises: some failures in a row, a pause, one trial.
const contract = `version: 1
defaults:
  break: {duration: 30s, backoff: 1, jitter: 0}
  half_open: {lease: 10s}
policies: [{name: contract, match: ["*"], rules: [{name: in-a-row, type: consecutive, threshold: 3}]}]
`

func policies(t testing.TB, text string) *breaker.Policies {
	t.Helper()
	p, err := breaker.Read("policies.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newLocal returns a LocalGate, which is closed at the end of the test.
func newLocal(t testing.TB, text string) *client.LocalGate {
	t.Helper()
	g := client.Local(policies(t, text))
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// enter enters a circuit that must admit.
func enter(t testing.TB, b client.Breaker, circuit string) client.Lease {
	t.Helper()
	lease, err := b.Enter(t.Context(), circuit)
	if err != nil {
		t.Fatalf("Enter(%s) = %v, want a lease", circuit, err)
	}
	return lease
}

// report enters a circuit and reports outcomes of these kinds, one after the other.
func report(t testing.TB, b client.Breaker, circuit string, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		lease := enter(t, b, circuit)
		if err := lease.Report(client.Outcome{Kind: kind}); err != nil {
			t.Fatalf("Report(%s) = %v", kind, err)
		}
	}
}

// refusal returns why a circuit refuses, which it must.
func refusal(t testing.TB, b client.Breaker, circuit string) *client.RefusedError {
	t.Helper()
	_, err := b.Enter(t.Context(), circuit)
	var refused *client.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("Enter(%s) = %v, want a *RefusedError", circuit, err)
	}
	return refused
}

// trip opens a circuit under the contract.
func trip(t testing.TB, b client.Breaker, circuit string) {
	t.Helper()
	report(t, b, circuit, client.InvalidContract, client.InvalidContract, client.InvalidContract)
}

func TestLocalConsecutiveFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		report(t, g, gpt, client.TransportFailure, client.InvalidContract, client.Accepted)
		report(t, g, gpt, client.TransportFailure, client.Cancelled, client.InvalidContract)
		if s := g.State(gpt); s.State.State != schemas.Closed {
			t.Fatalf("State = %v after two failures in a row, want closed", s.State.State)
		}
		report(t, g, gpt, client.MissingEvidence)
		err := refusal(t, g, gpt)
		if err.RetryAfter != 30*time.Second || err.State != schemas.Open || err.Cause.Rule != "in-a-row" {
			t.Errorf("after the third it refuses as %+v, want open for 30s by in-a-row", err)
		}
		const want = gpt + " refuses: in-a-row: 3 outcomes in a row failed (threshold 3), mostly "
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Error() = %q, want it to begin with %q", err.Error(), want)
		}
	})
}

// TestLocalOneTrial lets many ask at once when a probe is due: one is let through, and its result decides.
func TestLocalOneTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		trip(t, g, gpt)
		time.Sleep(30*time.Second - time.Millisecond)
		if err := refusal(t, g, gpt); err.RetryAfter != time.Millisecond {
			t.Errorf("a millisecond before the end of the break RetryAfter = %v, want 1ms", err.RetryAfter)
		}
		time.Sleep(time.Millisecond)
		leases := make(chan client.Lease, 100)
		var all sync.WaitGroup
		for range cap(leases) {
			all.Go(func() {
				lease, err := g.Enter(t.Context(), gpt)
				var refused *client.RefusedError
				switch {
				case err == nil:
					leases <- lease
				case !errors.As(err, &refused) || refused.RetryAfter != 10*time.Second || refused.Cause == nil:
					t.Errorf("beside the probe Enter = %v, want a refusal for the 10s of its lease", err)
				}
			})
		}
		all.Wait()
		if len(leases) != 1 {
			t.Fatalf("%d of 100 were let through, want 1", len(leases))
		}
		probe := <-leases
		if d := time.Until(probe.Deadline()); d != 10*time.Second || probe.ID() == "" {
			t.Errorf("the probe %q ends in %v, want an id and 10s", probe.ID(), d)
		}
		if err := probe.Report(client.Outcome{Kind: client.Accepted}); err != nil {
			t.Fatal(err)
		}
		if again := probe.Report(client.Outcome{Kind: client.Accepted}); !errors.Is(again, client.ErrReported) {
			t.Errorf("a second Report = %v, want ErrReported", again)
		}
		if lease := enter(t, g, gpt); lease.Epoch() != 2 || lease.ID() != "" {
			t.Errorf("after the probe Enter admits under epoch %d as %q, want 2 and no probe",
				lease.Epoch(), lease.ID())
		}
	})
}

// TestLocalFailedTrial fails the probe: the circuit opens again, and says that.
func TestLocalFailedTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		trip(t, g, gpt)
		time.Sleep(30 * time.Second)
		report(t, g, gpt, client.InvalidContract)
		if err := refusal(t, g, gpt); err.Cause.Rule != schemas.ProbeFailed || err.RetryAfter != 30*time.Second {
			t.Errorf("after a failed probe it refuses as %+v, want probe_failed, for 30s", err)
		}
	})
}

func TestLocalOverrideActsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		if err := g.Override(gpt, schemas.ForceOpen, "ann", "provider incident", time.Minute); err != nil {
			t.Fatal(err)
		}
		err := refusal(t, g, gpt)
		if want := gpt + " refuses: ann keeps it open: provider incident; try again in 1m"; err.Error() != want {
			t.Errorf("Error() = %q, want %q", err.Error(), want)
		}
		if err := g.Override(gpt, schemas.Reset, "ann", "over", 0); err != nil {
			t.Fatal(err)
		}
		trip(t, g, gpt)
		if err := g.Override(gpt, schemas.ForceClosed, "ann", "we need it", 0); err != nil {
			t.Fatal(err)
		}
		trip(t, g, gpt)
		enter(t, g, gpt)
		if err := g.Override(gpt, schemas.Clear, "ann", "enough", 0); err != nil {
			t.Fatal(err)
		}
		if s := g.State(gpt); s.Override != nil || s.State.State != schemas.Closed {
			t.Errorf("after clear the circuit is %v under %+v, want closed without override", s.State.State, s.Override)
		}
		for _, bad := range []error{
			g.Override("", schemas.Reset, "ann", "why", 0), g.Override(gpt, schemas.Reset, "", "why", 0),
			g.Override(gpt, schemas.Reset, "ann", "", 0), g.Override(gpt, schemas.NoMode, "ann", "why", 0),
			g.Override(gpt, schemas.ForceOpen, "ann", "why", -time.Second),
		} {
			if bad == nil {
				t.Error("an override that lacks something passed")
			}
		}
	})
}

// TestLocalOverrideEnds lets a force_open run out: what was open before stays to be tested.
func TestLocalOverrideEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		if err := g.Override(gpt, schemas.ForceOpen, "ann", "drill", time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - time.Millisecond)
		refusal(t, g, gpt)
		time.Sleep(time.Millisecond)
		if probe := enter(t, g, gpt); probe.ID() == "" {
			t.Error("at the end of a force_open a plain call was admitted, want a probe")
		}
		refusal(t, g, gpt)
	})
}

// TestPitfall36LocalOverride lets the time of an override run out that another has replaced.
func TestPitfall36LocalOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		for _, ttl := range []time.Duration{time.Minute, 0} {
			if err := g.Override(gpt, schemas.ForceOpen, "ann", "drill", ttl); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
		}
		time.Sleep(time.Hour)
		if err := refusal(t, g, gpt); err.State != schemas.ForcedOpen || err.RetryAfter != 0 {
			t.Errorf("after the first one's time it refuses as %+v, want forced open without an end", err)
		}
	})
}

// TestLocalRetryAfterWithoutSideEffect asks for the state while a probe is due: it claims nothing.
func TestLocalRetryAfterWithoutSideEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		if s := g.State(gpt); s.Known || s.Epoch != 0 || s.RetryAfter != 0 || s.Circuit != gpt {
			t.Errorf("State of an unknown circuit = %+v, want closed at epoch 0", s)
		}
		trip(t, g, gpt)
		time.Sleep(20 * time.Second)
		if s := g.State(gpt); s.RetryAfter != 10*time.Second || !s.Known {
			t.Errorf("State after 20s of 30s = %+v, want RetryAfter 10s", s)
		}
		time.Sleep(10 * time.Second)
		for range 10 {
			if s := g.State(gpt); s.RetryAfter != 0 || s.State.State != schemas.Open {
				t.Fatalf("State when a probe is due = %+v, want open and RetryAfter 0", s)
			}
		}
		if probe := enter(t, g, gpt); probe.ID() == "" {
			t.Error("ten looks took the probe")
		}
	})
}

// TestLocalScopes makes a credential's scope a part of the name: what one key does is not the other's fault.
func TestLocalScopes(t *testing.T) {
	g := newLocal(t, contract)
	trip(t, g, gpt+":acme")
	refusal(t, g, gpt+":acme")
	if lease := enter(t, g, gpt+":zeta"); lease.Epoch() != 0 {
		t.Errorf("the other scope is at epoch %d, want 0", lease.Epoch())
	}
}

// TestPitfall25LocalLateResult reports under an epoch that is over: it moves nothing.
func TestPitfall25LocalLateResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		late := []client.Lease{enter(t, g, gpt), enter(t, g, gpt), enter(t, g, gpt)}
		trip(t, g, gpt)
		time.Sleep(30 * time.Second)
		report(t, g, gpt, client.Accepted)
		for i := range late {
			if err := late[i].Report(client.Outcome{Kind: client.TransportFailure}); err != nil {
				t.Fatal(err)
			}
		}
		if s := g.State(gpt); s.State.State != schemas.Closed || s.Epoch != 2 {
			t.Errorf("after late failures the circuit is %v at epoch %d, want closed at 2", s.State.State, s.Epoch)
		}
	})
}

// TestPitfall23LocalLostProbes loses every probe in one way: the next is let through after one lease time or one break,
// and when the route answers again it recovers.
func TestPitfall23LocalLostProbes(t *testing.T) {
	for name, lose := range map[string]func(*client.Lease){
		"never reported": func(*client.Lease) {},
		"released":       func(l *client.Lease) { _ = l.Release() },
		"unused":         func(l *client.Lease) { _ = l.Unused() },
		"neutral":        func(l *client.Lease) { _ = l.Report(client.Outcome{Kind: client.Cancelled}) },
		"unfit":          func(l *client.Lease) { _ = l.Report(client.Outcome{Kind: client.Accepted, Latency: -1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newLocal(t, contract)
				trip(t, g, gpt)
				for range 10 {
					begin := time.Now()
					var lease client.Lease
					var err error
					for lease, err = g.Enter(t.Context(), gpt); err != nil; {
						var refused *client.RefusedError
						if !errors.As(err, &refused) || refused.RetryAfter <= 0 || time.Since(begin) > 40*time.Second {
							t.Fatalf("after %v Enter = %v, want a lease within 40s", time.Since(begin), err)
						}
						time.Sleep(refused.RetryAfter)
						lease, err = g.Enter(t.Context(), gpt)
					}
					lose(&lease)
					if s := g.State(gpt); name != "never reported" && len(s.Leases) > 0 {
						t.Errorf("the lease is not back: %v", s.Leases)
					}
				}
				time.Sleep(40 * time.Second)
				report(t, g, gpt, client.Accepted)
				if s := g.State(gpt); s.State.State != schemas.Closed {
					t.Errorf("after a good probe the circuit is %v, want closed", s.State.State)
				}
			})
		})
	}
}

// TestPitfall26And27LocalOldProbes lets a probe answer, or be released, when a newer one has its place: it closes
// nothing and makes no room.
func TestPitfall26And27LocalOldProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		trip(t, g, gpt)
		time.Sleep(30 * time.Second)
		old := enter(t, g, gpt)
		time.Sleep(10 * time.Second)
		older := enter(t, g, gpt)
		time.Sleep(10 * time.Second)
		newest := enter(t, g, gpt)
		_, _ = old.Report(client.Outcome{Kind: client.Accepted}), older.Release()
		if s := g.State(gpt); s.State.State != schemas.HalfOpen || len(s.Leases) != 1 {
			t.Errorf("after results of old probes the circuit is %v with %v, want one lease", s.State.State, s.Leases)
		}
		refusal(t, g, gpt)
		if err := newest.Report(client.Outcome{Kind: client.Accepted}); err != nil {
			t.Fatal(err)
		}
		enter(t, g, gpt)
	})
}

// TestPitfall34LocalRamp brings the traffic back in steps, by calls.
func TestPitfall34LocalRamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, strings.Replace(contract, "defaults:", "defaults:\n  ramp: [{share: 0.1, for: 15s}]", 1))
		names := []string{gpt, "b", "c", "d", "e", "f"}
		for _, name := range names {
			trip(t, g, name)
		}
		time.Sleep(30 * time.Second)
		for _, name := range names {
			report(t, g, name, client.Accepted)
			if s := g.State(name); s.RetryAfter != 0 || len(s.Ramp) != 1 {
				t.Errorf("on the ramp State = %+v, want RetryAfter 0: some pass now", s)
			}
		}
		admitted := 0
		for range 10_000 {
			_, err := g.Enter(t.Context(), gpt)
			var refused *client.RefusedError
			if err == nil {
				admitted++
			} else if !errors.As(err, &refused) || !refused.Ramp || refused.RetryAfter != 15*time.Second {
				t.Fatalf("on the ramp Enter = %v, want a refusal for 15s", err)
			}
		}
		if admitted < 800 || admitted > 1200 {
			t.Errorf("%d of 10000 calls passed a ramp of 0.1, want about 1000", admitted)
		}
		time.Sleep(15 * time.Second)
		for range 1000 {
			enter(t, g, gpt)
		}
		if n := testing.AllocsPerRun(100, func() { enter(t, g, gpt) }); n != 0 {
			t.Errorf("after the ramp Enter allocates %v times, want 0", n)
		}
	})
}
