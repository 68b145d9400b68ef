package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestSecondSignal(t *testing.T) {
	tests := []struct {
		name string
		at   []time.Duration // Signals after the first; the last one ends it.
	}{
		{"a second one", []time.Duration{501 * time.Millisecond}},
		{"the same request twice and three times", []time.Duration{0, 500 * time.Millisecond, time.Second}},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := context.WithCancelCause(t.Context())
			signals := make(chan os.Signal)
			go func() {
				signals <- os.Interrupt
				for _, at := range tt.at {
					pause(t.Context(), at-time.Since(began))
					signals <- syscall.SIGTERM
				}
			}()
			s := secondSignal(nil, signals, cancel)
			if got, want := time.Since(began), tt.at[len(tt.at)-1]; s != syscall.SIGTERM || got != want {
				t.Errorf("%s: secondSignal = %v after %v, want %v after %v", tt.name, s, got, syscall.SIGTERM, want)
			}
			var asked signalError
			if !errors.As(context.Cause(ctx), &asked) || asked.signal != os.Interrupt {
				t.Errorf("%s: the context ended by %v, want the first signal", tt.name, context.Cause(ctx))
			}
		})
	}
	done := make(chan struct{})
	close(done)
	if s := secondSignal(done, nil, nil); s != nil {
		t.Errorf("secondSignal of what is done = %v, want none", s)
	}
}
