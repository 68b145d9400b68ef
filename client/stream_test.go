package client_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// source is a stream of parts, with what became of it.
type source struct {
	parts  []string
	err    error // At its end.
	freed  bool
	opened error
}

func (s *source) open(ctx context.Context) (iter.Seq2[string, error], error) {
	if s.opened != nil {
		return nil, s.opened
	}
	return func(yield func(string, error) bool) {
		defer func() { s.freed = true }()
		for _, part := range s.parts {
			time.Sleep(time.Second)
			if ctx.Err() != nil {
				yield("", ctx.Err())
				return
			}
			if !yield(part, nil) {
				return
			}
		}
		if s.err != nil {
			yield("", s.err)
		}
	}, nil
}

// byParts judges by the parts together.
func byParts(ctx context.Context, parts []string) (client.Outcome, error) {
	return byText(ctx, strings.Join(parts, ""))
}

// TestGuardStream reads streams to their end: they are judged then, and not before.
func TestGuardStream(t *testing.T) {
	for _, tt := range []struct {
		name   string
		source source
		is     error
		kind   string // Of the failure that it is.
	}{
		{"accepted", source{parts: []string{"acc", "ep", "ted"}}, nil, ""},
		{"rejected", source{parts: []string{"invalid_", "contract"}}, client.ErrRejected, client.InvalidContract},
		{"cut short", source{parts: []string{"acc", "ep"}, err: io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF,
			client.TransportFailure},
		{"not judged", source{}, client.ErrEvaluator, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newLocal(t, once)
				stream, err := client.GuardStream(t.Context(), g, gpt, tt.source.open, byParts)
				if err != nil {
					t.Fatal(err)
				}
				var parts []string
				var last error
				for part, err := range stream.All() {
					if last = err; err == nil {
						parts = append(parts, part)
					}
					if s := g.State(gpt); s.Known && err == nil {
						t.Errorf("after the first part the circuit is %+v, want nothing reported", s.State)
					}
				}
				if !slices.Equal(parts, tt.source.parts) || !errors.Is(last, tt.is) || tt.is == nil && last != nil {
					t.Errorf("the stream gave %q and %v, want %q and %v", parts, last, tt.source.parts, tt.is)
				}
				s := g.State(gpt)
				if !s.Known || (s.Cause != nil) != (tt.kind != "") || s.Cause != nil && s.Cause.Kind != tt.kind {
					t.Errorf("the circuit is %v for %+v, want a failure of kind %q", s.State.State, s.Cause, tt.kind)
				}
				if !tt.source.freed || stream.Close() != nil {
					t.Error("the source was not run to its end, or Close failed")
				}
				for _, err := range stream.All() {
					if !errors.Is(err, client.ErrStreamClosed) {
						t.Errorf("a second range = %v, want ErrStreamClosed", err)
					}
				}
			})
		})
	}
}

// TestGuardStreamOpen fails to open: that is the call's error, or the circuit's refusal.
func TestGuardStreamOpen(t *testing.T) {
	g := newLocal(t, once)
	broken := source{opened: errBoom}
	if _, err := client.GuardStream(t.Context(), g, gpt, broken.open, byParts); !errors.Is(err, errBoom) {
		t.Errorf("GuardStream = %v, want the error of open", err)
	}
	if _, err := client.GuardStream(t.Context(), g, gpt, broken.open, byParts); !errors.Is(err, client.ErrRefused) {
		t.Errorf("GuardStream = %v, want a refusal after one failure", err)
	}
}

// TestPitfall23And24Streams leaves a probe's stream in every way that is not the route's fault: it is not blamed, the
// lease is back at once, and the source is freed.
func TestPitfall23And24Streams(t *testing.T) {
	for name, leave := range map[string]func(*client.Stream[string], context.CancelFunc){
		"broken off": func(s *client.Stream[string], _ context.CancelFunc) {
			for range s.All() {
				break
			}
		},
		"closed, never read": func(s *client.Stream[string], _ context.CancelFunc) { _ = s.Close() },
		"closed in the middle": func(s *client.Stream[string], _ context.CancelFunc) {
			for range s.All() {
				_ = s.Close()
			}
		},
		"cancelled in the middle": func(s *client.Stream[string], cancel context.CancelFunc) {
			for range s.All() {
				cancel()
			}
		},
		"a panic of the reader": func(s *client.Stream[string], _ context.CancelFunc) {
			defer func() { _ = recover() }()
			for range s.All() {
				panic("the reader's own")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newLocal(t, once)
				from := source{parts: []string{"a", "b", "c"}}
				probed(t, g, func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					stream, err := client.GuardStream(ctx, g, gpt, from.open, byParts)
					if err != nil {
						t.Fatal(err)
					}
					leave(stream, cancel)
				})
				s := g.State(gpt)
				if s.State.State != schemas.HalfOpen || len(s.Leases) != 0 || s.Probe.Failures != 0 || !from.freed {
					t.Errorf("the circuit is %v with leases %v and %+v, the source freed: %v; want the lease released",
						s.State.State, s.Leases, s.Probe, from.freed)
				}
			})
		})
	}
}
