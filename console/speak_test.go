//go:build synctests

package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/console"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestOutcomes: each outcome is checked by itself, and what is wrong with one is told by its place.
func TestOutcomes(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		a := w.post("/v1/outcomes", apiToken,
			`[{"circuit":"case:a:v1","kind":"accepted"},{"kind":"accepted"},`+
				`{"circuit":"case:a:v1","kind":7},{"circuit":"case:a:v1","kind":"accepted"}]`)
		if a.status != 202 || a.at(t, "accepted") != 2.0 || a.at(t, "refused.0.index") != 1.0 ||
			a.at(t, "refused.1.index") != 2.0 {
			t.Errorf("two of four = %d %s, want 202, and 1 and 2 refused", a.status, a.body)
		}
		w.until("both are counted", func() bool {
			return w.get("/v1/circuits/case:a:v1").at(t, "live.rules.0.throughput") == 2.0
		})
		many := "[" + strings.Repeat(`{"circuit":"case:a:v1","kind":"accepted"},`, 1001) + `{}]`
		for _, tt := range []struct {
			body string
			want int
		}{
			{`{"circuit":"case:a:v1","kind":"accepted"}`, 202},
			{`{"circuit":"case:a:v1"}`, 422},
			{`[]`, 400}, {`[`, 400}, {`null`, 422}, {`"x"`, 422}, {many, 400},
			{`{"circuit":"case:a:v1","kind":"accepted","reason":"` + strings.Repeat("x", 70<<10) + `"}`, 422},
			{"[" + strings.Repeat(" ", 2<<20) + "]", 413},
		} {
			if a := w.post("/v1/outcomes", apiToken, tt.body); a.status != tt.want {
				t.Errorf("POST %.60s = %d %.200s, want %d", tt.body, a.status, a.body, tt.want)
			}
		}
	})
}

// TestTokens: who may speak, who may operate, and from where.
func TestTokens(t *testing.T) {
	const outcome = `{"circuit":"case:a:v1","kind":"accepted"}`
	const word = `{"mode":"force_open","actor":"ann","reason":"test"}`
	for _, tt := range []struct {
		name       string
		api, admin string
		loopback   bool
		head       string
		outcomes   int
		override   int
	}{
		{"both, sent", apiToken, apiToken, false, "Authorization: Bearer " + apiToken, 202, 200},
		{"nothing sent", apiToken, adminToken, false, "", 401, 401},
		{"the other one sent", apiToken, adminToken, false, "Authorization: Bearer " + adminToken, 401, 200},
		{"no bearer", apiToken, adminToken, false, "Authorization: Basic " + apiToken, 401, 401},
		{"none set, reachable", "", "", false, "", 403, 404},
		{"none set, loopback", "", "", true, "Host: 127.0.0.1:8080", 202, 404},
		{"none set, loopback, under another name", "", "", true, "Host: evil.example", 421, 421},
		{"set, loopback", apiToken, adminToken, true, "Host: localhost:8080", 401, 401},
		{"from a page of another origin", apiToken, apiToken, false,
			"Authorization: Bearer " + apiToken + "\nSec-Fetch-Site: cross-site", 403, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change := func(c *console.Config) { c.APIToken, c.AdminToken, c.Loopback = tt.api, tt.admin, tt.loopback }
			inWorld(t, change, func(w *world) {
				if a := w.ask(0, "POST", "/v1/outcomes", tt.head+"\n\n"+outcome); a.status != tt.outcomes {
					t.Errorf("POST outcomes = %d %s, want %d", a.status, a.body, tt.outcomes)
				}
				a := w.ask(0, "POST", "/v1/circuits/case:b:v1/override", tt.head+"\n\n"+word)
				if a.status != tt.override {
					t.Errorf("POST override = %d %s, want %d", a.status, a.body, tt.override)
				}
			})
		})
	}
}

// TestNotOnLoopback says what is to be set where outcomes are reported and the server listens for others too.
func TestNotOnLoopback(t *testing.T) {
	inWorld(t, func(c *console.Config) { c.APIToken = "" }, func(w *world) {
		a := w.post("/v1/outcomes", "", `{"circuit":"case:a:v1","kind":"accepted"}`)
		a.wants(t, "an outcome", 403, "set FUSEBOX_HTTP_ADDR=127.0.0.1:8080", "set FUSEBOX_API_TOKEN")
	})
}

