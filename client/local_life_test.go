package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestPitfall35LocalReload keeps what is open open, and what was counted counted, through a reload; and one that stops
// enforcing lets everything through at once.
func TestPitfall35LocalReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		changes := g.Changes(t.Context())
		trip(t, g, gpt)
		report(t, g, "other", client.InvalidContract, client.InvalidContract)
		g.Reload(policies(t, strings.Replace(contract, "30s", "40s", 1)))
		if err := refusal(t, g, gpt); err.RetryAfter != 30*time.Second {
			t.Errorf("after a reload RetryAfter = %v, want the 30s that were said", err.RetryAfter)
		}
		report(t, g, "other", client.InvalidContract)
		if err := refusal(t, g, "other"); err.RetryAfter != 40*time.Second {
			t.Errorf("the third failure, after a reload, breaks for %v, want 40s", err.RetryAfter)
		}
		g.Reload(policies(t, strings.Replace(contract, "name: contract", "name: contract, enforce: false", 1)))
		enter(t, g, gpt)
		g.Reload(policies(t, contract))
		refusal(t, g, gpt)
		g.Reload(policies(t, strings.Replace(contract, "name: contract", "name: contract, enabled: false", 1)))
		enter(t, g, gpt)
		last := schemas.State{}
		g.Close()
		for s := range changes {
			last = s
		}
		if last.State != schemas.Closed || last.Previous != schemas.Open {
			t.Errorf("the last change is %v to %v, want that a policy which is off closes", last.Previous, last.State)
		}
	})
}

// TestLocalReloadOfNothing puts the built-in policy in force, as Local does without one.
func TestLocalReloadOfNothing(t *testing.T) {
	g := newLocal(t, contract)
	g.Reload(nil)
	report(t, g, gpt, client.InvalidContract)
	if got, want := g.Policies().Version, breaker.Builtin().Version; got != want {
		t.Errorf("the policies in force are of version %q, want the built-in %q", got, want)
	}
}

func TestLocalChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		changes := g.Changes(ctx)
		trip(t, g, gpt)
		time.Sleep(30 * time.Second)
		report(t, g, gpt, client.Accepted)
		var got []string
		for s := range changes {
			got = append(got, fmt.Sprint(s.Previous, ">", s.State, " ", s.Epoch, " ", s.Sequence))
			if s.Epoch == 2 {
				break
			}
		}
		want := "closed>closed 0 1, closed>open 1 2, open>half_open 1 3, half_open>closed 2 4"
		if strings.Join(got, ", ") != want {
			t.Errorf("Changes = %s, want %s", strings.Join(got, ", "), want)
		}
		for s := range g.Changes(ctx) { // It ends with the context.
			t.Errorf("a change %+v without a cause", s)
		}
	})
}

func TestLocalClosed(t *testing.T) {
	g := client.Local(nil)
	changes := g.Changes(t.Context())
	lease := enter(t, g, gpt)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	for s := range changes {
		t.Errorf("a change %+v after Close", s)
	}
	if _, err := g.Enter(t.Context(), gpt); !errors.Is(err, client.ErrClosed) {
		t.Errorf("Enter after Close = %v, want ErrClosed", err)
	}
	if err := lease.Report(client.Outcome{Kind: client.Accepted}); !errors.Is(err, client.ErrClosed) {
		t.Errorf("Report after Close = %v, want ErrClosed", err)
	}
}

func TestLocalBuiltin(t *testing.T) {
	g := client.Local(nil)
	for range 20 {
		report(t, g, gpt, client.InvalidContract)
	}
	if err := refusal(t, g, gpt); err.Cause.Rule != "failure-ratio" {
		t.Errorf("without policies it refuses by %q, want failure-ratio", err.Cause.Rule)
	}
}

// TestLocalForgets lets circuits be idle: they are forgotten when idle_after is over, and new ones find room.
func TestLocalForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, strings.Replace(contract, "defaults:", "defaults:\n  idle_after: 1h", 1))
		for i := range client.LocalCircuits {
			report(t, g, fmt.Sprint("idle-", i), client.Accepted)
		}
		lease := enter(t, g, "one too many")
		if err := lease.Report(client.Outcome{Kind: client.Accepted}); err == nil || g.State("one too many").Known {
			t.Errorf("one circuit more than may be known was judged, Report = %v", err)
		}
		time.Sleep(time.Hour)
		for i := range 10_000 { // Each shard sweeps once a minute.
			lease := enter(t, g, fmt.Sprint("new-", i%1000))
			_ = lease.Report(client.Outcome{Kind: client.Accepted})
			time.Sleep(time.Second)
		}
		if g.State("idle-0").Known || g.State("idle-99999").Known {
			t.Error("circuits that were idle for hours are still known")
		}
		report(t, g, "one too many", client.Accepted)
	})
}

