package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/schemas"
)

// recordedHelp tells in the help of a command what it reads.
const recordedHelp = `Outcomes are JSON lines as 'fusebox emit' takes them, each with its time; plain, gzip or zstd,
told by content. A file is read in its own order, as a log is; several are merged by the newest time that each has come
to. Without a FILE, or for "-", they are read from stdin. A line that is no outcome, or has no time, is named and left
out.`

// recordedFlags are how a command is told where recorded outcomes are, besides the files.
type recordedFlags struct {
	fromTopic    bool
	since, until string
}

func addRecordedFlags(cmd *cobra.Command) *recordedFlags {
	var f recordedFlags
	flags := cmd.Flags()
	flags.BoolVar(&f.fromTopic, "from-topic", false, "read the outcomes topic instead of files")
	flags.StringVar(&f.since, "since", "",
		"with --from-topic: from how `long` ago on, such as 24h or 7d, or a time such as 2026-09-14T12:00:00Z")
	flags.StringVar(&f.until, "until", "", "with --from-topic: up to how `long` ago, or a time; by default now")
	_ = cmd.RegisterFlagCompletionFunc("until", completeUntil)
	return &f
}

// timeOf reads what --since or --until says, the zero time of nothing.
func timeOf(flag, value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if value == "now" {
		return now, nil
	}
	if ago, err := readDuration(value); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Time{}, usageErrorf(
			"--%s %s: want how long ago, such as 30m, 24h or 7d, or a time, such as 2026-09-14T12:00:00Z", flag, value)
	}
	return at, nil
}

// spanOf reads what --since and --until say, the zero time of nothing.
func spanOf(since, until string, now time.Time) (from, to time.Time, err error) {
	if from, err = timeOf("since", since, now); err != nil {
		return from, to, err
	}
	if to, err = timeOf("until", until, now); err != nil {
		return from, to, err
	}
	if !to.IsZero() && !from.Before(to) {
		return from, to, usageErrorf("--until %s: want a time after --since", until)
	}
	return from, to, nil
}

// sequence is outcomes in the order of a log.
type sequence interface {
	// next reads the next outcome, whose strings hold until the next call. After the last one it returns io.EOF.
	next(ctx context.Context, o *schemas.Outcome) error
	close()
}

// recorded is outcomes that were recorded, to be read once.
type recorded struct {
	what    string    // What does the reading, for the progress bar.
	out     io.Writer // For what is said of records that are left out.
	bar     *progressbar.ProgressBar
	sources []*source
	closes  []func()

	read       int64 // Outcomes that were yielded.
	unreadable int64 // Records that were left out as they are no outcome.
	untimed    int64 // Those that have no time.
}

// open opens what a command is to read.
func (f *recordedFlags) open(cmd *cobra.Command, files []string) (*recorded, error) {
	r := &recorded{what: cmd.Name(), out: cmd.ErrOrStderr()}
	if f.fromTopic {
		if len(files) > 0 {
			return nil, usageErrorf("either --from-topic or files, not both")
		}
		if err := r.openTopic(cmd.Context(), f); err != nil {
			r.close()
			return nil, err
		}
		return r, nil
	}
	if f.since != "" || f.until != "" {
		return nil, usageErrorf("--since and --until need --from-topic")
	}
	return r, r.openFiles(cmd.Context(), cmd.InOrStdin(), files)
}

// outcomes yields the outcomes, each of which holds until the next. An error is the last thing that it yields.
func (r *recorded) outcomes(ctx context.Context) iter.Seq2[*schemas.Outcome, error] {
	return func(yield func(*schemas.Outcome, error) bool) {
		defer r.bar.Finish()
		m := merged{sources: r.sources}
		defer r.close()
		defer m.close()
		for {
			o, err := m.next(ctx)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if r.read++; !yield(o, nil) {
				return
			}
		}
	}
}

func (r *recorded) close() {
	for _, c := range r.closes {
		c()
	}
}

// maxLeftOut is how many records that are left out are named one by one.
const maxLeftOut = 20

// leaveOut says why a record is none to judge, unless many were named already.
func (r *recorded) leaveOut(where string, why error) {
	if r.unreadable+r.untimed > maxLeftOut {
		return
	}
	_ = r.bar.Clear()
	fmt.Fprintf(r.out, "%s: %v\n", where, why)
}

// summary says how many records were left out, where any were. It fails where nothing was left to judge.
func (r *recorded) summary() error {
	left := r.unreadable + r.untimed
	if left > maxLeftOut {
		fmt.Fprintf(r.out, "and %d more\n", left-maxLeftOut)
	}
	if left > 0 {
		fmt.Fprintf(r.out, "left out %d of %s: %d could not be read, %d had no time\n",
			left, count(int(left+r.read), "record", "records"), r.unreadable, r.untimed)
	}
	if r.untimed > 0 {
		fmt.Fprintln(r.out, `add "time", such as "2026-09-14T12:00:00Z", to those without: when an answer was judged; `+
			"of what was sent to Kafka without one, --from-topic takes the record's timestamp")
	}
	if r.read == 0 {
		return fmt.Errorf("there is no outcome to judge in what was read")
	}
	return nil
}
