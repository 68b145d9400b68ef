//go:build synctests

package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestNothingToCall gives functions nothing to call: they say so at once, by their name, and enter nothing.
func TestNothingToCall(t *testing.T) {
	local := client.Local(nil)
	call := answers(client.Accepted)
	wrapped := func(context.Context, int) (string, error) { return "", nil }
	opened := func(context.Context) (iter.Seq2[string, error], error) { return nil, nil }
	whole := func(context.Context, []string) (client.Outcome, error) { return client.Outcome{}, nil }
	type stages = map[string]client.Stage[string]
	for name, use := range map[string]func(){
		"Guard: no call":       func() { _, _ = client.Guard(t.Context(), local, gpt, nil, byText) },
		"Guard: no evaluate":   func() { _, _ = client.Guard(t.Context(), local, gpt, call, nil) },
		"Guard: no breaker":    func() { _, _ = client.Guard(t.Context(), nil, gpt, call, byText) },
		"Wrap: no call":        func() { client.Wrap[int](local, gpt, nil, byText) },
		"Wrap: no evaluate":    func() { client.Wrap(local, gpt, wrapped, nil) },
		"GuardStream: no open": func() { _, _ = client.GuardStream(t.Context(), local, gpt, nil, whole) },
		"GuardStream: no evaluate": func() {
			_, _ = client.GuardStream(t.Context(), local, gpt, opened, nil)
		},
		"Fallback: no call": func() {
			_, _ = client.Fallback(t.Context(), local, "extraction", stages{gpt: {}}, byText)
		},
		"Fallback: no evaluate": func() {
			_, _ = client.Fallback(t.Context(), local, "extraction", stages{gpt: {Call: call}}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				function, _, _ := strings.Cut(name, ":")
				if fault := fmt.Sprint(recover()); !strings.HasPrefix(fault, "client."+function+" wants ") {
					t.Errorf("panic %q, want it to name client.%s", fault, function)
				}
				if s := local.State(gpt); s.Known {
					t.Errorf("the circuit was entered: %+v", s)
				}
			}()
			use()
		})
	}
}

// TestDoctoredTickets reads tickets that no lease gave: what came of them would be no outcome that anybody can read.
func TestDoctoredTickets(t *testing.T) {
	local := client.Local(nil)
	lease := enter(t, local, gpt)
	good := lease.Ticket()
	if _, err := local.Lease(good); err != nil {
		t.Fatalf("Lease(%q) = %v", good, err)
	}
	part := strings.SplitN(good, "/", 6)
	for what, replace := range map[string]func([]string){
		"an epoch that no reader keeps exact":   func(p []string) { p[1] = "9007199254740994" },
		"an epoch beyond an int64":              func(p []string) { p[1] = "99999999999999999999" },
		"a negative epoch":                      func(p []string) { p[1] = "-1" },
		"no id for the outcome":                 func(p []string) { p[2] = "" },
		"another id for the outcome":            func(p []string) { p[2] = "\x00" },
		"a lease without a deadline":            func(p []string) { p[3] = "L1" },
		"a lease of control characters":         func(p []string) { p[3], p[4] = "L\n1", "1764500000000" },
		"a lease that is too long":              func(p []string) { p[3], p[4] = strings.Repeat("L", 201), "1" },
		"a deadline without a lease":            func(p []string) { p[4] = "1764500000000" },
		"a negative deadline":                   func(p []string) { p[3], p[4] = "L1", "-1" },
		"no circuit":                            func(p []string) { p[5] = "" },
		"a circuit that no record can be about": func(p []string) { p[5] = "a\x00b" },
		"another form":                          func(p []string) { p[0] = "fb9" },
	} {
		doctored := append([]string(nil), part...)
		replace(doctored)
		text := strings.Join(doctored, "/")
		if _, err := local.Lease(text); !errors.Is(err, client.ErrTicket) {
			t.Errorf("%s: Lease(%q) = %v, want ErrTicket", what, text, err)
		}
		if err := local.Resume(t.Context(), text); !errors.Is(err, client.ErrTicket) {
			t.Errorf("%s: Resume(%q) = %v, want ErrTicket", what, text, err)
		}
	}
}

// TestReportWithoutAKind does not use the lease up, of a probe neither.
func TestReportWithoutAKind(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		for range 2 {
			lease := w.enter(g, circuit)
			if err := lease.Report(client.Outcome{ReasonCode: "no_citation"}); !errors.Is(err, client.ErrNoKind) {
				t.Errorf("Report without a kind = %v, want ErrNoKind", err)
			}
			if err := lease.Report(client.Outcome{Kind: client.MissingEvidence}); err != nil {
				t.Errorf("Report with one = %v, want the lease to stand", err)
			}
		}
		time.Sleep(w.becomes(g, circuit, schemas.Open).RetryAfter)
		probe := w.enter(g, circuit)
		if err := probe.Report(client.Outcome{}); !errors.Is(err, client.ErrNoKind) {
			t.Errorf("Report without a kind = %v, want ErrNoKind", err)
		}
		if err := probe.Report(client.Outcome{Kind: client.Accepted}); err != nil {
			t.Errorf("Report with one = %v, want the lease to stand", err)
		}
		w.becomes(g, circuit, schemas.Closed)
	})
}

// TestMisspeltKind reports kinds that no policy knows: Gate and Local say so in the same words, and take the outcome.
func TestMisspeltKind(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.process()
		g := w.open(w.config("r1"))
		local := client.Local(w.policies)
		w.until("the policies are known", func() bool { return g.Routes() != nil })
		for kind, want := range map[string]string{
			"mising_evidence": `no policy in force knows the kind "mising_evidence": did you mean missing_evidence?`,
			"tool_misuse":     `no policy in force knows the kind "tool_misuse"`,
			"MissingEvidence": "<nil>", // Read without regard to case and underscores.
		} {
			for _, b := range []client.Breaker{g, local} {
				lease, err := b.Enter(t.Context(), circuit)
				if err != nil {
					t.Fatal(err)
				}
				err = lease.Report(client.Outcome{Kind: kind})
				if fmt.Sprint(err) != want || (want != "<nil>") != errors.Is(err, client.ErrUnknownKind) {
					t.Errorf("%T: Report(%s) = %v, want %v", b, kind, err, want)
				}
			}
		}
		w.until("all are sent", func() bool { return g.Stats().Reports.Outcomes == 3 })
		lease := w.enter(g, circuit)
		_ = lease.Report(client.Outcome{Kind: "mising_evidence"})
		if n := strings.Count(w.log.String(), "did you mean missing_evidence?"); n != 1 {
			t.Errorf("the log tells of the kind %d times, want once", n)
		}
	})
}
