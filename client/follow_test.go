//go:build synctests

package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestNewerRecordsAlone writes records in an order that a log can come to have, and forgets the circuit.
func TestNewerRecordsAlone(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		born := time.Now()
		record := func(born time.Time, sequence int64, phase schemas.Phase) schemas.State {
			return schemas.State{
				Circuit: circuit, State: phase, Epoch: sequence, Sequence: sequence, Born: born, Enforced: true,
			}
		}
		for i, step := range []struct {
			record schemas.State
			want   schemas.Phase
		}{
			{record(born, 5, schemas.ForcedOpen), schemas.ForcedOpen},
			{record(born, 4, schemas.Closed), schemas.ForcedOpen},
			{record(born, 5, schemas.Closed), schemas.ForcedOpen},
			{record(born, 6, schemas.Closed), schemas.Closed},
			{record(born.Add(time.Hour), 1, schemas.ForcedOpen), schemas.ForcedOpen},
			{record(born, 7, schemas.Closed), schemas.ForcedOpen},
		} {
			w.put(step.record)
			time.Sleep(time.Second)
			if got := g.State(circuit).State.State; got != step.want {
				t.Errorf("after record %d the circuit is %v, want %v", i, got, step.want)
			}
			if _, err := g.Enter(t.Context(), circuit); (err != nil) != (step.want == schemas.ForcedOpen) {
				t.Errorf("after record %d Enter = %v on a circuit that is %v", i, err, step.want)
			}
		}
		w.Produce(t, &kgo.Record{Topic: topics.State, Key: []byte(circuit)})
		time.Sleep(time.Second)
		if s := g.State(circuit); s.Known || s.State.State != schemas.Closed || g.Stats().Circuits != 0 {
			t.Errorf("after its tombstone the circuit is %+v, want forgotten", s)
		}
		if lease := w.enter(g, circuit); lease.Epoch() != 0 {
			t.Errorf("after its tombstone the circuit is entered at epoch %d, want 0", lease.Epoch())
		}
	})
}

// TestOpenKnowsAll opens a gate on topics that end in different ways: it is open when it knows all, and not before.
// Pitfall 8: the last records may be aborted ones and a marker.
func TestOpenKnowsAll(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w *world){
		"records": func(*testing.T, *world) {},
		"an aborted transaction": func(t *testing.T, w *world) {
			producer := w.Client(t, kgo.TransactionalID("other"))
			if err := producer.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				s := due(fmt.Sprint("aborted-", i))
				producer.Produce(t.Context(), &kgo.Record{
					Topic: topics.State, Key: []byte(s.Circuit), Value: schemas.AppendState(nil, &s),
				}, nil)
			}
			if err := producer.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := producer.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
				t.Fatal(err)
			}
		},
		"a compacted log": func(t *testing.T, w *world) {
			for range 3 {
				again := closedState(circuitName(0))
				again.Sequence++
				w.put(again)
			}
			w.Compact()
		},
		"nothing": func(t *testing.T, w *world) {
			for p := range int32(4) {
				if err := w.DeleteRecords(topics.State, p, w.PartitionInfo(topics.State, p).HighWatermark); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 4, func(t *testing.T, w *world) {
				var states []schemas.State
				for i := range 50 {
					states = append(states, closedState(circuitName(i)))
				}
				w.put(states...)
				end(t, w)
				g := w.open(w.config("r1"))
				want := 50
				if name == "nothing" {
					want = 0
				}
				if got := g.Stats().Circuits; got != want {
					t.Errorf("an open gate knows %d circuits, want %d", got, want)
				}
			})
		})
	}
}

// TestOpenWaits opens a gate where a transaction that is still open hides the end of the topic, and where there is no
// topic: it waits as long as it may, and says for what.
func TestOpenWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, w *world)
		words string
	}{
		"open transaction": {func(t *testing.T, w *world) {
			producer := w.Client(t, kgo.TransactionalID("other"))
			s := due(circuit)
			record := &kgo.Record{Topic: topics.State, Key: []byte(circuit), Value: schemas.AppendState(nil, &s)}
			if err := producer.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			if err := producer.ProduceSync(t.Context(), record).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}, topics.State + ", partition 0, is read up to offset 0 of 1"},
		"no topic": {func(t *testing.T, w *world) {
			if err := w.DeleteTopic(topics.State); err != nil {
				t.Fatal(err)
			}
		}, "create the topics with `fusebox topics create`"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				tt.spoil(t, w)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := client.Open(ctx, w.config("r1"))
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.words) {
					t.Errorf("Open = %v, want the context's end, and %q", err, tt.words)
				}
			})
		})
	}
}

