package client_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// once is a policy under which one failure opens, and a lease ends after 10s.
const once = `version: 1
defaults: {break: {duration: 30s, jitter: 0}, half_open: {lease: 10s}}
policies: [{name: once, match: ["*"], rules: [{name: one, type: consecutive, threshold: 1}]}]
`

func answers(text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, nil }
}

func fails(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", err }
}

// byText judges an answer by its text, which is a kind.
func byText(_ context.Context, answer string) (client.Outcome, error) {
	return client.Outcome{Kind: answer, ReasonCode: "said_so"}, nil
}

var errBoom = errors.New("boom")

// guardCases are the ways in which a call ends.
var guardCases = []struct {
	name     string
	call     func(context.Context) (string, error)
	evaluate func(context.Context, string) (client.Outcome, error)
	is       error         // What errors.Is finds.
	kind     string        // Of the failure that it is; "" for none.
	verdict  bool          // Good or bad.
	pause    time.Duration // Of the caller's context; 0 for none.
}{
	{"accepted", answers(client.Accepted), byText, nil, "", true, 0},
	{"accepted, in other letters", answers("Accepted"), byText, nil, "", true, 0},
	{"rejected", answers(client.MissingEvidence), byText, client.ErrRejected, client.MissingEvidence, true, 0},
	{"rejected, and no evidence", answers(client.PolicyRejection), byText, client.ErrRejected, "", false, 0},
	{"the call's error", fails(errBoom), byText, errBoom, client.TransportFailure, true, 0},
	{
		"the call's own word", fails(&client.RejectedError{
			Outcome: client.Outcome{Kind: client.InvalidContract, RetryAfter: 2 * time.Minute}, Err: errBoom,
		}), byText, errBoom, client.InvalidContract, true, 0,
	},
	{
		"the call's own word without a kind", fails(&client.RejectedError{Err: errBoom}), byText, errBoom,
		client.TransportFailure, true, 0,
	},
	{
		"the call's own timeout", func(ctx context.Context) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}, byText, context.DeadlineExceeded, client.TransportFailure, true, 5 * time.Second,
	},
	{
		"the evaluator's error", answers("x"),
		func(context.Context, string) (client.Outcome, error) { return client.Outcome{}, errBoom },
		client.ErrEvaluator, "", false, 0,
	},
	{
		"an outcome without a kind", answers("x"),
		func(context.Context, string) (client.Outcome, error) { return client.Outcome{}, nil },
		client.ErrEvaluator, "", false, 0,
	},
	{
		"an outcome that cannot be", answers("x"),
		func(context.Context, string) (client.Outcome, error) {
			return client.Outcome{Kind: client.Accepted, CostUSD: -1}, nil
		},
		client.ErrEvaluator, "", false, 0,
	},
	{
		"the caller's deadline", func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		byText, context.DeadlineExceeded, "", false, time.Second,
	},
	{
		"the caller's deadline, by another name",
		func(ctx context.Context) (string, error) { <-ctx.Done(); return "", os.ErrDeadlineExceeded },
		byText, os.ErrDeadlineExceeded, "", false, time.Second,
	},
	{
		"the caller's deadline, in the evaluator", answers("x"),
		func(ctx context.Context, _ string) (client.Outcome, error) {
			<-ctx.Done()
			return client.Outcome{}, ctx.Err()
		},
		context.DeadlineExceeded, "", false, time.Second,
	},
	{
		"another circuit refused", fails(&client.RefusedError{Circuit: "inner"}), byText, client.ErrRefused, "",
		false, 0,
	},
}

// TestGuardJudges lets a call end in every way, once through a closed circuit under which one failure opens, and once
// as a probe: what the circuit is afterwards tells what was reported, and that the lease is back.
func TestGuardJudges(t *testing.T) {
	for _, tt := range guardCases {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newLocal(t, once)
				run := func() {
					ctx := t.Context()
					if tt.pause > 0 {
						short, cancel := context.WithTimeout(ctx, tt.pause)
						defer cancel()
						ctx = short
					}
					answer, err := client.Guard(ctx, g, gpt, tt.call, tt.evaluate)
					if !errors.Is(err, tt.is) || tt.is == nil && (err != nil || answer == "") {
						t.Errorf("Guard = %q, %v, want the error %v", answer, err, tt.is)
					}
				}
				run()
				s := g.State(gpt)
				if opened := s.Cause != nil; opened != (tt.kind != "") || opened && s.Cause.Kind != tt.kind {
					t.Fatalf("after the call the circuit is %v for %+v, want a failure of kind %q",
						s.State.State, s.Cause, tt.kind)
				}
				probed(t, g, run)
				s = g.State(gpt)
				want := schemas.HalfOpen
				switch {
				case tt.kind != "":
					want = schemas.Open
				case tt.verdict:
					want = schemas.Closed
				}
				if s.State.State != want || len(s.Leases) != 0 {
					t.Errorf("after the probe the circuit is %v with leases %v, want %v without",
						s.State.State, s.Leases, want)
				}
			})
		})
	}
}

