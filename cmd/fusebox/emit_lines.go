package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

const (
	maxLine  = 64 << 10 // What a record may have; the processor would set a longer one aside.
	maxFacts = 100      // Refused lines that are told one by one.

	longAgo = time.Hour // Longer than most windows of time.
)

// errTooLong is of a line over maxLine.
var errTooLong = errors.New("longer than 64 KiB")

// emitter sends lines and counts what became of them.
type emitter struct {
	client *kgo.Client
	topic  string
	pace   *pacer // nil sends at once.
	bar    *progressbar.ProgressBar
	ends   time.Time // When the last line will be sent; the zero time where nobody knows, and the bar counts bytes.

	mu      sync.Mutex // Guards what follows: acknowledgements come from the client's goroutines.
	out     io.Writer
	pending int64 // Given to the client.
	sent    int64 // Acknowledged.
	refused int64
	failed  int64
	old     int64 // Sent as they were, of longAgo.
	summed  bool  // The summary was made.

	noted map[string]bool // Words that nobody knows and that were told of; at most maxFacts. Of the sending goroutine.
}

// lines sends the lines of one input. Its first line, where times are moved, happens now.
func (e *emitter) lines(ctx context.Context, in input) error {
	if e.pace != nil {
		e.pace.first = time.Time{}
	}
	reader := bufio.NewReaderSize(in, maxLine+2)
	for number := 1; ; number++ {
		line, read, err := readLine(reader)
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		where := fmt.Sprintf("%sline %d", in.name, number)
		if errors.Is(err, errTooLong) {
			e.refuse(where, err)
		} else if len(line) > 0 {
			if err := e.line(ctx, where, line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return fmt.Errorf("read %s: %w", where, err)
		}
		e.passed(read)
	}
}

// readLine returns the next line without its end and the white space around it, and how many bytes it took. The line
// holds until the next one is read. Of a line that is too long it returns errTooLong, and has passed it. The last line
// comes with io.EOF.
func readLine(r *bufio.Reader) (line []byte, read int, err error) {
	text, err := r.ReadSlice('\n')
	read = len(text)
	if !errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.TrimSpace(text)
		if len(line) > maxLine {
			return nil, read, errTooLong
		}
		return line, read, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = r.ReadSlice('\n')
		read += len(text)
	}
	if err != nil && err != io.EOF {
		return nil, read, err
	}
	return nil, read, errTooLong
}

// line sends one line, or refuses it. Its error ends the run.
func (e *emitter) line(ctx context.Context, where string, line []byte) error {
	var o schemas.Outcome
	if err := schemas.DecodeOutcome(nil, line, &o); err != nil {
		e.refuse(where, err)
		return nil
	}
	e.noteWords(where, line, &o)
	if e.pace != nil {
		at, err := e.pace.wait(ctx, o.Time)
		if err != nil {
			return err
		}
		if line, err = setTime(line, at); err != nil {
			e.refuse(where, err)
			return nil
		}
	}
	e.mu.Lock()
	e.pending++
	if e.pace == nil && !o.Time.IsZero() && time.Since(o.Time) > longAgo {
		e.old++
	}
	e.mu.Unlock()
	record := &kgo.Record{Topic: e.topic, Key: []byte(o.Circuit), Value: bytes.Clone(line)}
	e.client.Produce(ctx, record, func(_ *kgo.Record, err error) {
		e.settle(where, err)
	})
	return ctx.Err()
}

// refuse counts a line that was not sent, and says why.
func (e *emitter) refuse(where string, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused++
	e.say(where, why, e.refused)
}

// settle counts what became of a line that was given to the client. After the summary nobody asks.
func (e *emitter) settle(where string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending--
	switch {
	case err == nil:
		e.sent++
	case !e.summed:
		e.failed++
		e.say(where, err, e.failed)
	}
}

func (e *emitter) say(where string, why error, nth int64) {
	if nth > maxFacts {
		return
	}
	_ = e.bar.Clear()
	fmt.Fprintf(e.out, "%s: %v\n", where, why)
	if nth == maxFacts {
		fmt.Fprintf(e.out, "further lines like this are counted and not told\n")
	}
}

// note says what may surprise somebody who sent recorded outcomes as they were.
func (e *emitter) note() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.old > 0 {
		fmt.Fprintf(e.out, "%d happened more than %s ago, and windows of time do not count those; "+
			"--retime moves them to now\n", e.old, schemas.Brief(longAgo))
	}
}

func (e *emitter) summary(took time.Duration) emitted {
	_ = e.bar.Finish()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.summed = true
	seconds := took.Seconds()
	return emitted{
		Sent: e.sent, Refused: e.refused, Failed: e.failed + e.pending,
		Seconds: math.Round(seconds*1000) / 1000, Rate: math.Round(float64(e.sent) / max(seconds, 1e-3)),
	}
}

// pacer moves recorded times to now and waits for them.
type pacer struct {
	speed float64
	first time.Time // The recorded time of the first line that had one.
	began time.Time // When that line was sent.
}

// wait returns the time of a line moved to now, and only when it has come. Times before those of earlier lines have
// come already. A line without a time is sent at once, as of now.
func (p *pacer) wait(ctx context.Context, recorded time.Time) (time.Time, error) {
	if recorded.IsZero() {
		return time.Now(), ctx.Err()
	}
	if p.first.IsZero() {
		p.first, p.began = recorded, time.Now()
	}
	at := p.began.Add(time.Duration(float64(recorded.Sub(p.first)) / p.speed))
	pause(ctx, time.Until(at))
	return at, ctx.Err()
}

// setTime returns the line with another time and all its other members as they were.
func setTime(line []byte, at time.Time) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	members["time"], _ = at.UTC().Truncate(time.Millisecond).MarshalJSON()
	return json.Marshal(members)
}
