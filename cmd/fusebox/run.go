package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kslog"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/console"
	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/state"
)

func newRunCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the processor",
		Long: `Runs the processor against a Kafka cluster until SIGINT or SIGTERM, configured by environment alone.
It serves the console, the API under /v1 (/openapi.json describes it), /livez, /readyz (?verbose says what is missing)
and /metrics. Instances of one group share the work.
The policy file is read again when it changes, and at SIGHUP; a file that is wrong leaves the last good one in force.

Environment, with defaults:
` + environmentHelp(),
		Example: "  FUSEBOX_BROKERS=kafka:9092 FUSEBOX_POLICY_FILE=policies.yaml fusebox run",
		Args:    arguments(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runProcessor(cmd) },
	}
}

func runProcessor(cmd *cobra.Command) error {
	c, err := loadClusterConfig()
	if err != nil {
		return err
	}
	policies, err := c.policies()
	if err != nil {
		return err
	}
	listener, err := c.listenHTTP()
	if err != nil {
		return err
	}
	defer listener.Close()
	c.limitMemory(cmd.Context())
	log := c.liveLogger(cmd.ErrOrStderr())
	return c.process(cmd.Context(), policies, listener, log)
}

// process runs the processor and its HTTP until the context ends.
func (c config) process(
	ctx context.Context, policies *breaker.Policies, listener net.Listener, log *slog.Logger,
) error {
	registry := newRegistry()
	loop, err := kafka.New(c.processor(policies, log, registry))
	if err != nil {
		return &statusError{exitUsage, err}
	}
	p := newProcess(c, c.PolicyFile, policies, loop, log)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	defer signal.Stop(asked)
	p.reload.asked = asked
	err = p.run(ctx, listener, registry)
	var locked *state.LockedError
	if errors.As(err, &locked) {
		return usageErrorf("%w; give each process a FUSEBOX_DATA_DIR of its own", err)
	}
	return once(err, c.InstanceID)
}

// once says a single time that another process has the same name, which every worker may have met, and what to do.
func once(err error, instance string) error {
	if !errors.Is(err, kafka.ErrTwice) {
		return err
	}
	return fmt.Errorf("%w, %q; give each its own FUSEBOX_INSTANCE_ID", kafka.ErrTwice, instance)
}

// codecs are the compressions by name.
var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "lz4": kgo.Lz4Compression(),
	"snappy": kgo.SnappyCompression(), "zstd": kgo.ZstdCompression(),
}

// compressions are their names.
var compressions = slices.Sorted(maps.Keys(codecs))

// processor returns the configuration of the loop.
func (c config) processor(policies *breaker.Policies, log *slog.Logger, metrics prometheus.Registerer) kafka.Config {
	return kafka.Config{
		Group: c.Group, Instance: c.InstanceID, Topics: c.topics(), Client: c.clientOpts(), DataDir: c.DataDir,
		Version:  "fusebox " + thisBuild().Version,
		Policies: policies, Workers: c.Workers, CommitInterval: c.CommitInterval, ShutdownTimeout: c.ShutdownTimeout,
		MaxResident: c.MaxResidentCircuits, MaxCircuits: c.MaxCircuits, MetricsMaxCircuits: c.MetricsMaxCircuits,
		DeadLetterPayload: c.DLQPayload, Compression: codecs[c.Compression], Logger: log, Metrics: metrics,
	}
}

// process is `fusebox run` under way.
type process struct {
	config    config
	log       *slog.Logger
	loop      *kafka.Loop
	reload    reloader
	unreached atomic.Pointer[string] // Why Kafka has not answered yet; nil once it has.
}

// newProcess returns what runs a loop under policies that were read from a file, "" or builtin where from none.
func newProcess(c config, file string, policies *breaker.Policies, loop *kafka.Loop, log *slog.Logger) *process {
	p := &process{config: c, log: log, loop: loop}
	p.reload = reloader{file: file, loop: loop, log: log, version: policies.Version}
	p.unreached.Store(new("not asked yet"))
	return p
}