// probed opens the circuit by an operator's word and runs what comes as its probe.
func probed(t *testing.T, g *client.LocalGate, run func()) {
	t.Helper()
	if err := g.Override(gpt, schemas.ForceOpen, "ann", "test", time.Second); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if s := g.State(gpt); s.State.State != schemas.Open || s.RetryAfter != 0 {
		t.Fatalf("the circuit is %v, want open with a probe due", s.State.State)
	}
	run()
}

// TestPitfall24GuardCancelled cancels calls: the route is not blamed, whatever the client's error says. A deadline of
// the call's own that was over before is evidence.
func TestPitfall24GuardCancelled(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		blame bool
	}{
		{"by the context's error", context.Canceled, false},
		{"by an error of its own", errBoom, false},
		{"by both", errors.Join(context.DeadlineExceeded, context.Canceled), false},
		{"after the call's own timeout", context.DeadlineExceeded, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newLocal(t, once)
			ctx, cancel := context.WithCancel(t.Context())
			_, err := client.Guard(ctx, g, gpt, func(context.Context) (string, error) {
				cancel()
				return "", tt.err
			}, byText)
			if !errors.Is(err, tt.err) {
				t.Errorf("Guard = %v, want %v", err, tt.err)
			}
			if blamed := g.State(gpt).State.State == schemas.Open; blamed != tt.blame {
				t.Errorf("the route was blamed: %v, want %v", blamed, tt.blame)
			}
			called := false
			_, err = client.Guard(ctx, g, "never", func(context.Context) (string, error) {
				called = true
				return "", nil
			}, byText)
			if called || !errors.Is(err, context.Canceled) {
				t.Errorf("under a context that had ended Guard = %v, called %v; want no call", err, called)
			}
		})
	}
}

// TestGuardRejected wants the answer back with the outcome, and an error in words.
func TestGuardRejected(t *testing.T) {
	g := newLocal(t, once)
	answer, err := client.Guard(t.Context(), g, gpt, answers(client.MissingEvidence), byText)
	var rejected *client.RejectedError
	if !errors.As(err, &rejected) || answer != client.MissingEvidence || rejected.Outcome.ReasonCode != "said_so" {
		t.Fatalf("Guard = %q, %v, want the answer, and the outcome", answer, err)
	}
	if want := gpt + " gave no accepted answer: missing_evidence, said_so"; err.Error() != want {
		t.Errorf("Error() = %q, want %q", err.Error(), want)
	}
	called := false
	_, err = client.Guard(t.Context(), g, gpt, func(context.Context) (string, error) {
		called = true
		return "", nil
	}, byText)
	if called || !errors.Is(err, client.ErrRefused) {
		t.Errorf("on an open circuit Guard = %v, called %v; want a refusal and no call", err, called)
	}
}

// TestPitfall39And40GuardRetryAfter lets calls say what the provider asked for: it is kept to the greatest break, and
// what is below 0 is nobody's word.
func TestPitfall39And40GuardRetryAfter(t *testing.T) {
	g := newLocal(t, once)
	_, err := client.Guard(t.Context(), g, "other", fails(&client.RejectedError{
		Outcome: client.Outcome{Kind: client.TransportFailure, RetryAfter: 48 * time.Hour}, Err: errBoom,
	}), byText)
	if want := "other gave no accepted answer: transport_failure: boom"; err == nil || err.Error() != want {
		t.Errorf("Guard = %v, want %q", err, want)
	}
	if wait := g.State("other").RetryAfter; wait < 9*time.Minute {
		t.Errorf("a route that asked for two days is retried after %v, want the greatest break of 10m", wait)
	}
	_, err = client.Guard(t.Context(), g, gpt, fails(&client.RejectedError{
		Outcome: client.Outcome{Kind: client.TransportFailure, RetryAfter: -time.Hour}, Err: errBoom,
	}), byText)
	if wait := g.State(gpt).RetryAfter; !errors.Is(err, errBoom) || wait < 29*time.Second || wait > 30*time.Second {
		t.Errorf("after %v, which asks for less than nothing, RetryAfter = %v, want the break of 30s", err, wait)
	}
}