// TestLocalTickets stores admissions, as work that lasts does, and asks later whether they stand.
func TestLocalTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		resume := func(ticket string) error { return g.Resume(t.Context(), ticket) }
		lease := enter(t, g, gpt)
		ticket := lease.Ticket()
		if err := resume(ticket); err != nil {
			t.Errorf("Resume on a closed circuit = %v, want nil", err)
		}
		trip(t, g, gpt)
		if err := resume(ticket); !errors.Is(err, client.ErrRefused) || errors.Is(err, client.ErrExpired) {
			t.Errorf("Resume on an open circuit = %v, want why it refuses", err)
		}
		g.Reload(policies(t, strings.Replace(contract, "name: contract", "name: contract, enforce: false", 1)))
		if err := resume(ticket); err != nil {
			t.Errorf("Resume under a policy that is not enforced = %v, want nil", err)
		}
		g.Reload(policies(t, contract))
		time.Sleep(30 * time.Second)
		probe := enter(t, g, gpt)
		held := probe.Ticket()
		if err := resume(held); err != nil {
			t.Errorf("Resume of a live probe = %v, want nil", err)
		}
		time.Sleep(10 * time.Second)
		var refused *client.RefusedError
		if err := resume(held); !errors.Is(err, client.ErrExpired) || !errors.As(err, &refused) {
			t.Errorf("Resume of a dead probe = %v, want ErrExpired, and a refusal", err)
		}
		probe = enter(t, g, gpt)
		again, err := g.Lease(probe.Ticket())
		if err != nil || again.Report(client.Outcome{Kind: client.Accepted}) != nil {
			t.Fatalf("Lease = %v, want the probe's, to report on", err)
		}
		if err := resume(ticket); !errors.Is(err, client.ErrMovedOn) {
			t.Errorf("Resume after the circuit opened and recovered = %v, want ErrMovedOn", err)
		}
		late, err := g.Lease(ticket)
		for range 3 {
			if err != nil || late.Report(client.Outcome{Kind: client.InvalidContract}) != nil || late.Epoch() != 0 {
				t.Fatalf("Lease = %+v, %v, want that of the admission", late, err)
			}
			late, err = g.Lease(ticket)
		}
		if s := g.State(gpt); s.State.State != schemas.Closed || s.Epoch != 2 {
			t.Errorf("late results moved the circuit to %v at epoch %d", s.State.State, s.Epoch)
		}
		if err := resume("nonsense"); !errors.Is(err, client.ErrTicket) {
			t.Errorf("Resume(nonsense) = %v, want ErrTicket", err)
		}
	})
}

// TestLocalForgetsForAStrayRelease lets a probe's lease come back when the circuit has been idle for long.
func TestLocalForgetsForAStrayRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, strings.Replace(contract, "defaults:", "defaults:\n  idle_after: 1h", 1))
		trip(t, g, gpt)
		time.Sleep(30 * time.Second)
		stray := enter(t, g, gpt)
		time.Sleep(10 * time.Second)
		report(t, g, gpt, client.Accepted)
		time.Sleep(time.Hour)
		if err := stray.Release(); err != nil || g.State(gpt).Known {
			t.Errorf("Release = %v, and the circuit is %+v, want it forgotten", err, g.State(gpt))
		}
	})
}

// TestPitfall33Changes calls the gate, in every way, from where changes are told.
func TestPitfall33Changes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, contract)
		changes := g.Changes(t.Context())
		trip(t, g, gpt)
		for s := range changes {
			if s.Circuit == gpt && s.State == schemas.Open {
				refusal(t, g, gpt)
				if err := g.Override(gpt, schemas.Reset, "ann", "seen", 0); err != nil {
					t.Fatal(err)
				}
				trip(t, g, "other")
			}
			if s.Circuit == "other" && s.State == schemas.Open {
				g.Close()
			}
		}
	})
}

// TestLocalUnderLoad lets many goroutines enter, report, override and reload. Run it with the race detector.
func TestLocalUnderLoad(t *testing.T) {
	g := newLocal(t, contract)
	kinds := []string{client.Accepted, client.TransportFailure, client.InvalidContract}
	var all sync.WaitGroup
	for worker := range 4 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range 2000 {
				name := fmt.Sprint("c", (worker+i)%17)
				lease, err := g.Enter(t.Context(), name)
				if err != nil && !errors.Is(err, client.ErrRefused) {
					t.Errorf("Enter = %v", err)
				}
				if err == nil {
					_ = lease.Report(client.Outcome{Kind: kinds[(worker*i)%len(kinds)]})
				}
				switch i % 500 {
				case 0:
					_ = g.Override(name, schemas.Reset, "load", "test", 0)
				case 1:
					g.Reload(g.Policies())
				}
				_ = g.State(name)
			}
		})
	}
	all.Wait()
}

func TestLocalEnterAllocatesNothing(t *testing.T) {
	g := newLocal(t, contract)
	report(t, g, gpt, client.Accepted)
	n := testing.AllocsPerRun(1000, func() {
		if _, err := g.Enter(context.Background(), gpt); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("Enter on a closed circuit allocates %v times, want 0", n)
	}
	if n := testing.AllocsPerRun(1000, func() { report(t, g, gpt, client.Accepted) }); n > 1 {
		t.Errorf("Enter and Report allocate %v times, want at most 1", n)
	}
}
