//go:build synctests

package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/console"
)

// TestFaults: an answer names all that is wrong with a request at once, and what may have been meant.
func TestFaults(t *testing.T) {
	inWorld(t, withLevel, func(w *world) {
		w.report("extraction:gpt:v4", "accepted", 1)
		w.await("extraction:gpt:v4", "closed")
		const path = "/v1/circuits/case:a:v1/override"
		for _, tt := range []struct {
			path, body string
			want       []string
		}{
			{path, `{"mode":"shut","actor":"","reason":"x","ttl":"soon","dry_runn":true}`, []string{
				"body.mode", "body.actor", "body.ttl", "want a time such as 30m", "did you mean dry_run?"}},
			{path, `{"mode":"clear","actor":"ann","resaon":"x","ttl":"1m"}`, []string{
				"clear takes none", "did you mean reason?", "required property reason"}},
			{"/v1/circuits/a%00b/override", `{"mode":"clear","actor":"","reason":"x","ttl":"1m"}`, []string{
				"path.name", "body.ttl", "body.actor"}},
			{"/v1/overrides", `{"mach":"*","mode":"clear","actor":"ann","reason":"x","ttl":"x"}`, []string{
				"did you mean match?", "body.ttl", "required property match"}},
		} {
			a := w.post(tt.path, adminToken, tt.body)
			for _, want := range tt.want {
				if a.status != 422 || !strings.Contains(a.body, want) {
					t.Errorf("POST %s %s = %d %s, want 422 with %q", tt.path, tt.body, a.status, a.body, want)
				}
			}
		}
		w.get("/v1/circuits/c/transitions?since=yesterday").wants(t, "?since=yesterday", 422,
			`"message":"want an RFC 3339 time, such as 2026-09-14T12:00:00Z","location":"query.since"`)
		if a := w.get("/v1/circuits?lmit=3"); a.status != 422 || !strings.Contains(a.body, "did you mean limit?") {
			t.Errorf("?lmit=3 = %d %s, want limit named", a.status, a.body)
		}
	})
}

// TestUnknownCircuit: what is asked or said of a circuit that nobody has heard of is answered with that, and with those
// that may be meant.
func TestUnknownCircuit(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.report("extraction:gpt:v4", "accepted", 1)
		w.await("extraction:gpt:v4", "closed")
		say := func(name, mode, more string) answer {
			return w.post("/v1/circuits/"+name+"/override", adminToken,
				`{"mode":"`+mode+`","actor":"ann","reason":"x"`+more+`}`)
		}
		clear := say("extractoin:gpt:v4", "clear", "")
		if clear.status != 404 || clear.header.Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(clear.body, "did you mean extraction:gpt:v4?") {
			t.Errorf("a clear of an unknown circuit = %d %s, want 404 and the near one", clear.status, clear.body)
		}
		for _, tt := range []struct {
			name, mode, more string
			known            bool
			near             any
		}{
			{"extractoin:gpt:v4", "force_open", `,"dry_run":true`, false, "extraction:gpt:v4"},
			{"extraction:gpt:v4", "force_open", `,"dry_run":true`, true, nil},
			{"quite-another", "force_open", `,"ttl":"1m"`, false, nil},
			{"extraction:gpt:v4", "force_open", "", true, nil},
			{"extraction:gpt:v4", "clear", "", true, nil},
		} {
			a := say(tt.name, tt.mode, tt.more)
			if a.status != 200 || a.at(t, "known") != tt.known || a.at(t, "near.0") != tt.near {
				t.Errorf("%s of %s %s = %d %s, want known %v, near %v", tt.mode, tt.name, tt.more, a.status, a.body,
					tt.known, tt.near)
			}
		}
		const meant = "is not known: it is closed at epoch 0; did you mean extraction:gpt:v4?"
		for _, a := range []answer{
			w.get("/v1/circuits/extractoin:gpt:v4"), // A dry run has not made it known.
			w.post("/v1/circuits/extractoin:gpt:v4/claims", apiToken, `{"holder":"r1"}`),
		} {
			if a.status != 404 || !strings.Contains(a.body, meant) {
				t.Errorf("what is asked of a mistyped circuit = %d %s, want 404 with %q", a.status, a.body, meant)
			}
		}
		if a := w.get("/v1/circuits/billing"); a.status != 404 || strings.Contains(a.body, "did you mean") {
			t.Errorf("GET of a circuit like none = %d %s, want 404 and no other named", a.status, a.body)
		}
	})
}

// TestPageForPeople: who mistypes an address of the console gets a page, and a program gets a problem.
func TestPageForPeople(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		for _, tt := range []struct {
			path, accept, kind, words string
			status                    int
		}{
			{"/processor", "text/html,*/*", "text/html; charset=utf-8", "did you mean /processors?", 404},
			{"/override", "text/html", "text/html; charset=utf-8", "the form", 405},
			{"/processor", "*/*", "application/problem+json", "/openapi.json", 404},
			{"/v1/circuitz", "text/html", "application/problem+json", "/openapi.json", 404},
		} {
			a := w.ask(0, "GET", tt.path, "Accept: "+tt.accept)
			if a.status != tt.status || a.header.Get("Content-Type") != tt.kind || !strings.Contains(a.body, tt.words) {
				t.Errorf("GET %s for %s = %d %v %s, want %d %s with %q", tt.path, tt.accept, a.status, a.header, a.body,
					tt.status, tt.kind, tt.words)
			}
		}
	})
}

// TestNoAdminToken: what is not served without a token says that alone; an override has another way.
func TestNoAdminToken(t *testing.T) {
	without := func(c *console.Config) { withLevel(c); c.AdminToken = "" }
	inWorld(t, without, func(w *world) {
		const other = "fusebox override"
		if a := w.get("/v1/log-level"); a.status != 404 || strings.Contains(a.body, other) {
			t.Errorf("GET /v1/log-level = %d %s, want no word of %s", a.status, a.body, other)
		}
		if a := w.post("/v1/overrides", "", `{}`); a.status != 404 || !strings.Contains(a.body, other) {
			t.Errorf("POST /v1/overrides = %d %s, want %s named", a.status, a.body, other)
		}
	})
}

// TestLiveTimes: times are told to the millisecond.
func TestLiveTimes(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.report(circuit, "accepted", 1)
		w.await(circuit, "closed")
		time.Sleep(1234567 * time.Nanosecond)
		at, ok := w.get("/v1/circuits/"+circuit).at(t, "live.at").(string)
		if _, fraction, _ := strings.Cut(at, "."); !ok || len(fraction) > len("123Z") {
			t.Errorf("live.at = %q, want milliseconds at most", at)
		}
	})
}
