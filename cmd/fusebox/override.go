package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/console"
	"github.com/fusebox-project/fusebox/processor/near"
	"github.com/fusebox-project/fusebox/schemas"
)

// answerTime is how long override waits for a processor to show what was asked.
const answerTime = 5 * time.Second

// overrideRequest is what the command line asks for.
type overrideRequest struct {
	signal schemas.Signal // Without its circuit.
	target string         // A circuit or a glob.
	yes    bool
	asJSON bool
	wait   time.Duration
}

func newOverrideCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "override MODE CIRCUIT|GLOB --actor A --reason R [--ttl D]",
		Short: "Put an operator's word on the log: force_open, force_closed, disable, reset or clear",
		Long: `Put an operator's word on the log.

  force_open    routers do not call the route
  force_closed  routers call it whatever its answers are; they are counted, and no rule acts
  disable       routers call it and nothing is counted
  reset         closed, as if it had never tripped, and no override
  clear         end the override: after force_open the circuit is open and its probe is due, else it is closed

A glob is first shown as the circuits it means among those that are known, and asked about; so is a circuit that was
not known before. --yes goes on unasked. Exit status 1 if no processor answers: what was said is then on the log and
takes effect when one does.

` + brokersHelp,
		Example: `  fusebox override force_open extraction:gpt:v4 \
    --actor ann --reason "provider incident" --ttl 30m
  fusebox override clear "extraction:*" \
    --actor ann --reason "incident is over" --yes`,
		Args:              overrideArguments,
		ValidArgsFunction: completeOverride,
	}
	request := overrideRequest{signal: schemas.Signal{Type: schemas.Override}}
	flags := cmd.Flags()
	flags.StringVar(&request.signal.Actor, "actor", "", "who says so (required)")
	flags.StringVar(&request.signal.Reason, "reason", "", "why; routers and status show it (required)")
	flags.Var((*duration)(&request.signal.TTL), "ttl",
		"end by itself after this long, such as 30m or 7d; without it, when it is cleared; watch shows the end "+
			"with the next record")
	flags.BoolVar(&request.yes, "yes", false, "do not ask, of a glob or of a circuit that was not known before")
	flags.DurationVar(&request.wait, "wait", answerTime, "how long to wait for a processor's answer")
	asJSON := addRecordsFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		request.asJSON = *asJSON
		if err := request.parse(args, flags.Changed("ttl")); err != nil {
			return err
		}
		c, err := loadToolConfig()
		if err != nil {
			return err
		}
		return request.run(cmd, c)
	}
	return cmd
}

// overrideArguments checks that a mode and a circuit are there. Where the circuit is missing it says of the mode, too,
// what is wrong with it.
func overrideArguments(cmd *cobra.Command, args []string) error {
	err := arguments("MODE", "CIRCUIT|GLOB")(cmd, args)
	if err != nil && len(args) > 0 {
		_, noMode := modeOf(args[0])
		return errors.Join(noMode, err)
	}
	return err
}

// modeOf reads a mode, with underscores or dashes.
func modeOf(word string) (schemas.Mode, error) {
	mode, ok := schemas.ModeOf(strings.ReplaceAll(word, "-", "_"))
	if !ok {
		return mode, fmt.Errorf("%q is no mode: want force_open, force_closed, disable, reset or clear", word)
	}
	return mode, nil
}

