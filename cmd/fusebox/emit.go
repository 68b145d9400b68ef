package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

func newEmitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "emit [FILE...]",
		Short: "Send recorded outcomes, JSON lines from files or stdin, to the outcomes topic",
		Long: `Send outcomes, one JSON object a line, to the outcomes topic, and wait until the brokers have them.
A line that is no outcome is refused: said with its number and what is wrong, and the rest goes on; the exit status is
then 3. Empty lines are skipped.

Without --retime lines are sent as they are, as fast as possible. Recorded times that lie further back than the
policy's windows are then not counted ("late"), and only show how they are told apart.

With --retime the first line of a file happens now and every other as long after it as was recorded, or with --speed N
in an Nth of that time; each is sent at its time, and all times are rewritten so. A line without a time goes with the
one before.
--speed shortens the gaps and nothing else. What a policy measures in time is not sped up: windows, breaks and ramps
last as long as they say, so that a window of a minute holds N times as many outcomes, and a break of 30 seconds takes
as long as N times that did in the recording. latency_ms stays as recorded too: a call is as long as it was, though
calls follow each other faster, so that more of them began before a circuit's last change and count as stale.

On a terminal --retime shows how many lines of the files are sent, and when the last one will be.

` + brokersHelp,
		Example: `  fusebox emit < outcomes.jsonl
  fusebox emit --retime --speed 20 recorded.jsonl`,
	}
	retime := cmd.Flags().Bool("retime", false, "move recorded times to now and keep the gaps between them")
	speed := cmd.Flags().Float64("speed", 1, "with --retime: shorten the gaps by this `factor`")
	asJSON := addJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if cmd.Flags().Changed("speed") && !*retime {
			return usageErrorf("--speed needs --retime")
		}
		if !(*speed > 0) || *speed > 1e6 {
			return usageErrorf("--speed %v: want a number above 0, at most 1000000", *speed)
		}
		c, err := loadToolConfig()
		if err != nil {
			return err
		}
		e := &emitter{out: cmd.ErrOrStderr(), topic: c.topics().Outcomes}
		if *retime {
			e.pace = &pacer{speed: *speed}
		}
		return e.run(cmd, c, files, *asJSON)
	}
	return cmd
}

// run emits what the command names and prints the summary.
func (e *emitter) run(cmd *cobra.Command, c config, files []string, asJSON bool) error {
	ctx := cmd.Context()
	inputs, total, err := openInputs(ctx, cmd.InOrStdin(), files)
	if err != nil {
		return err
	}
	defer inputs.close()
	client, err := c.dial(ctx, []string{e.topic},
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(time.Minute))
	if err != nil {
		return err
	}
	defer client.Close()
	typed := len(files) == 0 && isTerminal(cmd.InOrStdin())
	if typed {
		fmt.Fprintln(e.out, "reading outcomes from this terminal, one JSON object a line; Ctrl-D ends")
	}
	e.client, e.bar = client, newBar(e.out, "emit", total, isTerminal(e.out) && !typed)
	if e.pace != nil && total >= 0 && isTerminal(e.out) {
		lines, takes, err := survey(ctx, files, e.pace.speed)
		if err != nil {
			return err
		}
		e.bar, e.ends = newRetimeBar(e.out, lines, takes), time.Now().Add(takes)
	}
	began := time.Now()
	err = e.emit(ctx, inputs)
	summary := e.summary(time.Since(began))
	if err := summary.print(cmd.OutOrStdout(), asJSON); err != nil {
		return err
	}
	e.note()
	switch {
	case err != nil:
		return err
	case summary.Failed > 0:
		return fmt.Errorf("%s not acknowledged", count(int(summary.Failed), "outcome was", "outcomes were"))
	case summary.Refused > 0:
		return foundProblems()
	}
	return nil
}

// lastFlush is how long a run that was stopped waits for the brokers to have what it sent.
const lastFlush = time.Second

// emit sends every line of every input and waits for the brokers to have them.
func (e *emitter) emit(ctx context.Context, inputs inputs) error {
	for _, input := range inputs {
		if err := e.lines(ctx, input); err != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			return errors.Join(err, e.client.Flush(last))
		}
	}
	if err := e.client.Flush(ctx); err != nil {
		return fmt.Errorf("wait for the brokers: %w", err)
	}
	return nil
}

// input is one stream of lines.
type input struct {
	name string // For what is said of its lines: "" of stdin, or "FILE: ".
	io.ReadCloser
}

type inputs []input

// openInputs opens the files, all or none, or takes stdin where there are none. It returns their size in bytes, or
// -1 where nobody knows it.
func openInputs(ctx context.Context, stdin io.Reader, files []string) (inputs, int64, error) {
	if len(files) == 0 {
		return inputs{{"", untilDone(ctx, stdin)}}, -1, nil
	}
	var opened inputs
	var total int64
	for _, name := range files {
		file, size, err := openLines(ctx, name)
		if err != nil {
			opened.close()
			return nil, 0, err
		}
		opened = append(opened, input{filepath.Base(name) + ": ", file})
		if size < 0 || total < 0 {
			total = -1
			continue
		}
		total += size
	}
	return opened, total, nil
}

// openLines opens one file, as openUntilDone does, and says what is wrong with the call where that cannot be.
func openLines(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if _, err := statLines(name); err != nil {
		return nil, 0, err
	}
	file, size, err := openUntilDone(ctx, name)
	if err != nil {
		return nil, 0, usageErrorf("%w", unreadable("file", name, err))
	}
	return file, size, nil
}

func (in inputs) close() {
	for _, i := range in {
		i.Close()
	}
}

// emitted is the summary of a run.
type emitted struct {
	Sent    int64   `json:"sent"`
	Refused int64   `json:"refused"`
	Failed  int64   `json:"failed"` // Given to the client, and not acknowledged.
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"rate"` // Sent a second.
}

func (s emitted) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, s)
	}
	failed := ""
	if s.Failed > 0 {
		failed = fmt.Sprintf(", not acknowledged %d", s.Failed)
	}
	_, err := fmt.Fprintf(w, "sent %d, refused %d%s, in %.2f s (%.0f a second)\n",
		s.Sent, s.Refused, failed, s.Seconds, s.Rate)
	return err
}

// newBar returns a progress bar over so many bytes, which is seen only after the first second.
func newBar(w io.Writer, what string, total int64, seen bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w), progressbar.OptionSetVisibility(seen),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription(what), progressbar.OptionThrottle(time.Second),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish())
}
