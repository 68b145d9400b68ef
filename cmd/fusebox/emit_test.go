package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestEmitEndsWhileStdinWaits stops a run whose stdin gives no more lines and does not end.
func TestEmitEndsWhileStdinWaits(t *testing.T) {
	cluster := kafkatest.NewLoopback(t)
	t.Setenv("FUSEBOX_BROKERS", strings.Join(cluster.ListenAddrs(), ","))
	cluster.Create(t, 1, nil, "fusebox.outcomes.v1")
	ctx, cancel := context.WithCancelCause(t.Context())
	typed, typing := io.Pipe()
	defer typing.Close()
	go func() {
		_, _ = io.WriteString(typing, "{\"circuit\":\"c\",\"kind\":\"accepted\"}\n")
		_, _ = typing.Write(nil) // It is taken when the reader comes back for more.
		cancel(signalError{os.Interrupt})
	}()
	cmd := newEmitCommand()
	var out bytes.Buffer
	cmd.SetIn(typed)
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(nil)
	err := cmd.ExecuteContext(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("emit that was stopped = %v, want %v", err, context.Canceled)
	}
	if !strings.HasPrefix(out.String(), "sent ") {
		t.Errorf("emit that was stopped printed %q, want what it sent", &out)
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