// TestClaim goes the whole circle over HTTP: a trip, a claim that comes too early, the lease, another who wants it too,
// the probe's result, recovery.
func TestClaim(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		claims := "/v1/circuits/" + circuit + "/claims"
		if a := w.post(claims, apiToken, `{"holder":"r1"}`); a.status != 404 {
			t.Errorf("claim of an unknown circuit = %d, want 404", a.status)
		}
		w.report(circuit, "accepted", 1)
		w.await(circuit, "closed")
		if a := w.post(claims, apiToken, `{"holder":"r1"}`); a.status != 409 {
			t.Errorf("claim of a closed circuit = %d, want 409", a.status)
		}
		w.report(circuit, "missing_evidence", 3)
		w.await(circuit, "open")
		a := w.post(claims, apiToken, `{"holder":"r1"}`)
		if retry := a.header.Get("Retry-After"); a.status != 409 || retry != "30" {
			t.Errorf("claim before the break is over = %d, Retry-After %q, want 409, 30", a.status, retry)
		}
		time.Sleep(31 * time.Second)
		a = w.post(claims, apiToken, `{"holder":"r1"}`)
		lease, _ := a.at(t, "lease").(string)
		if a.status != 200 || lease == "" || a.at(t, "epoch") != 1.0 {
			t.Fatalf("claim = %d %s, want a lease at epoch 1", a.status, a.body)
		}
		if a := w.post(claims, apiToken, `{"holder":"r2"}`); a.status != 409 || a.header.Get("Retry-After") == "" {
			t.Errorf("another claim = %d %v, want 409 with Retry-After", a.status, a.header)
		}
		if a := w.post(claims, apiToken, fmt.Sprintf(`{"holder":"r1","lease":%q}`, lease)); a.status != 200 {
			t.Errorf("the holder's claim again = %d %s, want the same grant", a.status, a.body)
		}
		w.post("/v1/outcomes", apiToken,
			fmt.Sprintf(`{"circuit":%q,"kind":"accepted","epoch":1,"lease":%q}`, circuit, lease))
		w.await(circuit, "closed")
	})
}

// TestOverride: an operator's word on one circuit and on all that a glob means.
func TestOverride(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		path := "/v1/circuits/" + circuit + "/override"
		a := w.post(path, adminToken, `{"mode":"force_open","actor":"ann","reason":"provider incident","ttl":"10m"}`)
		if a.status != 200 || a.at(t, "circuits.0.state") != "forced_open" ||
			a.at(t, "circuits.0.override.reason") != "provider incident" {
			t.Errorf("force_open = %d %s", a.status, a.body)
		}
		time.Sleep(11 * time.Minute)
		if got := w.get("/v1/circuits/"+circuit).at(t, "state"); got == "forced_open" {
			t.Errorf("state after the TTL = %v, want it over", got)
		}
		for body, want := range map[string]int{
			`{"mode":"clear","actor":"ann","reason":"over"}`:                    200,
			`{"mode":"reset","actor":"ann","reason":"over","ttl":"1m"}`:         422,
			`{"mode":"force_open","actor":"ann","reason":"x","ttl":"soon"}`:     422,
			`{"mode":"force_open","actor":"ann","reason":"x","ttl":"1us"}`:      422,
			`{"mode":"shut","actor":"ann","reason":"x"}`:                        422,
			`{"mode":"force_open","reason":"x"}`:                                422,
			`{"mode":"force_open","actor":"","reason":"x"}`:                     422,
			`{"mode":"force_open","actor":"ann","reason":"x","until":"always"}`: 422,
		} {
			if a := w.post(path, adminToken, body); a.status != want {
				t.Errorf("POST %s = %d %s, want %d", body, a.status, a.body, want)
			}
		}

		for _, name := range []string{"case:x:v1", "case:x:v2", "case:y:v1"} {
			w.report(name, "accepted", 1)
			w.await(name, "closed")
		}
		dry := w.post("/v1/overrides", adminToken,
			`{"match":"case:x:*","dry_run":true,"mode":"disable","actor":"ann","reason":"x"}`)
		var said struct{ Meant []string }
		if err := json.Unmarshal([]byte(dry.body), &said); err != nil || len(said.Meant) != 2 {
			t.Errorf("dry run = %d %s, want two circuits meant", dry.status, dry.body)
		}
		if got := w.get("/v1/circuits/case:x:v1").at(t, "state"); got != schemas.Closed.String() {
			t.Errorf("state after a dry run = %v, want closed", got)
		}
		w.post("/v1/overrides", adminToken, `{"match":"case:x:*","mode":"disable","actor":"ann","reason":"x"}`)
		w.await("case:x:v1", "disabled")
		w.await("case:x:v2", "disabled")
		w.await("case:y:v1", "closed")
		if got := dry.at(t, "circuits.1.state"); got != "closed" {
			t.Errorf("dry run = %s, want what the circuits are now", dry.body)
		}
		none := w.post("/v1/overrides", adminToken, `{"match":"none*","mode":"disable","actor":"ann","reason":"x"}`)
		if none.status != 404 {
			t.Errorf("a glob that means nothing = %d, want 404", none.status)
		}
	})
}

// TestOverrideOfMany: a word that means many circuits is written at once, and takes no longer than one.
func TestOverrideOfMany(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		const n = 300
		var outcomes []string
		for i := range n {
			outcomes = append(outcomes, fmt.Sprintf(`{"circuit":"case:route-%03d:v1","kind":"accepted"}`, i))
		}
		outcomes = append(outcomes, `{"circuit":"case:*","kind":"accepted"}`)
		if a := w.post("/v1/outcomes", apiToken, "["+strings.Join(outcomes, ",")+"]"); a.status != 202 {
			t.Fatalf("POST /v1/outcomes = %d %s", a.status, a.body)
		}
		w.until("all are known", func() bool { return w.get("/v1/circuits").at(t, "counts.closed") == n+1.0 })
		begun := time.Now()
		a := w.post("/v1/overrides", adminToken, `{"match":"case:*","mode":"force_open","actor":"ann","reason":"x"}`)
		if a.status != 200 || a.at(t, fmt.Sprintf("circuits.%d.state", n)) != "forced_open" {
			t.Errorf("override of %d = %d %.200s, want an answer for each: a glob is one whoever is named so too",
				n+1, a.status, a.body)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("override of %d circuits takes %v, want it to be that of one", n+1, took)
		}
	})
}