// TestOpenForbidden does not wait for what will not come.
func TestOpenForbidden(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.Fault(faultOf(kerr.TopicAuthorizationFailed))
		began := time.Now()
		if _, err := client.Open(t.Context(), w.config("r1")); !errors.Is(err, kerr.TopicAuthorizationFailed) ||
			time.Since(began) > 20*time.Second {
			t.Errorf("Open = %v after %v, want that it is forbidden, soon", err, time.Since(began))
		}
	})
}

// TestTroubleIsNoRefusal lets brokers move, vanish and come back. Calls go on by what is known, without waiting.
func TestTroubleIsNoRefusal(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.process()
		line := w.Line()
		c := w.config("r1")
		c.Kafka = line.Opts()
		g, other := w.open(c), w.open(w.config("r2"))
		w.report(g, circuit, client.Accepted)
		w.trip(other, circuit)
		w.becomes(g, circuit, schemas.Open)
		w.ShufflePartitionLeaders()
		time.Sleep(g.State(circuit).RetryAfter)
		w.report(other, circuit, client.Accepted)
		w.becomes(g, circuit, schemas.Closed)

		line.Hold()
		began := time.Now()
		lease := w.enter(g, circuit)
		if err := lease.Report(client.Outcome{Kind: client.Accepted}); err != nil || time.Since(began) != 0 {
			t.Errorf("without brokers Report = %v after %v, want at once", err, time.Since(began))
		}
		w.trip(other, circuit)
		time.Sleep(3 * time.Minute)
		w.enter(g, circuit)
		line.Release()
		line.Reset()
		w.becomes(g, circuit, schemas.Open)
		w.until("a processor is heard again", func() bool { return !g.State(circuit).Silent })
	})
}

// TestTopicMadeAnew deletes the state topic and makes it again. What was known counts until the new topic is read; what
// is not in that is forgotten.
func TestTopicMadeAnew(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		line, c := w.Line(), w.config("r1")
		c.Kafka = line.Opts()
		g := w.open(c)
		gone, stays := due("gone"), due("stays")
		gone.State, stays.State = schemas.ForcedOpen, schemas.ForcedOpen
		w.put(gone, stays)
		w.becomes(g, "gone", schemas.ForcedOpen)
		if err := w.DeleteTopic(topics.State); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.refused(g, "gone")
		line.Hold() // The gate shall not see the topic before there is something in it.
		w.Create(t, 3, map[string]string{"cleanup.policy": "compact"}, topics.State)
		w.put(stays)
		line.Release()
		w.until("the new topic is read", func() bool { return !g.State("gone").Known })
		w.refused(g, "stays")
		stays.State, stays.Sequence = schemas.Closed, stays.Sequence+1
		w.put(stays)
		w.becomes(g, "stays", schemas.Closed)
		if n := strings.Count(w.log.String(), "cannot be read; what is known stays"); n != 1 {
			t.Errorf("told %d times that the topic cannot be read, want once", n)
		}
	})
}

// TestPartitionsAdded adds partitions to the state topic: the circuits in them are known too.
func TestPartitionsAdded(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		w.addPartitions(topics.State, 4)
		var states []schemas.State
		for i := range 20 {
			states = append(states, closedState(circuitName(i)))
		}
		w.put(states...)
		w.until("all partitions are read", func() bool { return g.Stats().Circuits == 20 })
	})
}

// TestPoliciesOfALaterVersion puts policies in force that this version cannot read. What they would tell apart nobody
// knows here, so outcomes go alone until there are others.
func TestPoliciesOfALaterVersion(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		g := w.open(w.config("r1"))
		inForce := func(text string) {
			p := schemas.PoliciesInForce{Version: "v", Text: text, Since: time.Now()}
			w.Produce(t, &kgo.Record{
				Topic: topics.State, Key: []byte(schemas.PoliciesKey), Value: schemas.AppendPolicies(nil, &p),
			})
			time.Sleep(2 * time.Second)
		}
		sends := func(when string, want int64) {
			t.Helper()
			before := g.Stats().Reports
			for range 5 {
				w.report(g, circuit, client.Accepted)
			}
			time.Sleep(time.Second)
			if after := g.Stats().Reports; after.Outcomes-before.Outcomes != 5 || after.Records-before.Records != want {
				t.Errorf("%s: 5 outcomes, then %+v after %+v, want %d records more", when, after, before, want)
			}
		}
		inForce(quick)
		sends("known policies", 1)
		inForce(strings.Replace(quick, "consecutive", "entropy", 1))
		sends("policies of a later version", 5)
		if n := g.Stats().Unreadable; n != 1 || !strings.Contains(w.log.String(), "entropy") {
			t.Errorf("%d records could not be read, want one, and the log to say why", n)
		}
		inForce(quick)
		time.Sleep(2 * time.Second)
		sends("known policies again", 1)
	})
}
