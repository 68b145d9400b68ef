package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// stoppedEmit starts an emit whose stdin gives one line and then neither more nor an end, stops it when a broker is
// asked to take that line, and returns what came of it. The broker answers, or breaks off every time it is asked.
func stoppedEmit(t *testing.T, answers bool) (stdout string, err error) {
	t.Helper()
	cluster := kafkatest.NewLoopback(t)
	t.Setenv("FUSEBOX_BROKERS", strings.Join(cluster.ListenAddrs(), ","))
	cluster.Create(t, 1, nil, "fusebox.outcomes.v1")
	ctx, cancel := context.WithCancelCause(t.Context())
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		cancel(signalError{os.Interrupt})
		return nil, errors.New("broken off"), !answers
	})
	typed, typing := io.Pipe()
	defer typing.Close()
	go func() { _, _ = io.WriteString(typing, "{\"circuit\":\"c\",\"kind\":\"accepted\"}\n") }()
	cmd := newEmitCommand()
	var out bytes.Buffer
	cmd.SetIn(typed)
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(nil)
	err = cmd.ExecuteContext(ctx)
	return out.String(), err
}

func TestEmitEndsWhileStdinWaits(t *testing.T) {
	out, err := stoppedEmit(t, true)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(out, "sent 1, ") {
		t.Errorf("emit that was stopped = %v and printed %q, want %v and one sent", err, out, context.Canceled)
	}
}

func TestEmitEndsWhileBrokersBreakOff(t *testing.T) {
	began := time.Now()
	out, err := stoppedEmit(t, false)
	if took := time.Since(began); !errors.Is(err, context.Canceled) || took > 20*time.Second {
		t.Errorf("emit that was stopped = %v after %v, want %v and soon", err, took, context.Canceled)
	}
	if !strings.HasPrefix(out, "sent 0, refused 0, not acknowledged 1, ") {
		t.Errorf("emit that no broker answered printed %q, want that one was not acknowledged", out)
	}
}

func TestUntilDone(t *testing.T) {
	if got, err := io.ReadAll(untilDone(t.Context(), strings.NewReader("a\nb"))); string(got) != "a\nb" || err != nil {
		t.Errorf("all of untilDone = %q, %v, want all that there is", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	blocked, never := io.Pipe()
	defer never.Close()
	cause := errors.New("stopped")
	cancel(cause)
	if got, err := io.ReadAll(untilDone(ctx, blocked)); len(got) > 0 || !errors.Is(err, cause) {
		t.Errorf("untilDone of what blocks = %q, %v, want nothing and the cause", got, err)
	}
}
