//go:build synctests

package client_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	outcomesTopic = "r.outcomes.v1"
	reported      = "extraction:gpt-primary:v4"
)

// lines are what was logged.
type lines struct{ syncBuffer }

func (l *lines) with(words string) (found []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, words) {
			found = append(found, line)
		}
	}
	return found
}

const lost = "outcomes were lost"

// reporting runs a test of a reporter in virtual time. All that it starts has ended when the test returns: the bubble
// checks it.
func reporting(t *testing.T, test func(t *testing.T, c *kafkatest.Cluster, config client.Config, log *lines)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, log := kafkatest.New(t), &lines{}
		c.Create(t, 8, nil, outcomesTopic)
		test(t, c, client.Config{
			Prefix: "r.", Router: "router-7", Kafka: c.Opts(), Log: slog.New(slog.NewTextHandler(log, nil)),
		}, log)
	})
}

func newReporter(t *testing.T, config client.Config) *client.Reporter {
	t.Helper()
	r, err := client.NewReporter(t.Context(), config)
	if err != nil {
		t.Fatalf("NewReporter: %v", err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func outcomes(t *testing.T, c *kafkatest.Cluster) (found []schemas.Outcome) {
	t.Helper()
	for _, r := range c.ReadCommitted(t, outcomesTopic) {
		var o schemas.Outcome
		if err := schemas.DecodeOutcome(r.Key, r.Value, &o); err != nil {
			t.Fatalf("a reporter sent %s: %v", r.Value, err)
		}
		found = append(found, o)
	}
	return found
}

func TestReporterFillsIn(t *testing.T) {
	reporting(t, func(t *testing.T, c *kafkatest.Cluster, config client.Config, _ *lines) {
		r := newReporter(t, config)
		err := r.Report(reported, client.Outcome{
			Kind: "odd_tone", Latency: 1834400 * time.Microsecond, CostUSD: 0.0153, InputTokens: 4808,
			Reason: strings.Repeat("é", 200) + "\n", Stage: "re\x00trieval\xff", TraceID: "0af7",
		})
		if err != nil {
			t.Fatalf("Report: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		records := c.ReadCommitted(t, outcomesTopic)
		if len(records) != 1 {
			t.Fatalf("%d records in the topic, want 1", len(records))
		}
		want := kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(&kgo.Record{Key: []byte(reported)}, 8)
		if got := records[0]; string(got.Key) != reported || int(got.Partition) != want {
			t.Errorf("key %q in partition %d, want %q in %d", got.Key, got.Partition, reported, want)
		}
		// As it was sent: readers cut too.
		if sent := string(records[0].Value); !strings.Contains(sent, `"reason":"`+strings.Repeat("é", 128)+`"`) {
			t.Errorf("the reason is not cut at 256 bytes: %s", sent)
		}
		got := outcomes(t, c)[0]
		if len(got.ID) != 26 {
			t.Errorf("id = %q, want a ULID", got.ID)
		}
		got.ID = ""
		filled := schemas.Outcome{
			Circuit: reported, Kind: "odd_tone", LatencyMS: 1834, CostMicros: 15_300, InputTokens: 4808,
			Reason: strings.Repeat("é", 128), Stage: "retrieval\uFFFD", TraceID: "0af7",
			Time: records[0].Timestamp.UTC(), Source: "router-7", Count: 1,
		}
		if !reflect.DeepEqual(got, filled) {
			t.Errorf("outcome = %+v, want %+v", got, filled)
		}
	})
}

func TestReporterRefusesWhatNobodyReads(t *testing.T) {
	reporting(t, func(t *testing.T, c *kafkatest.Cluster, config client.Config, _ *lines) {
		r := newReporter(t, config)
		west := time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -2*60*60))
		for _, tt := range []struct {
			circuit string
			outcome client.Outcome
			want    string
		}{
			{"", client.Outcome{Kind: client.Accepted}, "circuit"},
			{"a\nb", client.Outcome{Kind: client.Accepted}, "control characters"},
			{reported, client.Outcome{}, "no kind"},
			{reported, client.Outcome{Kind: client.Accepted, CostUSD: -0.1}, "-0.1 USD"},
			{reported, client.Outcome{Kind: client.Accepted, CostUSD: math.NaN()}, "NaN USD"},
			{reported, client.Outcome{Kind: client.Accepted, CostUSD: math.Inf(1)}, "+Inf USD"},
			{reported, client.Outcome{Kind: client.Accepted, InputTokens: -3}, "-3 input"},
			{reported, client.Outcome{Kind: client.Accepted, Latency: -time.Second}, "latency -1s"},
			{reported, client.Outcome{Kind: client.Accepted, RetryAfter: -time.Second}, "retry after -1s"},
			{reported, client.Outcome{Kind: client.Accepted, Severity: 17}, "severity 17"},
			{reported, client.Outcome{Kind: client.Accepted, ID: strings.Repeat("i", 300)}, "300 bytes"},
			{reported, client.Outcome{Kind: strings.Repeat("k", 300)}, "300 bytes"},
			{reported, client.Outcome{Kind: client.Accepted, Time: time.Now().AddDate(9000, 0, 0)}, "year 11000"},
			{reported, client.Outcome{Kind: client.Accepted, Time: west}, "year 10000"},
		} {
			if err := r.Report(tt.circuit, tt.outcome); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Report(%q, %+v) = %v, want it refused for %q", tt.circuit, tt.outcome, err, tt.want)
			}
		}
		r.Close()
		if got := outcomes(t, c); len(got) != 0 {
			t.Errorf("sent all the same: %+v", got)
		}
		if err := r.Report(reported, client.Outcome{Kind: client.Accepted}); !errors.Is(err, client.ErrClosed) {
			t.Errorf("Report after Close = %v, want ErrClosed", err)
		}
	})
}

func TestReporterNamesAMissingTopic(t *testing.T) {
	reporting(t, func(t *testing.T, _ *kafkatest.Cluster, config client.Config, _ *lines) {
		config.Topics.Outcomes = "elsewhere"
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := client.NewReporter(ctx, config)
		if err == nil || !strings.Contains(err.Error(), "topic elsewhere") || !errors.Is(err, ctx.Err()) {
			t.Errorf("NewReporter = %v, want it to name the topic that it waited for until its context ended", err)
		}
	})
}

// TestReporterWithoutBrokers lets the brokers take nothing for a while. No call waits for long, what is queued stays
// within its bounds, the number of the lost is logged once a minute, and what was queued arrives in its order.
func TestReporterWithoutBrokers(t *testing.T) {
	reporting(t, func(t *testing.T, c *kafkatest.Cluster, config client.Config, log *lines) {
		config.QueueRecords, config.QueueBytes, config.ReportWait = 100, 1<<20, 20*time.Millisecond
		r := newReporter(t, config)
		away := c.FailProduce(outcomesTopic, kerr.NotEnoughReplicas, -1)
		begin := time.Now()
		full := 0
		for i := range 1_000 {
			before := time.Now()
			err := r.Report(reported, client.Outcome{Kind: client.Accepted, InputTokens: int64(i)})
			if took := time.Since(before); took > config.ReportWait {
				t.Fatalf("Report %d took %v, want at most %v", i, took, config.ReportWait)
			}
			if errors.Is(err, client.ErrQueueFull) {
				full++
			}
		}
		if took := time.Since(begin); took > config.ReportWait {
			t.Errorf("1,000 calls took %v while the queue was full, want one of them to wait", took)
		}
		if s := r.Stats(); full != 900 || s.Lost != 900 || s.Waiting != 100 {
			t.Errorf("%d were refused, Stats() = %+v, want 900 lost and 100 waiting", full, s)
		}
		time.Sleep(59 * time.Second)
		if err := r.Report(reported, client.Outcome{Kind: client.Accepted}); !errors.Is(err, client.ErrQueueFull) {
			t.Errorf("Report = %v, want ErrQueueFull", err)
		}
		if got := log.with(lost); len(got) != 1 {
			t.Errorf("logged in the first minute: %q, want one line", got)
		}
		time.Sleep(2 * time.Second)
		if got := log.with(lost); len(got) != 2 || !strings.Contains(got[1], "=901 ") {
			t.Errorf("logged by the second minute: %q, want another line, and 901 in all", got)
		}
		away.Remove()
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		got := outcomes(t, c)
		for i, o := range got {
			if o.InputTokens != int64(i) {
				t.Fatalf("outcome %d is the %dth that was reported", i, o.InputTokens)
			}
		}
		if s := r.Stats(); len(got) != 100 || s.Outcomes != 100 || s.Records != 100 || s.Waiting != 0 {
			t.Errorf("%d outcomes arrived, Stats() = %+v, want 100", len(got), s)
		}
	})
}

// TestReporterForgetsWhatIsOld keeps the brokers away for so long that what was queued says nothing any more.
func TestReporterForgetsWhatIsOld(t *testing.T) {
	reporting(t, func(t *testing.T, c *kafkatest.Cluster, config client.Config, _ *lines) {
		config.QueueRecords = 10
		r := newReporter(t, config)
		away := c.FailProduce(outcomesTopic, kerr.NotEnoughReplicas, -1)
		for range 10 {
			r.Report(reported, client.Outcome{Kind: client.MissingEvidence})
		}
		time.Sleep(5 * time.Minute)
		if s := r.Stats(); s.Lost != 10 || s.Waiting != 0 {
			t.Errorf("after five minutes Stats() = %+v, want 10 lost and room again", s)
		}
		away.Remove()
		if err := r.Report(reported, client.Outcome{Kind: client.MissingEvidence}); err != nil {
			t.Errorf("Report: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if got := outcomes(t, c); len(got) != 1 {
			t.Errorf("%d outcomes arrived, want the newest", len(got))
		}
	})
}

// TestReporterClosesWithAFullQueue wants Close to be bounded, and to say what is lost.
func TestReporterClosesWithAFullQueue(t *testing.T) {
	reporting(t, func(t *testing.T, c *kafkatest.Cluster, config client.Config, _ *lines) {
		config.QueueRecords = 10
		r := newReporter(t, config)
		c.FailProduce(outcomesTopic, kerr.NotEnoughReplicas, -1)
		for range 10 {
			r.Report(reported, client.Outcome{Kind: client.MissingEvidence})
		}
		begin := time.Now()
		err := r.Close()
		if took := time.Since(begin); took > 6*time.Second {
			t.Errorf("Close took %v, want 5 s or little more", took)
		}
		if err == nil || !strings.Contains(err.Error(), "5s: 10") {
			t.Errorf("Close = %v, want it to say that 10 records are lost", err)
		}
		if again := r.Close(); !errors.Is(again, err) {
			t.Errorf("the second Close = %v, want %v", again, err)
		}
	})
}

// TestReporterIsCutOff breaks every connection on which something is produced: what was sent may have arrived. It is
// given up all the same, and the outcomes of later arrive in their order.
func TestReporterIsCutOff(t *testing.T) {
	reporting(t, func(t *testing.T, c *kafkatest.Cluster, config client.Config, _ *lines) {
		config.QueueRecords = 10
		r := newReporter(t, config)
		var away atomic.Bool
		c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			return nil, errors.New("cut by the test"), away.Load()
		})
		away.Store(true)
		for range 10 {
			r.Report(reported, client.Outcome{Kind: client.MissingEvidence})
		}
		time.Sleep(5 * time.Minute)
		if s := r.Stats(); s.Lost != 10 || s.Waiting != 0 {
			t.Errorf("after five minutes Stats() = %+v, want 10 lost and room again", s)
		}
		away.Store(false)
		for i := range 5 {
			if err := r.Report(reported, client.Outcome{Kind: client.Accepted, InputTokens: int64(i)}); err != nil {
				t.Errorf("Report: %v", err)
			}
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		got := outcomes(t, c)
		for i, o := range got {
			if o.InputTokens != int64(i) {
				t.Errorf("outcome %d is the %dth that was reported", i, o.InputTokens)
			}
		}
		if len(got) != 5 {
			t.Errorf("%d outcomes arrived, want the newest 5", len(got))
		}
	})
}

// TestReporterNeverFindsItsBrokers begins where no broker is.
func TestReporterNeverFindsItsBrokers(t *testing.T) {
	reporting(t, func(t *testing.T, _ *kafkatest.Cluster, config client.Config, log *lines) {
		config.QueueRecords, config.StartUnready = 10, true
		config.Kafka = []kgo.Opt{
			kgo.SeedBrokers("10.0.0.1:9092"),
			kgo.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }),
		}
		r := newReporter(t, config)
		for range 60 {
			for range 10 {
				r.Report(reported, client.Outcome{Kind: client.Accepted})
			}
			time.Sleep(5 * time.Second)
		}
		if s := r.Stats(); s.Waiting > 10 || s.Lost < 590 || len(log.with(lost)) > 6 {
			t.Errorf("Stats() = %+v after five minutes, want at most 10 waiting; logged %q", s, log.with(lost))
		}
		begin := time.Now()
		if err := r.Close(); err == nil || time.Since(begin) > 6*time.Second {
			t.Errorf("Close = %v after %v, want an error after 5 s", err, time.Since(begin))
		}
	})
}
