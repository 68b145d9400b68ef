//go:build synctests

package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// signals returns the signals that were sent of a type.
func (w *world) signals(kind schemas.SignalType) []schemas.Signal {
	w.t.Helper()
	var found []schemas.Signal
	for _, r := range w.ReadCommitted(w.t, topics.Signals) {
		s, err := schemas.DecodeSignal(r.Key, r.Value)
		if err != nil {
			w.t.Fatalf("DecodeSignal(%s): %v", r.Value, err)
		}
		if s.Type == kind {
			found = append(found, s)
		}
	}
	return found
}

// due returns a circuit whose probe is due now.
func due(name string) schemas.State {
	return schemas.State{
		Circuit: name, State: schemas.Open, Epoch: 1, Sequence: 2, Enforced: true, Born: time.Now(),
		RetryAt: time.Now(), Probe: schemas.Probe{Concurrency: 1},
	}
}

// granted is that circuit with a lease.
func granted(before schemas.State, id string, until time.Time) schemas.State {
	before.State, before.Sequence = schemas.HalfOpen, before.Sequence+1
	before.Leases = append(before.Leases[:len(before.Leases):len(before.Leases)],
		schemas.Lease{ID: id, Holder: "r1", ExpiresAt: until})
	return before
}

// asked waits for the n-th claim.
func (w *world) asked(n int) schemas.Signal {
	w.t.Helper()
	var claims []schemas.Signal
	w.until(fmt.Sprintf("%d claims", n), func() bool {
		claims = w.signals(schemas.Claim)
		return len(claims) >= n
	})
	return claims[n-1]
}

// TestOneClaimAtATime enters a circuit from many goroutines when a probe is due. One asks, the others need not wait.
func TestOneClaimAtATime(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		w.trip(g, circuit)
		time.Sleep(g.State(circuit).RetryAfter)
		var mu sync.Mutex
		var leases, refusals int
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				began := time.Now()
				lease, err := g.Enter(t.Context(), circuit)
				var refused *client.RefusedError
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && lease.ID() != "":
					leases++
				case errors.As(err, &refused) && time.Since(began) == 0 && refused.RetryAfter > 0 &&
					refused.RetryAfter <= 20*time.Second:
					refusals++
				default:
					t.Errorf("Enter = %q, %v after %v, want a lease, or a refusal at once",
						lease.ID(), err, time.Since(began))
				}
			})
		}
		callers.Wait()
		if claims := w.signals(schemas.Claim); leases != 1 || refusals != 49 || len(claims) != 1 {
			t.Errorf("%d leases, %d refusals, %d claims, want 1, 49, 1", leases, refusals, len(claims))
		}
	})
}

// TestClaimsAreSpread lets a hundred routers wait for the same probe: their claims do not come in one instant, and so
// most of them see that another was faster. Pitfall 34: not every router probes at the same instant.
func TestClaimsAreSpread(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		const routers = 100
		gates := make([]*client.Gate, routers)
		for i := range gates {
			gates[i] = w.open(w.config(fmt.Sprint("r", i)))
		}
		w.trip(gates[0], circuit)
		time.Sleep(gates[0].State(circuit).RetryAfter)
		var mu sync.Mutex
		leases := 0
		var callers sync.WaitGroup
		for _, g := range gates {
			callers.Go(func() {
				if lease, err := g.Enter(t.Context(), circuit); err == nil && lease.ID() != "" {
					mu.Lock()
					leases++
					mu.Unlock()
				}
			})
		}
		callers.Wait()
		if leases != 1 {
			t.Errorf("%d routers hold the lease, want 1", leases)
		}
		if claims := len(w.signals(schemas.Claim)); claims > 30 {
			t.Errorf("%d of %d routers claimed, want few: the first grant comes soon", claims, routers)
		}
	})
}

// TestNobodyAnswers claims where no processor is: Enter waits as long as it was told, asks again later and later, under
// one name, and takes the lease when it comes after all.
func TestNobodyAnswers(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		open := due(circuit)
		w.put(open)
		w.becomes(g, circuit, schemas.Open)
		began := time.Now()
		refused := w.refused(g, circuit)
		if took := time.Since(began); took < 500*time.Millisecond || took > 600*time.Millisecond ||
			refused.RetryAfter <= 0 || refused.State != schemas.Open {
			t.Errorf("Enter took %v and was refused by %+v, want the default of 500ms", took, refused)
		}
		longest, last, sent := time.Duration(0), time.Now(), g.Stats().Claims
		for began = time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
			w.refused(g, circuit)
			if n := g.Stats().Claims; n > sent {
				pause := time.Since(last)
				if longest > 5*time.Second && pause < 5*time.Second {
					t.Errorf("claim %d came %v after the one before, want later and later", n, pause)
				}
				longest, last, sent = max(longest, pause), time.Now(), n
			}
		}
		claims := w.signals(schemas.Claim)
		if n := len(claims); n < 6 || n > 15 {
			t.Errorf("%d claims in a minute without an answer, want few", n)
		}
		if claims[1].Lease != claims[0].Lease || claims[0].Holder != "r1" || claims[0].Epoch != 1 {
			t.Errorf("claims %+v and %+v, want the same lease of r1 at epoch 1", claims[0], claims[1])
		}
		late := claims[len(claims)-1].Lease
		w.put(granted(open, late, time.Now().Add(30*time.Second)))
		w.becomes(g, circuit, schemas.HalfOpen)
		if lease := w.enter(g, circuit); lease.ID() != late {
			t.Errorf("the lease that came late is %q, want %q for the next call", lease.ID(), late)
		}
		if again := w.refused(g, circuit); again.State != schemas.HalfOpen {
			t.Errorf("a second call = %+v, want it refused while the first one probes", again)
		}
	})
}

