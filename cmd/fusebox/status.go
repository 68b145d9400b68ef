package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/near"
	"github.com/fusebox-project/fusebox/schemas"
)

// silence is how long no processor may be heard of before status says so; they are heard every 5 seconds.
const silence = 30 * time.Second

// statusFilter is what status was asked to show.
type statusFilter struct {
	match string
	state string
}

func newStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [CIRCUIT]",
		Short: "Show the circuits and their states, worst first, or one circuit with its cause in full",
		Long: `Show what the state topic holds, as it is now: an override that has run out has ended, a break that is
over is "probe due". What a shadow has come to stands beside its circuit where
the shadow would not be closed. Reads Kafka alone; no processor has to run.

` + brokersHelp,
		Example: `  fusebox status
  fusebox status submission-extraction:gpt-primary:v4
  fusebox status --state open --match "submission-*" --json`,
		Args:              arguments("[CIRCUIT]"),
		ValidArgsFunction: completeCircuit,
	}
	var filter statusFilter
	cmd.Flags().StringVar(&filter.match, "match", "", "only circuits that match this `glob`")
	cmd.Flags().StringVar(&filter.state, "state", "", "only circuits in this `state`, or degraded")
	timeout := cmd.Flags().Duration("timeout", 30*time.Second, "give up when the state topic is not read by then")
	states := cobra.FixedCompletions(stateWords(), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("state", states)
	asJSON := addRecordsFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := filter.check(args); err != nil {
			return err
		}
		read, err := readStatus(cmd.Context(), *timeout)
		if err != nil {
			return err
		}
		now := time.Now()
		if len(args) == 1 {
			return read.printOne(cmd.OutOrStdout(), args[0], now, *asJSON)
		}
		circuits := read.matching(filter, now)
		if *asJSON {
			return printRaw(cmd.OutOrStdout(), circuits)
		}
		read.note(cmd.ErrOrStderr(), now)
		read.noteEmpty(cmd.ErrOrStderr(), circuits)
		return printCircuits(cmd.OutOrStdout(), circuits, read.judges(), now)
	}
	return cmd
}

// readStatus connects and reads the state topic, all within the timeout.
func readStatus(ctx context.Context, timeout time.Duration) (*stateTopic, error) {
	c, err := loadToolConfig()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	topic := c.topics().State
	client, err := c.dial(ctx, []string{topic})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return readStateTopic(ctx, client, topic)
}

func (f statusFilter) check(args []string) error {
	if len(args) == 1 && f != (statusFilter{}) {
		return usageErrorf("--match and --state are for the list; %q is one circuit", args[0])
	}
	if states := stateWords(); f.state != "" && !slices.Contains(states, f.state) {
		return usageErrorf("--state %s: want one of %s", f.state, strings.Join(states, ", "))
	}
	return nil
}

// matching returns the circuits that the filter lets through, the worst first, those that no policy in force matches
// before those that are well.
func (s *stateTopic) matching(filter statusFilter, now time.Time) []known {
	var selected []known
	judges := s.judges()
	for name, k := range s.circuits {
		k.State = judges.Judged(k.At(now))
		if filter.match != "" && !breaker.Glob(filter.match).Matches(name) {
			continue
		}
		if filter.state != "" && filter.state != k.State.State.String() && filter.state != stateWord(&k.State) {
			continue
		}
		selected = append(selected, k)
	}
	slices.SortFunc(selected, func(a, b known) int {
		return schemas.WorseFirst(&a.State, &b.State)
	})
	return selected
}

// note says what a reader should know of the whole, where there is anything.
func (s *stateTopic) note(w io.Writer, now time.Time) {
	switch {
	case s.heartbeat.IsZero() && s.policies == nil:
		fmt.Fprintln(w, "no processor has been heard of yet: nothing counts outcomes")
	case !s.heartbeat.IsZero() && now.Sub(s.heartbeat) > silence:
		fmt.Fprintf(w, "no processor has been heard of for %s: what is shown is as it was then\n",
			ago(now, s.heartbeat))
	}
}

// noteEmpty says why the list is empty, where it is.
func (s *stateTopic) noteEmpty(w io.Writer, shown []known) {
	switch {
	case len(s.circuits) == 0:
		fmt.Fprintf(w, "no circuit has an outcome yet; send some with %s emit\n", program())
	case len(shown) == 0:
		fmt.Fprintf(w, "none of %s is like that\n", count(len(s.circuits), "circuit", "circuits"))
	}
}

func printRaw(w io.Writer, circuits []known) error {
	for _, k := range circuits {
		if _, err := fmt.Fprintf(w, "%s\n", k.raw); err != nil {
			return err
		}
	}
	return nil
}

// printCircuits prints one line a circuit, and a second one with the cause of those that have one.
func printCircuits(w io.Writer, circuits []known, judges *breaker.Policies, now time.Time) error {
	if len(circuits) == 0 {
		return nil
	}
	p := paletteFor(w)
	rows := [][]string{{"STATE", "CIRCUIT", "EPOCH", "SINCE", ""}}
	for _, k := range circuits {
		rows = append(rows, []string{
			stateWord(&k.State), k.Circuit, fmt.Sprint(k.Epoch), clock(now, k.ChangedAt),
			listedNext(&k.State, judges, now),
		})
	}
	lines := table(rows, widthOf(w), func(row, column int, cell string) string {
		if row == 0 {
			return p.faint(cell)
		}
		if column == 0 {
			return p.state(&circuits[row-1].State, cell)
		}
		return cell
	})
	for i := range circuits {
		if why := circuits[i].State.Because(); why != "" {
			lines[i+1] += "\n" + wrap(why, widthOf(w), "  ")
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// listedNext is next, and what a shadow has come to where it would not be closed.
func listedNext(s *schemas.State, judges *breaker.Policies, now time.Time) string {
	words := judges.Next(s, now)
	if s.Shadow == nil || s.Shadow.State == schemas.Closed {
		return words
	}
	return strings.TrimPrefix(words+", shadow "+shadowWords(s.Shadow.Policy, s.Shadow.State, nil), ", ")
}

// printOne prints one circuit in full.
func (s *stateTopic) printOne(w io.Writer, name string, now time.Time, asJSON bool) error {
	k, ok := s.circuits[name]
	if !ok {
		return s.unknown(name)
	}
	if asJSON {
		return printRaw(w, []known{k})
	}
	k.State = k.At(now)
	return writeDetail(w, &k.State, s.policies, now)
}

// unknown is the error of a circuit that the topic does not hold.
func (s *stateTopic) unknown(name string) error {
	if isGlob(name) {
		return usageErrorf("%q is a glob, and no circuit has that name: write --match %q", name, name)
	}
	problem := fmt.Sprintf("%s is not known: no record is kept of it, so it is closed at epoch 0", name)
	return errors.New(problem + near.Question(s.near(name, 3)))
}

// near returns at most so many known names that a name may stand for, the nearest first.
func (s *stateTopic) near(name string, most int) []string {
	return near.Names(name, maps.Keys(s.circuits), most)
}
