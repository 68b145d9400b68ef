//go:build synctests

package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestResume stores an admission, and asks after hours whether the work may go on.
func TestResume(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		lease := w.enter(g, circuit)
		ticket := lease.Ticket()
		if err := g.Resume(t.Context(), ticket); err != nil {
			t.Errorf("Resume on a closed circuit = %v, want nil", err)
		}
		w.trip(g, circuit)
		var refused *client.RefusedError
		if err := g.Resume(t.Context(), ticket); !errors.As(err, &refused) || refused.Cause == nil {
			t.Errorf("Resume on an open circuit = %v, want why it refuses", err)
		}
		time.Sleep(refused.RetryAfter)
		if err := g.Resume(t.Context(), ticket); !errors.As(err, &refused) || len(w.signals(schemas.Claim)) > 0 {
			t.Errorf("Resume when a probe is due = %v, want it refused, and nothing claimed", err)
		}
		probe := w.enter(g, circuit)
		held := probe.Ticket()
		if err := g.Resume(t.Context(), held); err != nil {
			t.Errorf("Resume of a probe = %v, want nil while its lease is live", err)
		}
		resumed, err := g.Lease(held)
		if err != nil || resumed.ID() != probe.ID() || !resumed.Deadline().Equal(probe.Deadline()) {
			t.Fatalf("Lease(%q) = %q until %v, %v", held, resumed.ID(), resumed.Deadline(), err)
		}
		if err := resumed.Report(client.Outcome{Kind: client.Accepted}); err != nil {
			t.Errorf("Report of a lease that was resumed = %v", err)
		}
		w.becomes(g, circuit, schemas.Closed)
		if err := g.Resume(t.Context(), ticket); !errors.Is(err, client.ErrMovedOn) {
			t.Errorf("Resume after it opened and recovered = %v, want ErrMovedOn", err)
		}
		if err := g.Resume(t.Context(), "nonsense"); !errors.Is(err, client.ErrTicket) {
			t.Errorf("Resume(nonsense) = %v, want ErrTicket", err)
		}
	})
}

// TestLateResult reports results of calls that began before the circuit opened and recovered: they are told apart. The
// two of one ticket are one. Pitfall 25: late results move nothing.
func TestLateResult(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		lease := w.enter(g, circuit)
		ticket := lease.Ticket()
		w.trip(g, circuit)
		time.Sleep(g.State(circuit).RetryAfter)
		w.report(g, circuit, client.Accepted)
		recovered := w.becomes(g, circuit, schemas.Closed)
		for range 3 {
			late, err := g.Lease(ticket)
			if err != nil || late.Epoch() != 0 {
				t.Fatalf("Lease(%q) = epoch %d, %v, want the epoch of its admission", ticket, late.Epoch(), err)
			}
			if err := late.Report(client.Outcome{Kind: client.MissingEvidence}); err != nil {
				t.Fatal(err)
			}
		}
		w.report(g, circuit, client.MissingEvidence)
		time.Sleep(5 * time.Second)
		if s := g.State(circuit); s.Sequence != recovered.Sequence {
			t.Errorf("State = %v at epoch %d, want no change by three late failures and a fresh one",
				s.State.State, s.Epoch)
		}
		w.report(g, circuit, client.MissingEvidence)
		s := w.becomes(g, circuit, schemas.Open)
		if s.Cause.NotCounted.Stale != 1 || s.Cause.NotCounted.Duplicate != 2 {
			t.Errorf("not counted: %+v, want one stale, and its two repeats", s.Cause.NotCounted)
		}
	})
}
