package kafka

import (
	"context"
	"log/slog"
	"os"
	runtimemetrics "runtime/metrics"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
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
	fillChangelog(b, cluster.Endpoint, names, benchPartitions, circuits)
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
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), MaxCircuits: 2 * circuits,
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
