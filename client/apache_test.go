package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

const apachePolicies = `version: 1
defaults: {break: {duration: 10m, max: 10m, jitter: 0}}
policies: [{name: quick, match: ["*"], rules: [{name: row, type: consecutive, threshold: 2}]}]
`

// TestTripOnApacheKafka measures how long twenty gates go on admitting once the outcome is reported that trips a
// circuit: until the last admission of any of them.
func TestTripOnApacheKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const routers, trips = 20, 60
	gates := onApache(t, routers)
	last, slowest := make([]time.Duration, trips), make([]time.Duration, 1)
	for trip := range trips {
		circuit := fmt.Sprintf("extraction:route-%d:v1", trip)
		fail(t, gates[0], circuit)
		time.Sleep(20 * time.Millisecond) // So that the first failure is no part of what is measured.
		began := time.Now()
		fail(t, gates[0], circuit)
		stops := make([]time.Duration, routers)
		var callers sync.WaitGroup
		for i, g := range gates {
			callers.Go(func() { stops[i] = lastAdmission(t, g, circuit, began) })
		}
		callers.Wait()
		last[trip] = slices.Max(stops)
		if last[trip] > slices.Max(slowest) {
			slowest = stops
		}
	}
	slices.Sort(last)
	at := func(share float64) time.Duration {
		return last[int(share*float64(trips-1))].Round(100 * time.Microsecond)
	}
	t.Logf("from the report that trips to the last admission over %d gates, %d trips: p50 %v, p99 %v, max %v",
		routers, trips, at(0.5), at(0.99), at(1))
	slices.Sort(slowest) // Where all gates stop at once, the commit was late; where one is later, that one.
	t.Logf("the slowest trip: the first gate stopped after %v, half of them after %v, the last after %v",
		slowest[0], slowest[routers/2], slowest[routers-1])
	if at(1) > 5*time.Second {
		t.Errorf("the last call was admitted %v after the trip, want at most 5s", at(1))
	}
}

// onApache opens gates on Apache Kafka, with a processor at work.
func onApache(t *testing.T, routers int) []*client.Gate {
	t.Helper()
	cluster := kafkatest.Start(t)
	cluster.CreateTopics(t, "fusebox.", 4)
	policies, err := breaker.Read("test.yaml", []byte(apachePolicies))
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	loop, err := kafka.New(kafka.Config{
		Group: "fusebox", Instance: "a", Topics: kafka.TopicsWithPrefix("fusebox."), Client: cluster.Opts(),
		DataDir: t.TempDir(), Policies: policies, Workers: 1, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("processor: %v", err)
		}
	})
	gates := make([]*client.Gate, routers)
	for i := range gates {
		g, err := client.Open(t.Context(), client.Config{
			Kafka: cluster.Opts(), Router: fmt.Sprint("r", i), Combine: client.CombineNever, Log: quiet,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		gates[i] = g
	}
	for begin := time.Now(); !loop.Ready().Ready || len(loop.Ready().Partitions) < 4; {
		time.Sleep(10 * time.Millisecond)
		if time.Since(begin) > time.Minute {
			t.Fatalf("the processor is not ready: %+v", loop.Ready())
		}
	}
	return gates
}

func fail(t *testing.T, g *client.Gate, circuit string) {
	t.Helper()
	lease, err := g.Enter(t.Context(), circuit)
	if err == nil {
		err = lease.Report(client.Outcome{Kind: client.MissingEvidence})
	}
	if err != nil {
		t.Fatalf("report to %s: %v", circuit, err)
	}
}

// lastAdmission enters a circuit every half millisecond until it refuses, and returns when it admitted last.
func lastAdmission(t *testing.T, g *client.Gate, circuit string, began time.Time) (last time.Duration) {
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for range tick.C {
		lease, err := g.Enter(t.Context(), circuit)
		var refused *client.RefusedError
		switch at := time.Since(began); {
		case errors.As(err, &refused) && refused.State == schemas.Open:
			return last
		case err != nil:
			t.Errorf("Enter(%s) = %v, want it refused as open", circuit, err)
			return last
		case at > 30*time.Second:
			t.Errorf("%s still admits %v after the trip", circuit, at)
			return at
		default:
			last = at
			lease.Release()
		}
	}
	return last
}
