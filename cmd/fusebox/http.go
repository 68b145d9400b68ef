package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// check is one thing that must be so before an instance is ready.
type check struct {
	name    string
	missing string // What is not so yet; empty where all is well.
	note    string // What is not well either, and keeps nothing from being ready.
}

// newHandler serves /livez, /readyz and /metrics, and all else by the console. Live means that this handler answers: it
// never depends on Kafka, so that an outage of Kafka does not restart what waits for it.
func newHandler(
	ready func() []check, registry *prometheus.Registry, console http.Handler, log *slog.Logger,
) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		status, text := readiness(ready(), r.URL.Query().Has("verbose"))
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), Registry: registry, Timeout: 10 * time.Second,
	}))
	mux.Handle("/", console)
	return mux
}

// readiness returns the status and the text of /readyz, verbosely a line a check.
func readiness(checks []check, verbose bool) (int, string) {
	status, word := http.StatusOK, "ready\n"
	var lines strings.Builder
	for _, c := range checks {
		mark, state := "+", "ok"
		if c.missing != "" {
			mark, state = "-", c.missing
			status, word = http.StatusServiceUnavailable, "not ready\n"
		} else if c.note != "" {
			mark, state = "!", c.note
		}
		fmt.Fprintf(&lines, "[%s] %s: %s\n", mark, c.name, state)
	}
	if !verbose {
		return status, word
	}
	return status, lines.String() + word
}

// newRegistry returns a registry with what is known of this binary and its process.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	b := thisBuild()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fusebox_build_info", Help: "What this binary was made from; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go},
	})
	info.Set(1)
	registry.MustRegister(info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// listenHTTP listens where HTTP is to be served.
func (c config) listenHTTP() (net.Listener, error) {
	listener, err := net.Listen("tcp", c.HTTPAddr)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP: %w; set FUSEBOX_HTTP_ADDR to another address", err)
	}
	return listener, nil
}

// serve answers HTTP until the context ends, then lets requests that are under way finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	const finish = time.Second
	server := &http.Server{
		Handler: handler, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	shut := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), finish)
		defer cancel()
		shut <- server.Shutdown(ending)
	})
	err := server.Serve(listener)
	if !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serve HTTP on %s: %w", listener.Addr(), err)
	}
	if err := <-shut; err != nil {
		return errors.Join(fmt.Errorf("end HTTP on %s: %w", listener.Addr(), err), server.Close())
	}
	return nil
}
