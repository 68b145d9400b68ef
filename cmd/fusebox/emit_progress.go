package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/fusebox-project/fusebox/schemas"
)

// survey reads files that are to be sent at the pace at which they were recorded, and returns how many lines they have
// and how long that will take.
func survey(ctx context.Context, files []string, speed float64) (lines int, takes time.Duration, err error) {
	for _, name := range files {
		n, span, err := surveyFile(ctx, name)
		if err != nil {
			return 0, 0, unreadable("file", name, err)
		}
		lines += n
		takes += time.Duration(float64(span) / speed)
	}
	return lines, takes, nil
}

// surveyFile returns how many lines a file has, and how long after the first of its outcomes the newest was.
func surveyFile(ctx context.Context, name string) (lines int, span time.Duration, err error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	reader := bufio.NewReaderSize(file, maxLine+2)
	var first time.Time
	for ctx.Err() == nil {
		line, read, err := readLine(reader)
		if read > 0 {
			lines++
		}
		var o schemas.Outcome
		if !errors.Is(err, errTooLong) && schemas.DecodeOutcome(nil, line, &o) == nil && !o.Time.IsZero() {
			if first.IsZero() {
				first = o.Time
			}
			span = max(span, o.Time.Sub(first))
		}
		if err == io.EOF {
			return lines, span, nil
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return 0, 0, err
		}
	}
	return 0, 0, ctx.Err()
}

// newRetimeBar returns a progress bar over lines that are sent over a time.
func newRetimeBar(w io.Writer, lines int, takes time.Duration) *progressbar.ProgressBar {
	return progressbar.NewOptions(lines,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(endsIn(takes)),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionThrottle(time.Second), progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish())
}

func endsIn(d time.Duration) string {
	return "emit ends in " + schemas.Brief(max(d, 0).Round(time.Second))
}

// passed shows that a line of so many bytes was passed. What a bar cannot show is no fault of the run.
func (e *emitter) passed(read int) {
	if e.ends.IsZero() {
		_ = e.bar.Add(read)
		return
	}
	e.bar.Describe(endsIn(time.Until(e.ends)))
	if read > 0 {
		_ = e.bar.Add(1)
	}
}