// parse checks the call, all of it.
func (r *overrideRequest) parse(args []string, ttl bool) error {
	var faults []error
	mode, err := modeOf(args[0])
	if err != nil {
		faults = append(faults, err)
	}
	r.signal.Mode, r.target = mode, args[1]
	if err := schemas.CheckCircuit(r.target); err != nil {
		faults = append(faults, fmt.Errorf("%q is no circuit: %w", r.target, err))
	}
	for flag, value := range map[string]string{"--actor": r.signal.Actor, "--reason": r.signal.Reason} {
		if strings.TrimSpace(value) == "" {
			faults = append(faults, fmt.Errorf("%s is missing", flag))
		}
	}
	switch {
	case ttl && r.signal.TTL < time.Millisecond:
		faults = append(faults, fmt.Errorf("--ttl %v: want a positive duration, such as 30m", r.signal.TTL))
	case ttl && (mode == schemas.Reset || mode == schemas.Clear):
		faults = append(faults, fmt.Errorf("--ttl: %s takes none, it is over at once", mode))
	}
	if len(faults) == 0 {
		return nil
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return usageErrorf("%w", errors.Join(faults...))
}

// run finds the circuits, asks if need be, sends the signals, and waits for what comes of them.
func (r *overrideRequest) run(cmd *cobra.Command, c config) error {
	ctx := cmd.Context()
	topics := c.topics()
	client, err := c.dial(ctx, []string{topics.Signals, topics.State}, kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(250*time.Millisecond),
		kgo.MetadataMinAge(100*time.Millisecond)) // The state topic is added late and looked up then.
	if err != nil {
		return err
	}
	defer client.Close()
	bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	read, err := readStateTopic(bounded, client, topics.State)
	if err != nil {
		return err
	}
	circuits, err := r.circuits(read)
	if err != nil {
		return err
	}
	if err := r.confirm(cmd.InOrStdin(), cmd.ErrOrStderr(), read, circuits); err != nil {
		return err
	}
	sent, err := r.send(ctx, client, topics.Signals, circuits)
	if err != nil {
		return err
	}
	consumeFrom(client, topics.State, read.ends)
	return r.await(ctx, client, cmd, read, sent)
}

// isGlob tells whether a name stands for several circuits.
func isGlob(name string) bool { return strings.ContainsAny(name, "*?") }

// circuits returns the circuits that the target means, sorted.
func (r *overrideRequest) circuits(read *stateTopic) ([]string, error) {
	if !isGlob(r.target) {
		return []string{r.target}, nil
	}
	var circuits []string
	for name := range read.circuits {
		if breaker.Glob(r.target).Matches(name) {
			circuits = append(circuits, name)
		}
	}
	switch n := len(circuits); {
	case n == 0:
		return nil, fmt.Errorf("no known circuit matches %q", r.target)
	case n > console.MostOverrides:
		return nil, usageErrorf("%q means %d circuits: say it of at most %d at a time", r.target, n,
			console.MostOverrides)
	}
	slices.Sort(circuits)
	return circuits, nil
}

// confirm shows what a glob means, or that a circuit was not known before, and asks. A circuit that is known is plain
// enough.
func (r *overrideRequest) confirm(in io.Reader, out io.Writer, read *stateTopic, circuits []string) error {
	_, isKnown := read.circuits[r.target]
	switch {
	case isGlob(r.target):
		fmt.Fprintf(out, "%s of %q means %s:\n", r.signal.Mode, r.target, count(len(circuits), "circuit", "circuits"))
		for _, name := range circuits {
			s := read.circuits[name]
			now := s.At(time.Now())
			fmt.Fprintf(out, "  %s: %s\n", name, now.State)
		}
	case isKnown:
		return nil
	default:
		fmt.Fprintf(out, "note: %s was not known before%s\n", r.target, near.Question(read.near(r.target, 3)))
	}
	if r.yes {
		return nil
	}
	return ask(in, out, "Go on?")
}

// send puts one signal for each circuit on the log and returns its records by circuit.
func (r *overrideRequest) send(
	ctx context.Context, client *kgo.Client, topic string, circuits []string,
) (map[string]*kgo.Record, error) {
	var records []*kgo.Record
	for _, name := range circuits {
		signal := r.signal
		signal.Circuit = name
		value := schemas.AppendSignal(nil, &signal)
		records = append(records, &kgo.Record{Topic: topic, Key: []byte(name), Value: value})
	}
	sent := make(map[string]*kgo.Record)
	for _, result := range client.ProduceSync(ctx, records...) {
		if result.Err != nil {
			return nil, fmt.Errorf("send %s of %s: %w", r.signal.Mode, result.Record.Key, result.Err)
		}
		sent[string(result.Record.Key)] = result.Record
	}
	return sent, nil
}
