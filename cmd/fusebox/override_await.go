package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// consumeFrom makes a client consume a topic from given offsets.
func consumeFrom(client *kgo.Client, topic string, from map[int32]int64) {
	offsets := make(map[int32]kgo.Offset, len(from))
	for partition, offset := range from {
		offsets[partition] = kgo.NewOffset().At(offset)
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets})
}

// await waits for state records that have each signal in them, and says of each circuit what it is now. A record has
// a signal in it if its inputs are past the signal: the record that the signal made itself may have been overtaken
// within one transaction.
func (r *overrideRequest) await(
	ctx context.Context, client *kgo.Client, cmd *cobra.Command, read *stateTopic, sent map[string]*kgo.Record,
) error {
	out := cmd.OutOrStdout()
	bounded, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	for name := range sent {
		if before := read.circuits[name]; r.signal.Mode == schemas.Clear && before.Override == nil {
			r.answer(out, before.raw, name+": has no override to clear")
			delete(sent, name)
		}
	}
	for len(sent) > 0 {
		fetches := client.PollFetches(bounded)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if bounded.Err() != nil {
			return r.unanswered(cmd.ErrOrStderr(), sent)
		}
		for record := range fetches.RecordsAll() {
			s, err := schemas.DecodeState(record.Value)
			signal := sent[string(record.Key)]
			if signal == nil || err != nil || s.Inputs.Signals <= signal.Offset {
				continue
			}
			delete(sent, s.Circuit)
			now := time.Now()
			what := s.State.String()
			if after := s.Next(now); after != "" {
				what += ", " + after
			}
			r.answer(out, record.Value, fmt.Sprintf("%s: %s, epoch %d", s.Circuit, what, s.Epoch))
		}
	}
	return nil
}

// answer says what came of a signal: in words, or as the record that shows it, where there is one.
func (r *overrideRequest) answer(out io.Writer, record []byte, words string) {
	if !r.asJSON {
		fmt.Fprintln(out, words)
	} else if record != nil {
		fmt.Fprintf(out, "%s\n", record)
	}
}

// unanswered says that the signals are on the log and nobody has shown what came of them: exit status 1.
func (r *overrideRequest) unanswered(out io.Writer, sent map[string]*kgo.Record) error {
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		fmt.Fprintf(out, "%s: %s is on the log; no processor has answered in %v, it takes effect when one does\n",
			name, r.signal.Mode, r.wait)
	}
	return &statusError{status: exitFailed}
}
