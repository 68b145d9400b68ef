package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// servedPolicies is the built-in policy as a file.
const servedPolicies = `version: 1
policies: [{name: all, match: ["*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}]
`

// serving is one `fusebox run` on Apache Kafka, and the outcomes that it counts.
type serving struct {
	*installation
	run  *runner
	load *bench
}

// startServing starts it with outcomes of so many circuits, each of which has some.
func startServing(b *testing.B, circuits, outcomes int) *serving {
	b.Helper()
	k := kafkatest.Start(b)
	s := &serving{installation: install(b, k, "served", servedPolicies)}
	s.load = &bench{
		circuits: circuits, rate: 10_000, every: 200 * time.Millisecond, out: io.Discard,
		config: config{Brokers: k.Seeds, Compression: "none"},
		site:   &benchSite{prefix: "served.", topics: s.topics, group: s.group, admin: kadm.NewClient(k.Client(b))},
	}
	s.load.config.connection, _ = s.load.config.connect()
	s.run = s.installation.run("a", 2)
	load, err := s.load.newLoad()
	if err != nil {
		b.Fatal(err)
	}
	defer load.client.Close()
	for i := range outcomes {
		load.send(b.Context(), route(i%circuits), "accepted", nil)
	}
	if err := load.flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	s.run.awaitReady("")
	s.awaitCaughtUp()
	return s
}

// timeTrips returns how trips fare for a while, which are of circuits that are new.
func (s *serving) timeTrips(b *testing.B, length time.Duration) *trips {
	b.Helper()
	load, err := s.load.newLoad()
	if err != nil {
		b.Fatal(err)
	}
	defer load.client.Close()
	load.written = int(time.Now().UnixMicro()) // Other circuits than those of before.
	s.load.length = length
	found, err := s.load.trips(b.Context(), load, &brokerWaits{})
	if err != nil {
		b.Fatal(err)
	}
	return found
}

// ask asks for one circuit after the other, so many a second, until the context ends. It returns how many answered, and
// in which time.
func (s *serving) ask(ctx context.Context, b *testing.B, rate int) (answered int64, took spread) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	var all [32][]time.Duration
	var asked atomic.Int64
	began := time.Now()
	for i := range all {
		wg.Go(func() {
			for {
				n := asked.Add(1)
				pause(ctx, time.Until(began.Add(time.Duration(n)*time.Second/time.Duration(rate))))
				if ctx.Err() != nil {
					return
				}
				at := time.Now()
				answer, err := client.Get("http://" + s.run.addr + "/v1/circuits/" + route(rand.IntN(s.load.circuits)))
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if err != nil || answer.StatusCode != http.StatusOK {
					b.Errorf("GET a circuit = %s, %v", answer.Status, err)
					return
				}
				all[i] = append(all[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	times := slices.Concat(all[:]...)
	return int64(len(times)), spreadOf(times)
}

// BenchmarkTripsBesideReads times trips at 10,000 outcomes a second of 1,000 circuits, without and with 500 questions a
// second for a circuit, by turns; and a scrape in between. Each turn takes ten seconds: -benchtime 3x is three of each.
func BenchmarkTripsBesideReads(b *testing.B) {
	const length, questions = 10 * time.Second, 500
	s := startServing(b, 1000, 20_000)
	s.timeTrips(b, 2*time.Second) // Until all is warm.
	var alone, beside, scrapes []float64
	for b.Loop() {
		without := s.timeTrips(b, length)
		ctx, cancel := context.WithCancel(b.Context())
		var wg sync.WaitGroup
		var answered int64
		var took spread
		wg.Go(func() { answered, took = s.ask(ctx, b, questions) })
		with := s.timeTrips(b, length)
		cancel()
		wg.Wait()
		began := time.Now()
		_, page := s.run.get("/metrics")
		scrapes = append(scrapes, float64(time.Since(began).Microseconds())/1000)
		alone, beside = append(alone, without.FromSend.P50), append(beside, with.FromSend.P50)
		b.Logf("%d trips at %.0f outcomes/s: p50 %.1f ms, p99 %.1f; beside %d questions, answered in p50 %.1f ms, "+
			"p99 %.1f: %d trips at %.0f outcomes/s, p50 %.1f ms, p99 %.1f; a scrape of %d KiB %.0f ms",
			without.Trips, without.Rate, without.FromSend.P50, without.FromSend.P99, answered, took.P50, took.P99,
			with.Trips, with.Rate, with.FromSend.P50, with.FromSend.P99, len(page)>>10, scrapes[len(scrapes)-1])
	}
	b.ReportMetric(median(alone), "ms/trip")
	b.ReportMetric(median(beside), "ms/trip-beside-reads")
	b.ReportMetric(median(scrapes), "ms/scrape")
}

// BenchmarkMemoryOfRun measures the most memory that `fusebox run` has had with 100,000 circuits, a million outcomes,
// and people who look at it.
func BenchmarkMemoryOfRun(b *testing.B) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip("only Linux tells the most memory that a process had")
	}
	for b.Loop() {
		s := startServing(b, 100_000, 1_000_000)
		counted := s.peak(b)
		for page := range 20 {
			for _, path := range []string{"/?page=%d", "/v1/circuits?limit=1000&order=worst&match=*-%03d*"} {
				if status, text := s.run.get(fmt.Sprintf(path, page)); status != http.StatusOK {
					b.Fatalf(path+" = %d %s", page, status, text)
				}
			}
		}
		_, page := s.run.get("/metrics")
		b.Logf("/metrics has %d KiB", len(page)>>10)
		b.ReportMetric(counted, "MiB/run")
		b.ReportMetric(s.peak(b), "MiB/run-looked-at")
	}
}

// peak returns the most memory that the instance has had, in MiB.
func (s *serving) peak(b *testing.B) float64 {
	b.Helper()
	process, err := procfs.NewProc(s.run.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	status, err := process.NewStatus()
	if err != nil {
		b.Fatal(err)
	}
	return float64(status.VmHWM) / (1 << 20)
}
