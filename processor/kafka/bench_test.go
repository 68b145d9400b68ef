package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// BenchmarkLoop measures how many outcomes a second a processor handles that starts on a backlog, in one process with
// kfake: poll, step, commit, store and metrics, 12 partitions, JSON of some 320 bytes.
func BenchmarkLoop(b *testing.B) {
	for _, circuits := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("circuits=%d", circuits), func(b *testing.B) { benchmarkLoop(b, circuits) })
	}
}

func benchmarkLoop(b *testing.B, circuits int) {
	const partitions = 12
	cluster := kafkatest.NewLoopback(b)
	names := TopicsWithPrefix("b.")
	cluster.CreateTopics(b, "b.", partitions)
	fillOutcomes(b, cluster, names.Outcomes, b.N, circuits)
	l, err := New(Config{
		Group: "bench", Instance: "a", Topics: names, Client: cluster.Opts(), DataDir: b.TempDir(), Workers: 2,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	begin := time.Now()
	go func() { ended <- l.Run(ctx) }()
	handled := l.metrics.records.WithLabelValues(names.Outcomes, "handled")
	for value(b, handled) < float64(b.N) {
		if time.Since(begin) > 2*time.Minute {
			b.Fatalf("handled %v of %d outcomes; %+v", value(b, handled), b.N, l.Ready())
		}
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "outcomes/s")
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// fillOutcomes writes outcomes, a tenth of them failures, spread evenly over circuits.
func fillOutcomes(b *testing.B, cluster *kafkatest.Cluster, topic string, n, circuits int) {
	b.Helper()
	client := cluster.Client(b, kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(100_000))
	at := time.Now().Add(-time.Minute)
	for i := range n {
		o := schemas.Outcome{
			ID: fmt.Sprintf("01J%023d", i), Circuit: fmt.Sprintf("use-case-%d:route-%d:v1", i%circuits%7, i%circuits),
			Kind: schemas.Accepted, LatencyMS: int64(200 + i%1800), InputTokens: 4808, OutputTokens: 212,
			CostMicros: 15_300, Provider: "azure.ai.openai", Model: "gpt-4o-2024-08-06", Count: 1,
			Evaluator: schemas.Evaluator{Name: "evidence-verifier", Version: "1.4.0"}, Source: "underwriting-7",
			Time: at.Add(time.Duration(i) * time.Microsecond),
		}
		if i%10 == 0 {
			o.Kind = schemas.MissingEvidence
		}
		client.Produce(context.Background(), &kgo.Record{Key: []byte(o.Circuit), Value: schemas.AppendOutcome(nil, &o)},
			func(_ *kgo.Record, err error) {
				if err != nil {
					b.Error(err)
				}
			})
	}
	if err := client.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
}