// TestGuardMeasures wants the call's latency in the outcome, not the evaluator's.
func TestGuardMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, `version: 1
defaults: {minimum_throughput: 1}
policies: [{name: p, match: ["*"], rules: [{name: slow, type: slow_ratio, over: 999ms, threshold: 1}]}]
`)
		pause := func(d time.Duration) func(context.Context) (string, error) {
			return func(context.Context) (string, error) { time.Sleep(d); return "x", nil }
		}
		slow := func(context.Context, string) (client.Outcome, error) {
			time.Sleep(time.Minute)
			return client.Outcome{Kind: client.Accepted}, nil
		}
		if _, err := client.Guard(t.Context(), g, gpt, pause(999*time.Millisecond), slow); err != nil {
			t.Fatal(err)
		}
		if s := g.State(gpt); s.State.State != schemas.Closed {
			t.Fatalf("a call of 999ms is slow: %+v", s.Cause)
		}
		_, _ = client.Guard(t.Context(), g, gpt, pause(time.Second), slow)
		if s := g.State(gpt); s.State.State != schemas.Open {
			t.Error("a call of 1s is not slow")
		}
	})
}

// TestGuardPanics lets call and evaluator panic, and the goroutine end: the panic goes on, and the lease is back.
func TestGuardPanics(t *testing.T) {
	panics := func(context.Context) (string, error) { panic("oh") }
	for _, tt := range []struct {
		name     string
		call     func(context.Context) (string, error)
		evaluate func(context.Context, string) (client.Outcome, error)
		fault    any
		want     schemas.Phase // Of the circuit that was closed.
	}{
		{"call", panics, byText, "oh", schemas.Open},
		{
			"evaluator", answers("x"), func(context.Context, string) (client.Outcome, error) { panic("oh") }, "oh",
			schemas.Closed,
		},
		{
			"the goroutine ends", func(context.Context) (string, error) { runtime.Goexit(); return "", nil }, byText,
			nil, schemas.Closed,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newLocal(t, once)
				run := func() {
					ended := make(chan any)
					go func() {
						defer func() { ended <- recover() }()
						_, _ = client.Guard(t.Context(), g, gpt, tt.call, tt.evaluate)
					}()
					if fault := <-ended; fault != tt.fault {
						t.Errorf("the panic went on as %v, want %v", fault, tt.fault)
					}
				}
				run()
				s := g.State(gpt)
				if s.State.State != tt.want || s.Cause != nil && s.Cause.Evidence[0].ReasonCode != "panic" {
					t.Errorf("the circuit is %v, for %+v, want %v", s.State.State, s.Cause, tt.want)
				}
				probed(t, g, run)
				if s := g.State(gpt); len(s.Leases) != 0 {
					t.Errorf("the lease is not back: %v", s.Leases)
				}
			})
		})
	}
}

// TestGuardOutlivesItsLease lets a probe's call hang: it ends with its lease, and what comes late is no evidence.
func TestGuardOutlivesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, once)
		probed(t, g, func() {
			begin := time.Now()
			_, err := client.Guard(t.Context(), g, gpt, func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}, byText)
			if d := time.Since(begin); d != 10*time.Second || !errors.Is(err, client.ErrExpired) {
				t.Errorf("after %v Guard = %v, want ErrExpired after 10s", d, err)
			}
		})
		s := g.State(gpt)
		if s.State.State != schemas.HalfOpen || s.Probe.Failures != 0 {
			t.Errorf("the circuit is %v with %+v, want a probe without a verdict", s.State.State, s.Probe)
		}
		enter(t, g, gpt)
	})
}

func TestWrap(t *testing.T) {
	g := newLocal(t, once)
	chat := client.Wrap(g, gpt, func(_ context.Context, prompt string) (string, error) {
		return strings.ToLower(prompt), nil
	}, byText)
	if answer, err := chat(t.Context(), "ACCEPTED"); answer != "accepted" || err != nil {
		t.Errorf("chat = %q, %v, want what the model said", answer, err)
	}
	if _, err := chat(t.Context(), "INVALID_CONTRACT"); !errors.Is(err, client.ErrRejected) {
		t.Errorf("chat = %v, want a *RejectedError", err)
	}
	if _, err := chat(t.Context(), "ACCEPTED"); !errors.Is(err, client.ErrRefused) {
		t.Errorf("chat = %v, want a refusal", err)
	}
}
