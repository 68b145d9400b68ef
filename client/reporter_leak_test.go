package client_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestReporterLeavesNothing wants no goroutine of a reporter to outlive it, whether it closes with the brokers there or
// away, or could not begin.
func TestReporterLeavesNothing(t *testing.T) {
	fake := kafkatest.NewLoopback(t)
	fake.CreateTopics(t, "fusebox.", 2)
	before := goleak.IgnoreCurrent()
	config := client.Config{Kafka: fake.Opts(), Log: slog.New(slog.DiscardHandler)}
	for range 3 {
		r, err := client.NewReporter(t.Context(), config)
		if err != nil {
			t.Fatalf("NewReporter: %v", err)
		}
		if err := r.Report("c", client.Outcome{Kind: client.Accepted}); err != nil {
			t.Errorf("Report: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		config.Prefix = "nowhere."
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := client.NewReporter(ctx, config); err == nil {
			t.Fatal("NewReporter without a topic gave no error")
		}
		cancel()
		config.Prefix = ""
	}
	verifyNone(t, before)
}

// verifyNone wants no goroutine but those of before, and those with which the broker, which is in this process too,
// serves a connection: it may notice late that one has ended.
func verifyNone(t *testing.T, before goleak.Option) {
	t.Helper()
	const connection = "github.com/twmb/franz-go/pkg/kfake.(*clientConn)"
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction(connection+".read"),
		goleak.IgnoreAnyFunction(connection+".read.func1"), goleak.IgnoreAnyFunction(connection+".write"),
		goleak.IgnoreAnyFunction(connection+".write.func1"))
}

// TestEnterAndReportAllocateNothing holds what BenchmarkEnterReport measures, once there are enough outcomes to add up.
func TestEnterAndReportAllocateNothing(t *testing.T) {
	g, circuit := filled(t, 10), circuitName(3)
	call := func() {
		lease, err := g.Enter(t.Context(), circuit)
		if err == nil {
			err = lease.Report(ordinary)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		call()
	}
	if n := testing.AllocsPerRun(100_000, call); n >= 1 {
		t.Errorf("Enter and Report allocate %v times, want none, but for what is sent", n)
	}
}
