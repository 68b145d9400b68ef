//go:build synctests

package kafka

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestLife follows one circuit: it goes bad, opens, refuses, is probed by the one router that got the lease, recovers.
// Pitfall 34: of two that ask at once one probes.
func TestLife(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		const circuit = "case:route:v1"
		const bad = schemas.MissingEvidence
		for i, kind := range []string{schemas.Accepted, bad, bad, bad} {
			w.Produce(t, outcome(circuit, kind, string(rune('a'+i))))
			time.Sleep(time.Second)
		}
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open && st.Epoch == 1 })
		w.Produce(t, signal(schemas.Signal{Type: schemas.Claim, Circuit: circuit, Holder: "early", Lease: "L0"}))
		time.Sleep(31 * time.Second)
		w.Produce(t, signal(schemas.Signal{Type: schemas.Claim, Circuit: circuit, Holder: "r1", Lease: "L1"}))
		w.Produce(t, signal(schemas.Signal{Type: schemas.Claim, Circuit: circuit, Holder: "r2", Lease: "L2"}))
		w.caughtUp()
		st := w.await(circuit, func(st schemas.State) bool { return st.State == schemas.HalfOpen })
		if len(st.Leases) != 1 || st.Leases[0].Holder != "r1" {
			t.Errorf("leases = %v, want one of r1", st.Leases)
		}
		good := outcome(circuit, schemas.Accepted, "z")
		good.Value = schemas.AppendOutcome(nil,
			&schemas.Outcome{Circuit: circuit, Kind: schemas.Accepted, Lease: "L1", Count: 1})
		time.Sleep(time.Millisecond) // On a tie the outcome would have come before the claim.
		w.Produce(t, good)
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Closed && st.Epoch == 2 })
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

// TestBirthsWait counts the transactions while circuits become known one after the other: nobody waits for that news,
// and a transaction for each would hold up the trip that comes behind it.
func TestBirthsWait(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		committed := func() float64 { return value(t, r.metrics.transactions.WithLabelValues(committedResult)) }
		before := committed()
		for i := range 200 {
			w.Produce(t, outcome(fmt.Sprintf("case:route-%d:v1", i), schemas.Accepted, "a"))
			time.Sleep(10 * time.Millisecond)
		}
		if got := committed() - before; got < 5 || got > 15 {
			t.Errorf("%v transactions in 2s in which circuits became known, want one each 200ms", got)
		}
		const circuit = "case:route-0:v1"
		w.Produce(t, outcome(circuit, schemas.MissingEvidence, "b"), outcome(circuit, schemas.MissingEvidence, "c"),
			outcome(circuit, schemas.MissingEvidence, "d"))
		sent := time.Now()
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open })
		if took := time.Since(sent); took > 50*time.Millisecond {
			t.Errorf("a trip was published after %v, want at once", took)
		}
		w.end(r)
		w.check()
	})
}

// TestTripGoesAlone trips a circuit while other partitions have something to commit: its news do not wait until theirs
// are written too, which go at the next commit interval.
func TestTripGoesAlone(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		failing := func(n int) (records []*kgo.Record) {
			for i := range n {
				records = append(records, outcome("case:route-0:v1", schemas.MissingEvidence, fmt.Sprint("bad", i)))
			}
			return records
		}
		all := func(id string) (records []*kgo.Record) {
			for i := range 20 {
				records = append(records, outcome(fmt.Sprintf("case:route-%d:v1", i), schemas.Accepted, id))
			}
			return records
		}
		w.Produce(t, all("first")...)
		w.caughtUp()
		admin := kadm.NewClient(w.Client(t))
		committed := func() map[int32]kadm.OffsetResponse {
			offsets, err := admin.FetchOffsets(t.Context(), group)
			if err != nil {
				t.Fatal(err)
			}
			return offsets[topics.Outcomes]
		}
		before := committed()
		w.Produce(t, append(all("second"), failing(4)...)...)
		w.await("case:route-0:v1", func(st schemas.State) bool { return st.State == schemas.Open })
		after, home := committed(), w.home("case:route-0:v1")
		for partition := range int32(4) {
			moved := after[partition].Metadata != before[partition].Metadata
			if moved != (partition == home) {
				t.Errorf("partition %d committed with the trip in %d: %v", partition, home, moved)
			}
		}
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

// TestCompression looks at how what is published is packed. A batch that would only grow stays as it is, as one does
// that has but the name of a regime.
func TestCompression(t *testing.T) {
	for name, tt := range map[string]struct {
		codec kgo.CompressionCodec
		want  kgo.CompressionCodecType
	}{"none": {want: kgo.CodecNone}, "snappy": {kgo.SnappyCompression(), kgo.CodecSnappy}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				r := w.start(func(c *Config) { c.Compression = tt.codec }, nil)
				for i := range 50 {
					w.Produce(t, outcome(fmt.Sprintf("case:route-%d:v1", i), schemas.Accepted, "a"))
				}
				w.ready(r)
				w.caughtUp()
				w.end(r)
				w.check()
				circuits := 0
				for _, r := range w.ReadCommitted(t, topics.Changelog) {
					got := kgo.CompressionCodecType(r.Attrs.CompressionType())
					if own := r.Key[0] == 0; got != tt.want && !(own && got == kgo.CodecNone) {
						t.Errorf("%q in the changelog is packed by codec %d, want %d", r.Key, got, tt.want)
					} else if !own {
						circuits++
					}
				}
				if circuits != 50 {
					t.Errorf("%d circuits in the changelog, want 50", circuits)
				}
			})
		})
	}
}

