package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

func newWatchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow what happens to circuits, one line each, until stopped",
		Long: `Follow the transitions topic, from now on or with --since from an earlier time on: changes of state,
overrides, probes, degradations, each with why and when it was so. It follows until Ctrl-C; with --until it prints
what has happened up to that time, in the order of time, and ends.

With --json it prints each record as it is on the wire. That other policies judge from here on is one line without it,
and with it one for each partition, as each has its record of that.

` + brokersHelp,
		Example: `  fusebox watch
  fusebox watch --since 7d --match "submission-extraction:*" --json
  fusebox watch --since 3h --until now`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("watch takes no argument: write --match %q", args[0])
			}
			return nil
		},
	}
	since := cmd.Flags().String("since", "",
		"begin how `long` ago, such as 1h or 7d, or at a time such as 2026-09-14T12:00:00Z; by default now")
	until := cmd.Flags().String("until", "",
		"end at how `long` ago, or at a time, or at now; it needs --since, and by default nothing ends it")
	_ = cmd.RegisterFlagCompletionFunc("until", completeUntil)
	match := cmd.Flags().String("match", "", "only circuits that match this `glob`")
	asJSON := addRecordsFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		now := time.Now()
		from, to, err := spanOf(*since, *until, now)
		switch {
		case err != nil:
			return err
		case to.After(now):
			return usageErrorf("--until %s: that is still to come; leave it out to follow what happens", *until)
		case !to.IsZero() && from.IsZero():
			return usageErrorf("--until %s: add --since, as in --since 3h --until now", *until)
		}
		c, err := loadToolConfig()
		if err != nil {
			return err
		}
		w := newWatcher(cmd.OutOrStdout(), breaker.Glob(*match), *asJSON)
		w.errOut = cmd.ErrOrStderr()
		if !to.IsZero() {
			return w.past(cmd.Context(), c, from, to)
		}
		return w.follow(cmd.Context(), c, from)
	}
	return cmd
}

// watcher prints records of the transitions topic.
type watcher struct {
	out    io.Writer
	errOut io.Writer
	paint  palette
	match  breaker.Glob
	asJSON bool
	last   map[string]schemas.State // What each circuit was at its last record; at most maxWatched.

	version string         // Of the policies that were told of last.
	judged  map[int32]bool // The partitions that are known to be judged by them.
}

// maxWatched bounds what a watcher remembers, to tell a probe from a transition.
const maxWatched = 100_000

func newWatcher(out io.Writer, match breaker.Glob, asJSON bool) *watcher {
	last := make(map[string]schemas.State)
	return &watcher{out: out, paint: paletteFor(out), match: match, asJSON: asJSON, last: last}
}

// follow reads from a time on, or where that is zero from now on, until the context ends, which is no error.
func (w *watcher) follow(ctx context.Context, c config, since time.Time) error {
	topic := c.topics().Transitions
	from := kgo.NewOffset().AtEnd()
	if !since.IsZero() {
		from = kgo.NewOffset().AfterMilli(since.UnixMilli())
	}
	if isTerminal(w.out) {
		begin := "now"
		if !since.IsZero() {
			begin = clock(time.Now(), since)
		}
		fmt.Fprintf(w.errOut, "following %s from %s on; Ctrl-C ends it\n", strings.Join(c.Brokers, ", "), begin)
	}
	client, err := c.dial(ctx, []string{topic})
	if err != nil {
		return err
	}
	client.Close()
	c.oneShot = false // From here on its log tells when brokers go away.
	client, err = c.dial(ctx, []string{topic}, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(from),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("read %s, partition %d: %w", errs[0].Topic, errs[0].Partition, errs[0].Err)
		}
		records := slices.SortedStableFunc(fetches.RecordsAll(), func(a, b *kgo.Record) int {
			return a.Timestamp.Compare(b.Timestamp)
		})
		for _, r := range records {
			if err := w.show(r); err != nil {
				return err
			}
		}
	}
}

// show prints one record. What this program does not know, of a later version, it passes over.
func (w *watcher) show(r *kgo.Record) error {
	kind, err := schemas.TransitionKind(r.Value)
	if err != nil {
		return nil
	}
	switch kind {
	case schemas.StateRecord:
		if s, err := schemas.DecodeState(r.Value); err == nil && (w.match == "" || w.match.Matches(s.Circuit)) {
			return w.showState(r, &s)
		}
	case schemas.ShadowRecord:
		if s, err := schemas.DecodeState(r.Value); err == nil && (w.match == "" || w.match.Matches(s.Circuit)) {
			return w.showShadow(r, &s)
		}
	case schemas.SwitchRecord:
		if s, err := schemas.DecodeSwitch(r.Value); err == nil && w.match == "" {
			return w.showSwitch(r, &s)
		}
	}
	return nil
}

// showState prints what happened to a circuit.
func (w *watcher) showState(r *kgo.Record, s *schemas.State) error {
	if w.asJSON {
		return printRaw(w.out, []known{{raw: r.Value}})
	}
	var before *schemas.State
	if last, ok := w.last[s.Circuit]; ok {
		before = &last
	}
	if len(w.last) < maxWatched || before != nil {
		w.last[s.Circuit] = *s
	}
	if ofShadow(before, s) {
		return nil // The shadow's own record tells it.
	}
	at := clock(time.Now(), happened(before, s, r.Timestamp))
	words := strings.TrimSuffix(fmt.Sprintf("epoch %d: %s", s.Epoch, reason(before, s)), ": ")
	return w.print(at, s, happening(before, s), words)
}

// showShadow prints what happened to a circuit's shadow, in words that nobody takes for the circuit's.
func (w *watcher) showShadow(r *kgo.Record, s *schemas.State) error {
	if w.asJSON {
		return printRaw(w.out, []known{{raw: r.Value}})
	}
	if s.State == schemas.HalfOpen {
		return nil // Half-open for the length of one outcome, or until a second: what comes of it is told.
	}
	_, err := fmt.Fprintln(w.out, w.paint.faint(clock(time.Now(), s.ChangedAt))+"  "+w.paint.bold(s.Circuit)+"  "+
		"shadow "+shadowWords(s.Policy, s.State, s.Cause))
	return err
}

// print prints one event, on one line, or where a terminal is too narrow on several.
func (w *watcher) print(at string, s *schemas.State, what, why string) error {
	const indent = "          " // As wide as a time of today.
	width := widthOf(w.out)
	line := w.paint.faint(at) + "  " + w.paint.bold(s.Circuit)
	rest := "  " + w.paint.state(s, what)
	if width > 0 && visible(line+rest) > width {
		rest = "\n" + wrap(w.paint.state(s, what), width, indent)
	}
	if width > 0 && visible(line+rest)+2+visible(why) > width {
		rest += "\n" + wrap(why, width, indent)
	} else {
		rest += "  " + why
	}
	_, err := fmt.Fprintln(w.out, line+rest)
	return err
}

// showSwitch prints that other policies judge from now on: once, and not for every partition. It belongs to no circuit.
func (w *watcher) showSwitch(r *kgo.Record, s *schemas.PolicySwitch) error {
	if w.asJSON {
		return printRaw(w.out, []known{{raw: r.Value}})
	}
	if w.version == s.Policies.Version && !w.judged[r.Partition] {
		w.judged[r.Partition] = true
		return nil
	}
	w.version, w.judged = s.Policies.Version, map[int32]bool{r.Partition: true}
	_, err := fmt.Fprintf(w.out, "%s  policies %s judge from here on\n",
		clock(time.Now(), r.Timestamp), s.Policies.Version)
	return err
}
