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
		lease := w.enter(g, circuit)
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
		if routes := g.Routes(); len(routes) != 1 || routes[0].Otherwise != "human-review" {
			t.Errorf("Routes = %+v, want those of the policies in force", routes)
		}
	})
}
