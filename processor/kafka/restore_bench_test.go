package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	runtimemetrics "runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// BenchmarkRestore measures how long a processor takes from its start until all of its 12 partitions run, with nothing
// to handle: with the store that it left, and with none. Circuits have some 600 bytes, one of a hundred is open.
// FUSEBOX_TEST_RESTORE_CIRCUITS is how many there are.
func BenchmarkRestore(b *testing.B) {
	circuits := 100_000
	if n, err := strconv.Atoi(os.Getenv("FUSEBOX_TEST_RESTORE_CIRCUITS")); err == nil {
		circuits = n
	}
	cluster := kafkatest.NewLoopback(b)
	names := TopicsWithPrefix("b.")
	cluster.CreateTopics(b, "b.", benchPartitions)
	fillChangelog(b, cluster, names, circuits)
	kept := b.TempDir()
	b.Run("wiped", func(b *testing.B) { benchmarkRestore(b, cluster, names, circuits, b.TempDir) })
	untilRunning(b, cluster, names, kept, circuits)
	b.Run("kept", func(b *testing.B) {
		benchmarkRestore(b, cluster, names, circuits, func() string { return kept })
	})
}

const benchPartitions = 12

func benchmarkRestore(b *testing.B, cluster *kafkatest.Cluster, names Topics, circuits int, dir func() string) {
	before, peak, sum := heap(), uint64(0), time.Duration(0)
	for b.Loop() {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { peak = max(peak, watchHeap(stop)) })
		sum += untilRunning(b, cluster, names, dir(), circuits)
		close(stop)
		wg.Wait()
	}
	b.ReportMetric(sum.Seconds()/float64(b.N), "s/restore")
	b.ReportMetric(float64(peak-min(peak, before))/(1<<20), "MiB-heap")
}

// untilRunning starts a processor, waits until all of its partitions run, and ends it as a kill would leave it.
func untilRunning(b *testing.B, cluster *kafkatest.Cluster, names Topics, dir string, circuits int) time.Duration {
	b.Helper()
	l, err := New(Config{
		Group: "bench", Instance: "a", Topics: names, Client: cluster.Opts(), DataDir: dir, Workers: 2,
		Logger: benchLog(), Metrics: prometheus.NewRegistry(), MaxCircuits: 2 * circuits,
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	begin := time.Now()
	go func() { ended <- l.Run(ctx) }()
	for r := l.Ready(); !r.Ready || len(r.Partitions) < benchPartitions; r = l.Ready() {
		if time.Since(begin) > 5*time.Minute {
			b.Fatalf("not ready: %+v", r)
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begin)
	if os.Getenv("BENCH_LOG") != "" {
		fmt.Println("TOOK", took)
	}
	if known := l.known.Load(); known != int64(circuits) {
		b.Errorf("%d circuits are known, want %d", known, circuits)
	}
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	return took
}

func heap() uint64 {
	sample := []runtimemetrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	runtimemetrics.Read(sample)
	return sample[0].Value.Uint64()
}

func watchHeap(stop <-chan struct{}) (peak uint64) {
	for {
		select {
		case <-stop:
			return peak
		case <-time.After(10 * time.Millisecond):
			peak = max(peak, heap())
		}
	}
}

// benchValues returns values of circuits that differ.
func benchValues(b *testing.B, kind string) (values [][]byte) {
	b.Helper()
	core, at := processor.New(breaker.Builtin()), time.Now().Add(-time.Minute)
	for c := range 200 {
		for i := range 45 {
			o := schemas.Outcome{Circuit: fmt.Sprint("c", c), Kind: kind, ID: fmt.Sprint(c, "-", i), Count: 1}
			core.Step(at.Add(time.Duration(i)*100*time.Millisecond), processor.Input{Outcome: &o})
		}
	}
	for _, value := range core.Changes() {
		values = append(values, value.Append(nil))
	}
	return values
}

// fillChangelog writes circuits to the changelog as a processor would have left them.
func fillChangelog(b *testing.B, cluster *kafkatest.Cluster, names Topics, circuits int) {
	b.Helper()
	client := cluster.Client(b, kgo.DefaultProduceTopic(names.Changelog), kgo.MaxBufferedRecords(100_000),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	k, err := connect(context.Background(), Config{Group: "bench", Topics: names}, cluster.Opts())
	if err != nil {
		b.Fatal(err)
	}
	defer k.client.Close()
	var failed atomic.Pointer[error]
	produce := func(partition int32, key string, value []byte) {
		client.Produce(context.Background(), &kgo.Record{Partition: partition, Key: []byte(key), Value: value},
			func(_ *kgo.Record, err error) {
				if err != nil {
					failed.Store(&err)
				}
			})
	}
	closed, open := benchValues(b, schemas.Accepted), benchValues(b, schemas.MissingEvidence)
	b.Logf("a closed circuit has %d bytes, an open one %d", len(closed[0]), len(open[0]))
	hash := kgo.StickyKeyPartitioner(nil).ForTopic("")
	known := map[int32]int{}
	for i := range circuits {
		circuit := fmt.Sprintf("use-case-%d:route-%d:v1", i%7, i)
		value := closed[i%len(closed)]
		if i%100 == 0 {
			value = open[i/100%len(open)]
		}
		partition := int32(hash.Partition(&kgo.Record{Key: []byte(circuit)}, benchPartitions))
		known[partition]++
		produce(partition, circuit, value)
	}
	policies := breaker.Builtin()
	for i := range int32(benchPartitions) {
		produce(i, policiesKey(0), []byte(policies.Text))
		p := progress{Schema: progressSchema, Partitions: benchPartitions, ClockMS: time.Now().UnixMilli(), Number: 1,
			Outcomes: inputPosition{TopicID: k.topicIDs[names.Outcomes]}, Policies: policies.Version,
			Signals: inputPosition{TopicID: k.topicIDs[names.Signals]}, Writer: "bench", Circuits: known[i]}
		produce(i, progressKey, p.append(nil))
	}
	if err := client.Flush(context.Background()); err != nil || failed.Load() != nil {
		b.Fatalf("fill the changelog: %v, %v", err, failed.Load())
	}
}

func benchLog() *slog.Logger {
	if os.Getenv("BENCH_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
