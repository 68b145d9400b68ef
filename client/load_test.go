package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

const stateTopic = "fusebox.circuit-state.v1"

// TestEnterWhileStatesChange enters circuits while thousands of states a second arrive: what a call learns is never
// older than what State told just before. A circuit of an odd epoch is open.
func TestEnterWhileStatesChange(t *testing.T) {
	fake := kafkatest.NewLoopback(t)
	fake.CreateTopics(t, "fusebox.", 4)
	g, err := client.Open(t.Context(), client.Config{Kafka: fake.Opts(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	const circuits, changes = 50, 200
	var done atomic.Bool
	var callers sync.WaitGroup
	for c := range 2 {
		callers.Go(func() {
			for i := c; !done.Load(); i++ {
				if err := consistent(t.Context(), g, circuitName(i%circuits)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	began := time.Now()
	producer := fake.Client(t)
	for epoch := range int64(changes) {
		for i := range circuits {
			s := closedState(circuitName(i))
			s.Epoch, s.Sequence = epoch, epoch+1
			if epoch%2 == 1 {
				s.State = schemas.ForcedOpen
			}
			producer.Produce(t.Context(), &kgo.Record{
				Topic: stateTopic, Key: []byte(s.Circuit), Value: schemas.AppendState(nil, &s),
			}, nil)
		}
	}
	for g.Stats().Records < circuits*changes {
		time.Sleep(time.Millisecond)
		if time.Since(began) > time.Minute {
			t.Fatalf("only %d records after a minute", g.Stats().Records)
		}
	}
	t.Logf("%.0f changes a second", circuits*changes/time.Since(began).Seconds())
	done.Store(true)
	callers.Wait()
	for i := range circuits {
		if s := g.State(circuitName(i)); s.Epoch != changes-1 {
			t.Errorf("%s ends at epoch %d, want %d", s.Circuit, s.Epoch, changes-1)
		}
	}
}

// consistent compares what a call learns with what was known just before it.
func consistent(ctx context.Context, g *client.Gate, circuit string) error {
	before := g.State(circuit)
	lease, err := g.Enter(ctx, circuit)
	var refused *client.RefusedError
	switch {
	case err == nil && (lease.Epoch() < before.Epoch || lease.Epoch()%2 == 1):
		return fmt.Errorf("%s is entered at epoch %d after it was %v at %d",
			circuit, lease.Epoch(), before.State.State, before.Epoch)
	case err != nil && (!errors.As(err, &refused) || refused.State != schemas.ForcedOpen):
		return fmt.Errorf("%s is entered: %w", circuit, err)
	}
	return nil
}

// TestGateLeavesNothingBehind closes gates, of which one has never found its brokers.
func TestGateLeavesNothingBehind(t *testing.T) {
	fake := kafkatest.NewLoopback(t)
	fake.CreateTopics(t, "fusebox.", 4)
	before := goleak.IgnoreCurrent()
	quiet := slog.New(slog.DiscardHandler)
	g, err := client.Open(t.Context(), client.Config{Kafka: fake.Opts(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := g.Enter(t.Context(), circuitName(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lease.Report(client.Outcome{Kind: client.Accepted}), g.Close(), g.Close()); err != nil {
		t.Errorf("report and close: %v", err)
	}
	if _, err := g.Enter(t.Context(), circuitName(1)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("Enter of a gate that was closed = %v, want ErrClosed", err)
	}
	nowhere := []string{"127.0.0.1:1"}
	lost, err := client.Open(t.Context(), client.Config{Brokers: nowhere, StartUnready: true, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := lost.Close(); err != nil {
		t.Errorf("close a gate without brokers: %v", err)
	}
	verifyNone(t, before)
	if n := len(fake.ReadCommitted(t, "fusebox.outcomes.v1")); n != 1 {
		t.Errorf("%d outcomes were sent before the gate was closed, want 1", n)
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// openLarge opens a gate on many circuits and returns what it takes.
func openLarge(tb testing.TB, fake *kafkatest.Cluster, circuits int) (mib, seconds float64) {
	tb.Helper()
	before, began := heap(), time.Now()
	g, err := client.Open(tb.Context(), client.Config{Kafka: fake.Opts(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	seconds = time.Since(began).Seconds()
	if got := g.Stats().Circuits; got != circuits {
		tb.Fatalf("the gate knows %d circuits, want %d", got, circuits)
	}
	mib = float64(heap()-before) / (1 << 20)
	if err := g.Close(); err != nil {
		tb.Fatal(err)
	}
	return mib, seconds
}

// TestManyCircuits holds how much memory a gate takes.
func TestManyCircuits(t *testing.T) {
	const circuits = 20_000
	fake := kafkatest.NewLoopback(t)
	fake.CreateTopics(t, "fusebox.", 8)
	fill(t, fake.Endpoint, stateTopic, circuits)
	mib, seconds := openLarge(t, fake, circuits)
	t.Logf("%d circuits: %.1f MiB, ready after %.2f s", circuits, mib, seconds)
	if mib > 100*circuits/100_000 {
		t.Errorf("%d circuits take %.1f MiB, want at most 100 for 100,000", circuits, mib)
	}
}

// BenchmarkOpen opens a gate on 100,000 circuits and a week of heartbeats that nobody has compacted.
func BenchmarkOpen(b *testing.B) {
	const circuits, partitions = 100_000, 8
	fake := kafkatest.NewLoopback(b)
	fake.CreateTopics(b, "fusebox.", partitions)
	fill(b, fake.Endpoint, stateTopic, circuits)
	week(b, fake.Endpoint, partitions)
	b.ResetTimer()
	for b.Loop() {
		mib, seconds := openLarge(b, fake, circuits)
		b.ReportMetric(mib, "MiB")
		b.ReportMetric(seconds, "s")
	}
}

// week writes the heartbeats of a week, which ends now.
func week(tb testing.TB, e kafkatest.Endpoint, partitions int32) {
	tb.Helper()
	const every = 5 * time.Second
	from := time.Now().Add(-7 * 24 * time.Hour)
	for at := from; at.Before(time.Now()); {
		var records []*kgo.Record
		for len(records) < 20_000 {
			at = at.Add(every)
			for id := range partitions {
				h := schemas.Heartbeat{Partition: id, At: at, Watermark: 123456, Instance: "fusebox-1"}
				records = append(records, &kgo.Record{
					Topic: stateTopic, Partition: id, Key: fmt.Append(nil, schemas.HeartbeatKeyPrefix, id),
					Value: schemas.AppendHeartbeat(nil, &h),
				})
			}
		}
		e.ProduceTo(tb, records...)
	}
}
