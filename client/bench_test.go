package client_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// circuitName returns names such as people choose.
func circuitName(i int) string { return fmt.Sprintf("submission-extraction:route-%d:v4", i) }

// closedState is a circuit that nothing was ever wrong with.
func closedState(name string) schemas.State {
	born := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	return schemas.State{
		Circuit: name, Enforced: true, Sequence: 1, Born: born, Probe: schemas.Probe{Concurrency: 1},
		Policy: "extraction", PolicyVersion: "c9a3e728e1c8da7e",
		Trigger: schemas.Trigger{Topic: "fusebox.outcomes.v1", Partition: 1, Offset: 12345},
		Inputs:  schemas.Inputs{Outcomes: 12346, Signals: 17},
	}
}

// fill writes closed circuits to a state topic.
func fill(tb testing.TB, e kafkatest.Endpoint, topic string, circuits int) {
	tb.Helper()
	records := make([]*kgo.Record, 0, circuits)
	for i := range circuits {
		s := closedState(circuitName(i))
		value := schemas.AppendState(nil, &s)
		records = append(records, &kgo.Record{Topic: topic, Key: []byte(s.Circuit), Value: value})
	}
	for len(records) > 0 {
		n := min(len(records), 5000)
		e.Produce(tb, records[:n]...)
		records = records[n:]
	}
}

// filled returns a gate that knows closed circuits.
func filled(tb testing.TB, circuits int) *client.Gate {
	tb.Helper()
	fake := kafkatest.NewLoopback(tb)
	fake.CreateTopics(tb, "fusebox.", 8)
	fill(tb, fake.Endpoint, "fusebox.circuit-state.v1", circuits)
	publish(tb, fake.Endpoint, "fusebox.circuit-state.v1", judged)
	g, err := client.Open(tb.Context(), client.Config{
		Kafka: fake.Opts(), Router: "r", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() { g.Close() })
	if got := g.Stats().Circuits; got != circuits {
		tb.Fatalf("the gate knows %d circuits, want %d", got, circuits)
	}
	return g
}

func BenchmarkEnter(b *testing.B) {
	ctx := b.Context()
	for _, size := range []struct{ circuits, hot int }{{1_000, 1_000}, {100_000, 1_000}} {
		g := filled(b, size.circuits)
		rng := rand.New(rand.NewPCG(1, 1))
		hot := make([]string, size.hot)
		for i, n := range rng.Perm(size.circuits)[:size.hot] {
			hot[i] = circuitName(n)
		}
		b.Run(fmt.Sprintf("%d/%d", size.circuits, size.hot), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := g.Enter(ctx, hot[i%len(hot)]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/%d/parallel", size.circuits, size.hot), func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(size.hot); pb.Next(); i++ {
					if _, err := g.Enter(ctx, hot[i%len(hot)]); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// TestEnterAllocatesNothing holds what the benchmark measures.
func TestEnterAllocatesNothing(t *testing.T) {
	g := filled(t, 10)
	for name, circuit := range map[string]string{"closed": circuitName(3), "unknown": "nobody:has:heard"} {
		if n := testing.AllocsPerRun(1000, func() {
			if lease, err := g.Enter(t.Context(), circuit); err != nil || lease.Circuit() != circuit {
				t.Fatalf("Enter(%s) = %v", circuit, err)
			}
		}); n != 0 {
			t.Errorf("Enter of a circuit that is %s allocates %v times, want 0", name, n)
		}
	}
}