// TestLeaveBeforeJoining: who is stopped before anybody has joined the group leaves nothing behind, and says nothing.
func TestLeaveBeforeJoining(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		k, err := connect(context.Background(), topics, group, w.Opts(), func(error) {})
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer k.client.Close()
		if err := k.leave(context.Background(), []string{"fusebox-a-0"}); err != nil {
			t.Errorf("leave = %v where there is no group, want nil", err)
		}
	})
}

// TestStopsWithinARound stops a processor that has asked to join again, while another member of the group keeps all
// others waiting: the processor does not wait with them.
func TestStopsWithinARound(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		var holds, asked atomic.Bool
		waits, goOn := context.WithCancel(context.Background())
		other := func(name string) func(*Config) {
			return func(c *Config) { c.Instance, c.DataDir = name, t.TempDir() }
		}
		stops := w.start(nil, nil)
		busy := w.start(other("b"), func(l *Loop) {
			l.crash = func(point string) error {
				if point == "before begin" && holds.Load() {
					<-waits.Done()
				}
				return nil
			}
		})
		t.Cleanup(goOn)
		w.ready(busy)
		w.ready(stops)
		holds.Store(true)
		for i := range 9 {
			w.Produce(t, outcome(fmt.Sprintf("case:route-%d:v1", i), schemas.Accepted, "x"))
		}
		time.Sleep(time.Second)
		w.fake.ControlKey(int16(kmsg.JoinGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.fake.KeepControl()
			if *r.(*kmsg.JoinGroupRequest).InstanceID == "fusebox-a-0" {
				asked.Store(true)
			}
			return nil, nil, false
		})
		third := w.start(other("c"), nil)
		w.until("asked to join", asked.Load)
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		w.end(stops)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it stopped after %v, want within a second", took)
		}
		goOn()
		w.ready(third)
		w.caughtUp()
		w.end(third)
		w.end(busy)
		w.check()
	})
}

// TestFetchedAgain has the client fetch nothing any more behind the worker's back, as it does itself now and then when
// it was moved twice at once: it is told to soon after it was moved, and else with the next heartbeat.
func TestFetchedAgain(t *testing.T) {
	for name, tt := range map[string]struct{ after, within time.Duration }{
		"moved":     {0, time.Second},
		"heartbeat": {time.Second, beatEvery},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(t *testing.T, w *world) {
				r := w.start(nil, nil)
				w.ready(r)
				time.Sleep(tt.after)
				all := map[string][]int32{topics.Outcomes: {0, 1}, topics.Signals: {0, 1}}
				r.workers[0].client.PauseFetchPartitions(all)
				stopped := time.Now()
				w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "a"))
				w.Produce(t, outcome("case:route-1:v1", schemas.Accepted, "a"))
				w.caughtUp()
				if took := time.Since(stopped); took > tt.within {
					t.Errorf("handled %v after nothing was fetched any more, want within %v", took, tt.within)
				}
				w.end(r)
				w.check()
			})
		})
	}
}
