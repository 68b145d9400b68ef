package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

// bench is what the command line asks for, and what it is made with.
type bench struct {
	name     string // Of the group, and with a dot the prefix of the topics.
	outcomes int
	circuits int
	layout   kafka.TopicLayout
	rate     int
	length   time.Duration
	every    time.Duration

	config config
	site   *benchSite
	out    io.Writer // For people, while it works.
}

func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure throughput, and the time from an outcome to the router that sees the trip",
		Long: `Measures on a cluster, with topics and a group of its own, which it deletes afterwards, after Ctrl-C too.
The processor runs in this process, with FUSEBOX_WORKERS workers, FUSEBOX_COMMIT_INTERVAL, the built-in policy and a
temporary data directory.

First it writes outcomes and lets the processor handle them as fast as it can. Then it sends outcomes at a steady rate,
and now and then 20 failures of a circuit that is new: the twentieth trips it. The time runs from when that one is sent,
and from when the brokers have acknowledged it, to when a read_committed reader of the state topic, as a router is one,
holds the record that says so.

` + brokersHelp,
		Example: `  FUSEBOX_BROKERS=kafka:9092 fusebox bench
  fusebox bench --circuits 100000 --outcomes 2000000 --for 1m --json`,
		Args: arguments(),
	}
	var b bench
	flags := cmd.Flags()
	flags.StringVar(&b.name, "name", "",
		"name of its group, and prefix of its topics (default: fusebox-bench- and a number)")
	flags.IntVar(&b.outcomes, "outcomes", 500_000, "outcomes to handle as fast as possible; 0 leaves that out")
	flags.IntVar(&b.circuits, "circuits", 1_000, "circuits that they are spread over")
	flags.Int32Var(&b.layout.Partitions, "partitions", kafka.DefaultPartitions, "partitions of each topic")
	flags.Int16Var(&b.layout.Replication, "replication", 0,
		"replicas of each partition; 0 is 3 where there are three brokers, or else 1")
	flags.IntVar(&b.rate, "rate", 1_000, "outcomes a second while trips are timed")
	flags.DurationVar(&b.length, "for", 20*time.Second, "how long trips are timed; 0 leaves that out")
	flags.DurationVar(&b.every, "every", 200*time.Millisecond, "time between trips, on average")
	asJSON := addJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := b.check(); err != nil {
			return err
		}
		c, err := loadToolConfig()
		if err != nil {
			return err
		}
		b.config, b.out = c, cmd.ErrOrStderr()
		report, err := b.run(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), report)
		}
		_, err = io.WriteString(cmd.OutOrStdout(), report.text())
		return err
	}
	return cmd
}

// check finds all that is wrong with the call.
func (b *bench) check() error {
	var faults []error
	want := func(right bool, format string, values ...any) {
		if !right {
			faults = append(faults, fmt.Errorf(format, values...))
		}
	}
	want(b.name == "" || topicName.MatchString(kafka.TopicsWithPrefix(b.name+".").Transitions),
		"--name %q: want letters, digits, dots, underscores and hyphens, at most 226", b.name)
	want(b.outcomes >= 0, "--outcomes %d: want 0 or more", b.outcomes)
	want(b.circuits > 0, "--circuits %d: want 1 or more", b.circuits)
	want(b.layout.Partitions > 0, "--partitions %d: want 1 or more", b.layout.Partitions)
	want(b.layout.Replication >= 0, "--replication %d: want 0 or more", b.layout.Replication)
	want(b.rate > 0 && b.rate <= 1_000_000, "--rate %d: want 1 to 1000000", b.rate)
	want(b.length >= 0, "--for %v: want 0 or more", b.length)
	want(b.every >= time.Millisecond, "--every %v: want 1ms or more", b.every)
	want(b.outcomes > 0 || b.length > 0, "--outcomes 0 --for 0: nothing is left to measure")
	if len(faults) > 0 {
		return usageErrorf("%w", errors.Join(faults...))
	}
	return nil
}

// run makes the site, measures, and takes the site away again, whatever happened in between.
func (b *bench) run(ctx context.Context) (report *benchReport, err error) {
	client, err := b.config.dial(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if b.site, err = newBenchSite(ctx, client, b.name); err != nil {
		return nil, err
	}
	b.announce()
	defer func() { err = errors.Join(err, b.site.remove(context.WithoutCancel(ctx), b.out)) }()
	topics, err := kafka.EnsureTopics(ctx, client, b.site.topics, b.layout)
	if err != nil {
		return nil, err
	}
	report = &benchReport{
		Circuits: b.circuits, Partitions: topics[0].Partitions, Replication: topics[0].Replication,
		Workers: b.config.Workers,
	}
	return report, b.measure(ctx, report)
}

// announce says what will be made, before anything is.
func (b *bench) announce() {
	timed := 0
	if b.length > 0 {
		timed = int(b.length.Seconds()*float64(b.rate)) + b.trippable()*tripOutcomes
	}
	fmt.Fprintf(b.out, "creates the topics %s* (%s each) and the group %s at %s,\n", b.site.prefix,
		count(int(b.layout.Partitions), "partition", "partitions"), b.site.group, strings.Join(b.config.Brokers, ", "))
	fmt.Fprintf(b.out, "writes about %s of 350 bytes, and deletes the topics and the group afterwards\n",
		count(b.outcomes+timed, "outcome", "outcomes"))
}

// trippable is how many trips are timed, on average.
func (b *bench) trippable() int { return int(b.length / b.every) }

// measure fills the topic, runs the processor, and times it.
func (b *bench) measure(ctx context.Context, report *benchReport) (err error) {
	load, err := b.newLoad()
	if err != nil {
		return err
	}
	defer load.client.Close()
	if err := b.fill(ctx, load); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fusebox-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	waits := &brokerWaits{}
	loop, err := b.processor(dir, waits)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	running, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	began := time.Now()
	wg.Go(func() {
		if err := loop.Run(running); err != nil {
			stop(fmt.Errorf("the processor has ended: %w", err))
		}
	})
	if report.Throughput, err = b.throughput(ctx, loop, began); err != nil {
		return cause(ctx, err)
	}
	if b.length == 0 {
		return nil
	}
	report.Trips, err = b.trips(ctx, load, waits)
	return cause(ctx, err)
}

// cause returns why a context ended, where an error is that it did.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// processor makes the processor that is measured.
func (b *bench) processor(dir string, waits *brokerWaits) (*kafka.Loop, error) {
	c := b.config
	c.oneShot = false
	if environment()["FUSEBOX_LOG_LEVEL"] == "" {
		c.LogLevel = slog.LevelWarn
	}
	k := c.processor(breaker.Builtin(), c.logger(b.out), newRegistry())
	k.Group, k.Instance, k.Topics, k.DataDir = b.site.group, "bench", b.site.topics, dir
	k.Client = append(k.Client, waits.option())
	k.MaxCircuits = max(k.MaxCircuits, b.circuits+2*b.trippable()) // Each trip is of a circuit that is new.
	loop, err := kafka.New(k)
	if err != nil {
		return nil, &statusError{exitUsage, err}
	}
	return loop, nil
}