// TestUnusedLease grants a lease that no call waits for any more, nor comes for: others shall have it soon.
func TestUnusedLease(t *testing.T) {
	for name, end := range map[string]func(*client.Gate){
		"no call comes": func(*client.Gate) {},
		"closed":        func(g *client.Gate) { g.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				g := w.open(w.config("r1"))
				open := due(circuit)
				w.put(open)
				w.becomes(g, circuit, schemas.Open)
				w.refused(g, circuit)
				claim := w.asked(1)
				w.put(granted(open, claim.Lease, time.Now().Add(30*time.Second)))
				w.becomes(g, circuit, schemas.HalfOpen)
				came := time.Now()
				end(g)
				w.until("the lease is given back", func() bool { return len(w.signals(schemas.Release)) > 0 })
				back := w.signals(schemas.Release)
				took := time.Since(came)
				if len(back) != 1 || back[0].Lease != claim.Lease || !back[0].Unused || took > 2*time.Second {
					t.Errorf("given back %+v after %v, want %s as unused, soon", back, took, claim.Lease)
				}
				if stats := g.Stats(); stats.GivenBack != 1 || stats.Leases != 1 {
					t.Errorf("Stats = %+v, want a lease that was given back", stats)
				}
			})
		})
	}
}

// TestCallerLeaves ends the context of a call that waits for its lease.
func TestCallerLeaves(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		w.put(due(circuit))
		w.becomes(g, circuit, schemas.Open)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("the user left"))
		defer cancel()
		began := time.Now()
		_, err := g.Enter(ctx, circuit)
		took := time.Since(began)
		if !errors.Is(err, context.Cause(ctx)) || errors.Is(err, client.ErrRefused) || took > 210*time.Millisecond {
			t.Errorf("Enter = %v after %v, want the context's cause when it ended", err, took)
		}
	})
}

// TestSeveralProbes has a policy that lets two calls probe at once.
func TestSeveralProbes(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.policies = w.read(quick[:len("version: 1\n")] + `
defaults: {break: {duration: 30s, jitter: 0}, half_open: {lease: 20s, concurrency: 2, successes: 2}}
policies:
- {name: quick, match: ["*"], rules: [{name: row, type: consecutive, threshold: 2}]}
`)
		w.process()
		g := w.open(w.config("r1"))
		w.trip(g, circuit)
		time.Sleep(g.State(circuit).RetryAfter)
		first, second := w.enter(g, circuit), w.enter(g, circuit)
		if first.ID() == "" || second.ID() == "" || first.ID() == second.ID() {
			t.Errorf("leases %q and %q, want two", first.ID(), second.ID())
		}
		w.refused(g, circuit)
		first.Report(client.Outcome{Kind: client.Accepted})
		second.Report(client.Outcome{Kind: client.Accepted})
		w.becomes(g, circuit, schemas.Closed)
	})
}

// TestProberDies leaves a lease unreported. It costs one lease time, and no more. Pitfall 23: a lost probe wedges
// nothing.
func TestProberDies(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		dies, lives := w.open(w.config("r1")), w.open(w.config("r2"))
		w.trip(dies, circuit)
		time.Sleep(dies.State(circuit).RetryAfter)
		began := time.Now()
		w.enter(dies, circuit)
		w.becomes(lives, circuit, schemas.HalfOpen)
		refused := w.refused(lives, circuit)
		time.Sleep(refused.RetryAfter)
		lease := w.enter(lives, circuit)
		if took := time.Since(began); lease.ID() == "" || took > 21*time.Second {
			t.Errorf("another router probes after %v, want the lease time of 20s", took)
		}
		lease.Report(client.Outcome{Kind: client.Accepted})
		w.becomes(dies, circuit, schemas.Closed)
	})
}

// TestReleaseOfAProbe gives a probe back: by a call that was cancelled, and by one that was never made.
func TestReleaseOfAProbe(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		w.trip(g, circuit)
		time.Sleep(g.State(circuit).RetryAfter)
		for i, give := range []func(*client.Lease) error{(*client.Lease).Release, (*client.Lease).Unused} {
			lease := w.enter(g, circuit)
			if err := give(&lease); err != nil {
				t.Fatalf("give back: %v", err)
			}
			w.until("the lease is free again", func() bool { return len(g.State(circuit).Leases) == 0 })
			if got := g.State(circuit).Probe.Inconclusive; got != 1 {
				t.Errorf("after %d leases given back %d are inconclusive, want 1: one was never used", i+1, got)
			}
		}
		w.report(g, circuit, client.Accepted)
		w.becomes(g, circuit, schemas.Closed)
	})
}
