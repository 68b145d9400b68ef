//go:build synctests

package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestClaimsAreSpreadAfterADeadProber lets forty routers see a lease run out in the same instant. Pitfall 34.
func TestClaimsAreSpreadAfterADeadProber(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		const routers = 40
		gates := make([]*client.Gate, routers)
		for i := range gates {
			gates[i] = w.open(w.config(fmt.Sprint("r", i)))
		}
		w.trip(gates[0], circuit)
		time.Sleep(gates[0].State(circuit).RetryAfter)
		dead := w.enter(gates[0], circuit)
		time.Sleep(time.Until(dead.Deadline()))
		before := len(w.signals(schemas.Claim))
		var callers sync.WaitGroup
		for _, g := range gates {
			callers.Go(func() {
				if _, err := g.Enter(t.Context(), circuit); err != nil && !errors.Is(err, client.ErrRefused) {
					t.Errorf("Enter: %v", err)
				}
			})
		}
		callers.Wait()
		if claims := len(w.signals(schemas.Claim)) - before; claims < 1 || claims > 20 {
			t.Errorf("%d of %d routers claimed when a lease ran out, want few", claims, routers)
		}
	})
}

// TestOutcomesMadeAnew deletes the topics of outcomes and signals and makes them again: reports arrive in the new ones.
func TestOutcomesMadeAnew(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		w.report(g, circuit, client.MissingEvidence)
		w.until("the first arrives", func() bool { return g.Stats().Reports.Records == 1 })
		if err := w.DeleteTopic(topics.Outcomes); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		w.Create(t, 1, nil, topics.Outcomes)
		w.until("reports arrive in the new topic", func() bool {
			w.report(g, circuit, client.MissingEvidence)
			time.Sleep(time.Second)
			return len(w.ReadCommitted(t, topics.Outcomes)) > 0
		})
		t.Logf("%+v", g.Stats().Reports)
	})
}

// TestUnfitReportOfAProbe reports what cannot be sent on a probe: the lease is given back, not lost.
func TestUnfitReportOfAProbe(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		w.trip(g, circuit)
		time.Sleep(g.State(circuit).RetryAfter)
		lease := w.enter(g, circuit)
		if err := lease.Report(client.Outcome{Kind: client.Accepted, Latency: -1}); err == nil {
			t.Error("Report of a negative latency gave no error")
		}
		began := time.Now()
		w.until("the lease is free again", func() bool { return len(g.State(circuit).Leases) == 0 })
		if took := time.Since(began); took > time.Second {
			t.Errorf("the lease is free after %v, want soon: it was not reported", took)
		}
	})
}

// TestCallerIsGone enters with a context that has ended before: nothing is claimed for it.
func TestCallerIsGone(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		w.put(due(circuit))
		w.becomes(g, circuit, schemas.Open)
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.Enter(ctx, circuit); !errors.Is(err, context.Canceled) {
			t.Errorf("Enter = %v, want the context's end", err)
		}
		time.Sleep(time.Second)
		if claims := w.signals(schemas.Claim); len(claims) > 0 {
			t.Errorf("%d claims for a call whose context had ended, want none", len(claims))
		}
	})
}

// TestFirstClaimIsGrantedLate lets a processor come back after many claims, of which it grants the first: the lease is
// that of the next call.
func TestFirstClaimIsGrantedLate(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		open := due(circuit)
		w.put(open)
		w.becomes(g, circuit, schemas.Open)
		for began := time.Now(); time.Since(began) < 3*time.Minute; time.Sleep(100 * time.Millisecond) {
			w.refused(g, circuit)
		}
		first := w.signals(schemas.Claim)[0]
		w.put(granted(open, first.Lease, time.Now().Add(5*time.Minute)))
		w.becomes(g, circuit, schemas.HalfOpen)
		if lease := w.enter(g, circuit); lease.ID() != first.Lease {
			t.Errorf("the call has lease %q, want %q, which was granted to this router", lease.ID(), first.Lease)
		}
	})
}

// TestCallerIsGoneBeforeTheBrokersAreBack enters while no broker can be reached, and comes to an end before one can: a
// claim that nobody waits for any more is not sent.
func TestCallerIsGoneBeforeTheBrokersAreBack(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		line := w.Line()
		c := w.config("r1")
		c.Kafka = line.Opts()
		g := w.open(c)
		w.put(due(circuit))
		w.becomes(g, circuit, schemas.Open)
		line.Hold()
		line.Reset()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := g.Enter(ctx, circuit); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Enter without brokers = %v, want the context's end", err)
		}
		time.Sleep(3 * time.Second)
		line.Release()
		time.Sleep(10 * time.Second)
		if claims := w.signals(schemas.Claim); len(claims) > 0 {
			t.Errorf("%d claims for a call that had gone long before, want none", len(claims))
		}
		if n := g.Stats().SignalsLost; n != 1 {
			t.Errorf("%d signals were not sent, want the one claim", n)
		}
	})
}

// TestTripBesideAnOldTransaction has the broker turn a trip's records down twice, as the transaction before is not yet
// written to its end, and its outcome once. The next try comes soon, not when the Kafka client would by itself ask for
// the leaders again.
func TestTripBesideAnOldTransaction(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		w.report(g, circuit, client.MissingEvidence)
		w.until("it is known", func() bool { return g.State(circuit).Known })
		for _, topic := range []string{topics.State, topics.Transitions} {
			w.FailProduce(topic, kerr.ConcurrentTransactions, 2)
		}
		w.FailProduce(topics.Outcomes, kerr.NotLeaderForPartition, 1)
		began := time.Now()
		w.report(g, circuit, client.MissingEvidence)
		w.becomes(g, circuit, schemas.Open)
		if took := time.Since(began); took > time.Second {
			t.Errorf("the circuit is seen to be open after %v, want at most 1s", took)
		}
	})
}
