//go:build synctests

package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// beat writes a heartbeat of partition 0, as a processor whose clock says so would.
func (w *world) beat(at time.Time) {
	w.t.Helper()
	h := schemas.Heartbeat{At: at, Instance: "a"}
	w.Produce(w.t, &kgo.Record{
		Topic: topics.State, Key: []byte(schemas.HeartbeatKeyPrefix + "0"), Value: schemas.AppendHeartbeat(nil, &h),
	})
}

// TestProbeBesideAProcessorAhead enters a circuit that is to be probed, with a clock that is behind the processor's,
// and gets no answer: it waits for ProbeWait all the same, and so do those that come later.
func TestProbeBesideAProcessorAhead(t *testing.T) {
	for _, ahead := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 10 * time.Second} {
		t.Run(ahead.String(), func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				g := w.open(w.config("r1"))
				open := due(circuit)
				open.RetryAt = time.Now().Add(ahead)
				w.put(open)
				w.becomes(g, circuit, schemas.Open)
				w.beat(time.Now().Add(ahead))
				w.until("the heartbeat is known", func() bool { return g.State(circuit).RetryAfter == 0 })
				for range 3 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					began := time.Now()
					_, err := g.Enter(ctx, circuit)
					if took := time.Since(began); took > 500*time.Millisecond {
						t.Errorf("Enter = %v after %v, want it refused within 500ms", err, took)
					}
					cancel()
					time.Sleep(3 * time.Second)
				}
				if claims := w.signals(schemas.Claim); len(claims) == 0 {
					t.Error("nothing was claimed")
				}
			})
		})
	}
}

// TestProbeWaitIsShort enters a circuit that is to be probed with little patience, less than that over which routers
// spread their claims.
func TestProbeWaitIsShort(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		c := w.config("r1")
		c.ProbeWait = 5 * time.Millisecond
		g := w.open(c)
		w.trip(g, circuit)
		time.Sleep(g.State(circuit).RetryAfter)
		var lease client.Lease
		w.until("a lease is granted", func() (granted bool) {
			began := time.Now()
			lease, _ = g.Enter(t.Context(), circuit)
			if took := time.Since(began); took > c.ProbeWait {
				t.Fatalf("Enter took %v, want at most %v", took, c.ProbeWait)
			}
			return lease.ID() != ""
		})
	})
}
