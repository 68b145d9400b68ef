//go:build synctests

package client_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestOpenAndNewReporterWait begins both while no broker can be reached: both wait as long as they may, say so in the
// log, and have what they want when the brokers come.
func TestOpenAndNewReporterWait(t *testing.T) {
	for name, begin := range map[string]func(context.Context, client.Config) (io.Closer, error){
		"gate":     func(ctx context.Context, c client.Config) (io.Closer, error) { return client.Open(ctx, c) },
		"reporter": func(ctx context.Context, c client.Config) (io.Closer, error) { return client.NewReporter(ctx, c) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				line := w.Line()
				line.Hold()
				c := w.config("r1")
				c.Kafka = line.Opts()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err := begin(ctx, c)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) < time.Minute {
					t.Errorf("without brokers = %v after %v, want it to wait for its deadline", err, time.Since(began))
				}
				if err != nil && !strings.Contains(err.Error(), "v1: ") {
					t.Errorf("without brokers = %v, want it to say what it asked for", err)
				}
				if n := strings.Count(w.log.String(), "waits for"); n != 1 {
					t.Errorf("told %d times that it waits, want once", n)
				}
				time.AfterFunc(10*time.Minute, line.Release)
				it, err := begin(t.Context(), c)
				if err != nil {
					t.Fatalf("without a deadline = %v, want it to wait for the brokers", err)
				}
				if err := it.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		})
	}
}

// TestTrouble takes the brokers away from a gate, and gives them back: who asks is told.
func TestTrouble(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.process()
		line := w.Line()
		c := w.config("r1")
		c.Kafka = line.Opts()
		g := w.open(c)
		time.Sleep(time.Minute)
		if s := g.Stats(); s.Trouble != "" || s.Age > 6*time.Second || !s.Ready {
			t.Errorf("Stats = ready %v, age %v, trouble %q, want all well", s.Ready, s.Age, s.Trouble)
		}
		line.Hold()
		line.Reset()
		time.Sleep(time.Minute)
		if s := g.Stats(); s.Trouble == "" || s.Age < 55*time.Second || s.Age > 66*time.Second || !s.Ready {
			t.Errorf("Stats without brokers = ready %v, age %v, trouble %q, want why", s.Ready, s.Age, s.Trouble)
		}
		line.Release()
		time.Sleep(time.Minute)
		if s := g.Stats(); s.Trouble != "" || s.Age > 6*time.Second {
			t.Errorf("Stats with brokers again = age %v, trouble %q, want all well", s.Age, s.Trouble)
		}
	})
}

// TestUnreadyReportsNoEpoch lets calls through before the gate knows that their circuit is at another epoch than an
// unknown one: their outcomes count all the same, and no epoch is made up.
func TestUnreadyReportsNoEpoch(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		w.trip(g, circuit)
		time.Sleep(g.State(circuit).RetryAfter)
		w.report(g, circuit, client.Accepted)
		w.becomes(g, circuit, schemas.Closed)
		line := w.Line()
		line.Hold()
		c := w.config("r2")
		c.Kafka, c.StartUnready = line.Opts(), true
		unready := w.open(c)
		w.report(unready, circuit, client.MissingEvidence)
		lease := w.enter(unready, circuit)
		ticket := lease.Ticket()
		if err := lease.Report(client.Outcome{Kind: client.MissingEvidence}); err != nil {
			t.Fatal(err)
		}
		line.Release()
		if s := w.becomes(g, circuit, schemas.Open); s.Epoch != 3 || s.Cause.NotCounted.Stale != 0 {
			t.Errorf("opened at epoch %d with %+v not counted, want both failures counted", s.Epoch, s.Cause.NotCounted)
		}
		for _, r := range w.ReadCommitted(t, topics.Outcomes) {
			if r.Value != nil && strings.Contains(string(r.Value), `"source":"r2"`) &&
				strings.Contains(string(r.Value), `"epoch"`) {
				t.Errorf("the gate that knew nothing reported an epoch: %s", r.Value)
			}
		}
		time.Sleep(g.State(circuit).RetryAfter)
		w.report(g, circuit, client.Accepted)
		w.becomes(unready, circuit, schemas.Closed)
		if err := unready.Resume(t.Context(), ticket); !errors.Is(err, client.ErrMovedOn) {
			t.Errorf("Resume = %v, want ErrMovedOn: nobody can say under what it was admitted", err)
		}
	})
}

// TestCloseBesideAWait closes a gate while a call waits for its lease, and another for the gate to be ready.
func TestCloseBesideAWait(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		c := w.config("r1")
		c.ProbeWait = time.Minute
		g := w.open(c)
		w.put(due(circuit))
		w.becomes(g, circuit, schemas.Open)
		var callers sync.WaitGroup
		callers.Go(func() {
			began := time.Now()
			_, err := g.Enter(t.Context(), circuit)
			if took := time.Since(began); !errors.Is(err, client.ErrClosed) || took > time.Second+time.Millisecond {
				t.Errorf("Enter beside Close = %v after %v, want ErrClosed at once", err, took)
			}
		})
		time.Sleep(time.Second)
		if err := g.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		callers.Wait()
	})
}
