package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor/kafka"
)

func TestHandler(t *testing.T) {
	for _, tt := range []struct {
		name, method, path string
		checks             []check
		status             int
		want               string
	}{
		{"live while nothing is ready", "GET", "/livez", []check{{name: "kafka", missing: "no answer"}}, 200, "ok\n"},
		{"ready", "GET", "/readyz", []check{{name: "kafka"}}, 200, "ready\n"},
		{"not ready", "GET", "/readyz", []check{{name: "kafka"}, {"x", "restoring", ""}}, 503, "not ready\n"},
		{"verbose", "GET", "/readyz?verbose", []check{{name: "kafka"}, {"x", "restoring, 12 to go", ""}}, 503,
			"[+] kafka: ok\n[-] x: restoring, 12 to go\nnot ready\n"},
		{"a note", "GET", "/readyz?verbose", []check{{"policies", "", "old"}}, 200, "[!] policies: old\nready\n"},
		{"all else is the console's", "GET", "/v1/circuits", nil, 404, "404 page not found\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler := newHandler(func() []check { return tt.checks }, newRegistry(), http.NotFoundHandler(),
				slog.New(slog.DiscardHandler))
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
			if got := w.Body.String(); w.Code != tt.status || got != tt.want {
				t.Errorf("%s %s = %d %q, want %d %q", tt.method, tt.path, w.Code, got, tt.status, tt.want)
			}
		})
	}
}

// TestLoopChecks: a partition that runs and does not get on is said to be so once, and not to be well.
func TestLoopChecks(t *testing.T) {
	checks := loopChecks(kafka.Report{
		Partitions: []kafka.PartitionReport{
			{Partition: 0, Phase: "running"}, {Partition: 1, Phase: "running", Problem: "stuck"},
		},
		Missing:  []string{"partition 1 is running: stuck"},
		Degraded: []string{"the store cannot write"},
		Refused:  &kafka.RefusedFile{At: time.Unix(0, 0).UTC(), Faults: []string{"p.yaml:8:51: not so", "and 2 more"}},
	})
	want := []check{
		{"processor", "partition 1 is running: stuck", ""}, {"store", "the store cannot write", ""},
		{name: "partition 0"},
		{name: "policies", note: "the policy file on disk was refused at 1970-01-01T00:00:00Z, " +
			"what was in force stays so: p.yaml:8:51: not so; and 2 more"},
	}
	if !slices.Equal(checks, want) {
		t.Errorf("loopChecks = %v, want %v", checks, want)
	}
}

func TestMetricsNameTheBuild(t *testing.T) {
	handler := newHandler(func() []check { return nil }, newRegistry(), http.NotFoundHandler(),
		slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{"fusebox_build_info{", "go_goroutines ", "process_start_time_seconds "} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET /metrics has no %q", want)
		}
	}
}

func TestServeLetsARequestFinish(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		<-ctx.Done()
		io.WriteString(w, "whole")
	})
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, handler, slog.New(slog.DiscardHandler)) }()
	answer, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); string(body) != "whole" || err != nil {
		t.Errorf("answer of a request under way at the end = %q, %v; want whole", body, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve = %v, want nil after a clean end", err)
	}
}
