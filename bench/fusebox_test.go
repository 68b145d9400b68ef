package bench

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// The judgement is that of the others: half of at least 20 calls within a minute.
const policies = `version: 1
policies: [{name: p, match: ["*"], window: 1m, minimum_throughput: 20,
  rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}]
`

const (
	circuit    = "submission-extraction:gpt-primary:v4"
	stateTopic = "fusebox.circuit-state.v1"
)

// accepted is an outcome as a router reports it.
var accepted = client.Outcome{
	Kind: client.Accepted, Latency: 1834 * time.Millisecond, InputTokens: 4808, OutputTokens: 212, CostUSD: 0.0153,
	Provider: "azure.ai.openai", Model: "gpt-4o-2024-08-06",
}

// openGate opens a gate on a broker in this process that knows 1,000 circuits, the first one of which has had some
// calls.
func openGate(b *testing.B) (*client.Gate, []string) {
	b.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(8, "fusebox.outcomes.v1", "fusebox.signals.v1", stateTopic))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(cluster.Close)
	reach := []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}
	names := write(b, reach)
	gate, err := client.Open(b.Context(), client.Config{Kafka: reach, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { gate.Close() })
	for range 30 {
		if err := call(gate, circuit); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	return gate, names
}

// write writes what a processor would have written.
func write(b *testing.B, reach []kgo.Opt) (names []string) {
	b.Helper()
	kafka, err := kgo.NewClient(reach...)
	if err != nil {
		b.Fatal(err)
	}
	defer kafka.Close()
	read, err := breaker.Read("bench.yaml", []byte(policies))
	if err != nil {
		b.Fatal(err)
	}
	inForce := schemas.PoliciesInForce{Version: read.Version, Text: policies, Instance: "a", Since: time.Now()}
	records := []*kgo.Record{
		{Topic: stateTopic, Key: []byte("\x00policies"), Value: schemas.AppendPolicies(nil, &inForce)},
	}
	for i := range 1000 {
		state := schemas.State{Circuit: circuit, Enforced: true, Sequence: 1, Born: time.Now(), Policy: "p"}
		if i > 0 {
			state.Circuit = fmt.Sprintf("submission-extraction:route-%d:v4", i)
		}
		names = append(names, state.Circuit)
		records = append(records, &kgo.Record{
			Topic: stateTopic, Key: []byte(state.Circuit), Value: schemas.AppendState(nil, &state),
		})
	}
	if err := kafka.ProduceSync(b.Context(), records...).FirstErr(); err != nil {
		b.Fatal(err)
	}
	return names
}

func call(breaker client.Breaker, circuit string) error {
	lease, err := breaker.Enter(context.Background(), circuit)
	if err != nil {
		return err
	}
	return lease.Report(accepted)
}

// BenchmarkFuseboxGate is Enter and Report through Kafka, accepted outcomes added up.
func BenchmarkFuseboxGate(b *testing.B) {
	gate, _ := openGate(b)
	inParallel(b, func() error { return call(gate, circuit) })
}

// BenchmarkFuseboxGateOf1000 is the same on 1,000 circuits, one after the other.
func BenchmarkFuseboxGateOf1000(b *testing.B) {
	gate, names := openGate(b)
	for range 30 {
		for _, name := range names {
			if err := call(gate, name); err != nil {
				b.Fatal(err)
			}
		}
		time.Sleep(20 * time.Millisecond) // The first of each circuit go one by one, and should not fill the queue.
	}
	var next atomic.Int64
	b.ResetTimer()
	inParallel(b, func() error { return call(gate, names[next.Add(1)%int64(len(names))]) })
}

// BenchmarkFuseboxLocal is Enter and Report in one process, every outcome judged at once.
func BenchmarkFuseboxLocal(b *testing.B) {
	p, err := breaker.Read("bench.yaml", []byte(policies))
	if err != nil {
		b.Fatal(err)
	}
	local := client.Local(p)
	defer local.Close()
	inParallel(b, func() error { return call(local, circuit) })
}

// BenchmarkAskFusebox only asks.
func BenchmarkAskFusebox(b *testing.B) {
	gate, _ := openGate(b)
	inParallel(b, func() error {
		_, err := gate.Enter(context.Background(), circuit)
		return err
	})
}
