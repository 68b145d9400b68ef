//go:build synctests

package client_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestSilence stops the processor while one circuit is open and another closed.
func TestSilence(t *testing.T) {
	const fine = "extraction:gpt-secondary:v4"
	for name, tt := range map[string]struct {
		on        client.OnSilence
		bad, good bool // Admitted in a silence.
		words     string
	}{
		"keep":    {on: client.Keep, bad: false, good: true, words: "calls go by what was known"},
		"allow":   {on: client.AllowAll, bad: true, good: true, words: "all calls are admitted"},
		"refuse":  {on: client.RefuseAll, bad: false, good: false, words: "all calls are refused"},
		"default": {bad: false, good: true, words: "calls go by what was known"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 4, func(t *testing.T, w *world) {
				stop := w.process()
				c := w.config("r1")
				c.OnSilence = tt.on
				g := w.open(c)
				w.report(g, fine, client.Accepted)
				w.trip(g, circuit)
				w.put(schemas.State{ // It would come to be probed, else.
					Circuit: circuit, State: schemas.ForcedOpen, Epoch: 2, Sequence: 99, Enforced: true,
					Born:     g.State(circuit).Born,
					Override: &schemas.OverrideInForce{Mode: schemas.ForceOpen, Actor: "ann"},
				})
				w.becomes(g, circuit, schemas.ForcedOpen)
				admits := func(circuit string) bool {
					lease, err := g.Enter(t.Context(), circuit)
					if err == nil {
						lease.Release()
					}
					if err != nil && !errors.Is(err, client.ErrRefused) {
						t.Errorf("Enter(%s) = %v, want it admitted or refused", circuit, err)
					}
					return err == nil
				}
				time.Sleep(time.Minute)
				if s := g.State(fine); s.Silent || s.Age > 6*time.Second || !admits(fine) || admits(circuit) {
					t.Errorf("before: silent %v, age %v", s.Silent, s.Age)
				}
				stop()
				time.Sleep(time.Minute)
				for _, name := range []string{fine, circuit, "nobody:has:heard"} {
					if s := g.State(name); !s.Silent || s.Age < 55*time.Second || s.Age > 70*time.Second {
						t.Errorf("in a silence: %s is silent %v, age %v, want about a minute", name, s.Silent, s.Age)
					}
				}
				if bad, good := admits(circuit), admits(fine); bad != tt.bad || good != tt.good {
					t.Errorf("in a silence: open circuit admitted %v, closed one %v, want %v, %v",
						bad, good, tt.bad, tt.good)
				}
				if got := g.Stats(); got.Silent != 4 || got.Silences != 4 {
					t.Errorf("Stats = %+v, want 4 silent partitions", got)
				}
				if n := strings.Count(w.log.String(), "no processor is heard of: "+tt.words); n != 1 {
					t.Errorf("told %d times, want once", n)
				}
				w.process()
				w.until("a processor is heard again", func() bool { return g.Stats().Silent == 0 })
				if s := g.State(fine); s.Silent || !admits(fine) || admits(circuit) {
					t.Errorf("after: silent %v; want all as before", s.Silent)
				}
			})
		})
	}
}

// TestSilenceAtTheStart opens gates that wait for the brokers, and for what the topic holds. What they tell of then is
// how it is, not that something has ended of which they never told.
func TestSilenceAtTheStart(t *testing.T) {
	for name, works := range map[string]bool{"a processor works": true, "none works": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				if works {
					w.process()
				}
				line := w.Line()
				line.Hold()
				time.AfterFunc(time.Minute, line.Release)
				line.Lose(5, kmsg.Fetch)
				c := w.config("r1")
				c.Kafka = line.Opts()
				g := w.open(c)
				told := func(words string) int { return strings.Count(w.log.String(), words) }
				time.Sleep(40 * time.Second)
				if fallen, again := told("no processor is heard of"), told("heard of again"); (fallen > 0) == works ||
					fallen > 1 || again > 0 {
					t.Errorf("told %d times of a silence and %d times of its end", fallen, again)
				}
				if works {
					return
				}
				w.process()
				w.until("a processor is heard", func() bool { return g.Stats().Silent == 0 })
				if again := told("heard of again"); again != 1 {
					t.Errorf("told %d times of the end of the silence, want once", again)
				}
			})
		})
	}
}

// TestCloseWithoutBrokers closes a gate while no broker takes anything: one error says what is lost, on one line.
func TestCloseWithoutBrokers(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		line := w.Line()
		c := w.config("r1")
		c.Kafka = line.Opts()
		g := w.open(c)
		line.Hold()
		w.report(g, circuit, client.MissingEvidence)
		const want = "records with outcomes are lost, as no broker took them within 5s: 1"
		if err := g.Close(); err == nil || err.Error() != want {
			t.Errorf("Close = %v, want %q", err, want)
		}
		line.Release()
	})
}

// TestStartUnready opens gates while no broker can be reached. They do as they are told until they have caught up.
func TestStartUnready(t *testing.T) {
	for name, tt := range map[string]struct {
		on      client.OnSilence
		refuses bool
	}{"keep": {client.Keep, false}, "allow": {client.AllowAll, false}, "refuse": {client.RefuseAll, true}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				w.process()
				line := w.Line()
				line.Hold()
				c := w.config("r1")
				c.Kafka = line.Opts()
				c.OnSilence, c.StartUnready = tt.on, true
				began := time.Now()
				g := w.open(c)
				if time.Since(began) != 0 || g.Stats().Ready {
					t.Errorf("Open took %v, ready %v, want at once and unready", time.Since(began), g.Stats().Ready)
				}
				_, err := g.Enter(t.Context(), circuit)
				if s := g.State(circuit); errors.Is(err, client.ErrRefused) != tt.refuses || !s.Silent {
					t.Errorf("Enter = %v, silent %v, want refused %v", err, s.Silent, tt.refuses)
				}
				line.Release()
				if err := g.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.report(g, circuit, client.Accepted)
			})
		})
	}
}