// run works until the context ends. HTTP is served from before Kafka is reached until all else has ended.
func (p *process) run(ctx context.Context, listener net.Listener, registry *prometheus.Registry) error {
	ctx, stop := context.WithCancelCause(ctx)
	web, endWeb := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	var wg sync.WaitGroup
	page, err := p.console(listener, registry)
	if err != nil {
		stop(nil)
		endWeb()
		return &statusError{exitUsage, err}
	}
	wg.Go(func() { page.Run(ctx) })
	wg.Go(func() {
		handler := newHandler(func() []check { return p.checks(ctx) }, registry, page.Handler(), p.log)
		if err := serve(web, listener, handler, p.log); err != nil {
			stop(err)
		}
	})
	wg.Go(func() { p.limitShutdown(ctx, ended) })
	if p.reload.file != "" && p.reload.file != builtin {
		wg.Go(func() { p.reload.run(ctx) })
	}
	p.log.Info("HTTP is served", "address", listener.Addr().String())

	err = p.work(ctx)
	close(ended)
	endWeb()
	var asked signalError
	if cause := context.Cause(ctx); err == nil && !errors.As(cause, &asked) {
		err = cause
	}
	stop(nil)
	wg.Wait()
	return err
}

// console returns what serves the API and the page at an address.
func (p *process) console(listener net.Listener, registry *prometheus.Registry) (*console.Console, error) {
	return console.New(console.Config{
		Client: p.config.clientOpts(), Topics: p.config.topics(), Loop: p.loop, Instance: p.config.InstanceID,
		Version: thisBuild().Version, APIToken: string(p.config.APIToken), AdminToken: string(p.config.AdminToken),
		Loopback: isLoopback(listener), Level: p.config.level, Logger: p.log, Metrics: registry,
	})
}

// isLoopback tells whether nobody reaches a listener from elsewhere.
func isLoopback(listener net.Listener) bool {
	at, isTCP := listener.Addr().(*net.TCPAddr)
	return isTCP && at.IP.IsLoopback()
}

// work waits for Kafka and runs the loop. It returns nil when the context ended it.
func (p *process) work(ctx context.Context) error {
	if err := p.awaitKafka(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	return p.loop.Run(ctx)
}

// awaitKafka asks until a broker answers, and says so each time that none does. It returns nil when the context ends.
func (p *process) awaitKafka(ctx context.Context) error {
	const patience, most = 5 * time.Second, 10 * time.Second
	quiet := kgo.WithLogger(kslog.New(slog.New(slog.DiscardHandler)))
	client, err := kgo.NewClient(append(p.config.clientOpts(), quiet)...)
	if err != nil {
		return &statusError{exitUsage, err}
	}
	defer client.Close()
	for wait := time.Second / 2; ; wait = min(2*wait, most) {
		asking, cancel := context.WithTimeout(ctx, patience)
		err := client.Ping(asking)
		cancel()
		if err == nil {
			p.unreached.Store(nil)
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		p.unreached.Store(new("no answer from " + strings.Join(p.config.Brokers, ", ") + ": " + err.Error()))
		p.log.Warn("kafka does not answer, trying again", "brokers", p.config.Brokers, "wait", wait, "err", err)
		pause(ctx, wait)
	}
}

// limitShutdown ends the process when a clean shutdown takes longer than it may. The data directory is a cache: what
// was not written there is read again from Kafka.
func (p *process) limitShutdown(ctx context.Context, ended <-chan struct{}) {
	const settle = time.Second // For what the loop does after it has cut off all that was under way.
	select {
	case <-ended:
		return
	case <-ctx.Done():
		p.log.Info("shutting down", "why", context.Cause(ctx), "within", p.config.ShutdownTimeout)
	}
	timer := time.NewTimer(p.config.ShutdownTimeout + settle)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		p.log.Error("not shut down in time, ended at once", "timeout", p.config.ShutdownTimeout)
		os.Exit(exitFailed)
	}
}

// checks returns what must be so before this instance is ready.
func (p *process) checks(ctx context.Context) []check {
	kafkaCheck := check{name: "kafka"}
	if why := p.unreached.Load(); why != nil {
		kafkaCheck.missing = *why
	}
	checks := []check{kafkaCheck}
	if ctx.Err() != nil {
		checks = append(checks, check{name: "process", missing: "shutting down"})
	}
	return append(checks, loopChecks(p.loop.Ready())...)
}

// loopChecks returns what the processor says of itself. A partition that is not well is among what is missing.
func loopChecks(report kafka.Report) (checks []check) {
	for _, m := range report.Missing {
		checks = append(checks, check{name: "processor", missing: m})
	}
	for _, d := range report.Degraded {
		checks = append(checks, check{name: "store", missing: d})
	}
	for _, partition := range report.Partitions {
		if partition.Phase == "running" && partition.Problem == "" {
			checks = append(checks, check{name: "partition " + strconv.Itoa(int(partition.Partition))})
		}
	}
	if report.Refused != nil {
		checks = append(checks, check{name: "policies", note: report.Refused.String()})
	}
	return checks
}
