//go:build synctests

package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/console"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

const circuit = "case:route:v1"

// TestCircuit follows one circuit from its first outcome until it is open.
func TestCircuit(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		a := w.get("/v1/circuits/" + circuit)
		if a.status != 404 || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("an unknown circuit = %d %v %s, want a 404 problem", a.status, a.header, a.body)
		}
		w.report(circuit, "accepted", 2)
		w.await(circuit, "closed")
		before := w.get("/v1/circuits/" + circuit)
		tag := before.header.Get("ETag")
		if a := w.ask(0, "GET", "/v1/circuits/"+circuit, "If-None-Match: "+tag); a.status != 304 || a.body != "" {
			t.Errorf("with the ETag at hand = %d %q, want 304 and nothing", a.status, a.body)
		}
		w.report(circuit, "missing_evidence", 2)
		w.await(circuit, "open")
		a = w.ask(0, "GET", "/v1/circuits/"+circuit, "If-None-Match: "+tag)
		if a.status != 200 {
			t.Errorf("with an old ETag = %d, want 200", a.status)
		}
		for path, want := range map[string]any{
			"cause.rule": "failure-ratio", "cause.observed": 0.5, "epoch": 1.0, "policy": "quick",
			"live.owned": true, "live.instance": "a", "live.window": "1m", "live.rules.0.threshold": 0.5,
		} {
			if got := a.at(t, path); got != want {
				t.Errorf("%s of the open circuit = %v, want %v", path, got, want)
			}
		}
		if retry := a.at(t, "retry_at"); retry == nil {
			t.Error("retry_at is missing")
		}
		history := w.get("/v1/circuits/" + circuit + "/transitions")
		if got := history.at(t, "transitions.0.state"); got != "open" || history.at(t, "complete") != true {
			t.Errorf("transitions = %s, want the trip first, complete", history.body)
		}
		none := w.get("/v1/circuits/" + circuit + "/transitions?since=" +
			url.QueryEscape(time.Now().Add(time.Minute).Format(time.RFC3339)))
		if got := none.at(t, "transitions.0"); none.status != 200 || got != nil {
			t.Errorf("transitions since later = %d %s, want none", none.status, none.body)
		}
	})
}

// TestPagesGoByThePoliciesInForce: a reload writes no record of a circuit that is closed.
func TestPagesGoByThePoliciesInForce(t *testing.T) {
	var loop *kafka.Loop
	inWorld(t, func(c *console.Config) { loop = c.Loop }, func(w *world) {
		w.report(circuit, "accepted", 2)
		w.await(circuit, "closed")
		const words = "no policy matches"
		for _, path := range []string{"/", "/circuits/" + circuit} {
			if page := w.get(path); strings.Contains(page.body, words) {
				t.Errorf("%s says of a circuit with a policy that none matches", path)
			}
		}
		policies, err := breaker.Read("p.yaml", []byte(strings.ReplaceAll(policyText, "case:", "other:")))
		if err != nil {
			t.Fatal(err)
		}
		loop.Reload(policies)
		for _, path := range []string{"/", "/circuits/" + circuit} {
			w.until(path+" says that no policy matches", func() bool {
				return strings.Contains(w.get(path).body, words)
			})
		}
	})
}

// TestLiveWindow: what the windows hold is told while the circuit is closed: acceptance, availability and the points.
func TestLiveWindow(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.report(circuit, "accepted", 2)
		w.report(circuit, "transport_failure", 1)
		w.until("all three are counted", func() bool {
			return w.get("/v1/circuits/"+circuit).at(t, "live.rules.0.throughput") == 3.0
		})
		a := w.get("/v1/circuits/" + circuit)
		for path, want := range map[string]any{
			"live.acceptance": 0.666667, "live.availability": 0.666667, "live.points.0.kind": "accepted",
			"live.points.0.count": 2.0, "live.rules.0.fires": false,
		} {
			if got := a.at(t, path); got != want {
				t.Errorf("%s = %v, want %v in %s", path, got, want, a.body)
			}
		}
		time.Sleep(2 * time.Minute)
		if got := w.get("/v1/circuits/"+circuit).at(t, "live.points"); got != nil {
			t.Errorf("points after the window = %v, want none", got)
		}
	})
}

// TestCircuits lists circuits: by name over pages, the worst first, by state and by glob.
func TestCircuits(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		const n = 25
		for i := range n {
			w.report(fmt.Sprintf("case:route-%02d:v1", i), "accepted", 1)
		}
		w.report("case:route-13:v1", "missing_evidence", 3)
		w.await("case:route-13:v1", "open")
		w.until("all are known", func() bool { return w.get("/v1/circuits").at(t, "counts.closed") == n-1.0 })
		names, cursor := []string{}, ""
		for range n {
			a := w.get("/v1/circuits?limit=10&cursor=" + cursor)
			for i := range 10 {
				if name, ok := a.at(t, fmt.Sprintf("circuits.%d.circuit", i)).(string); ok {
					names = append(names, name)
				}
			}
			next, more := a.at(t, "next_cursor").(string)
			if !more {
				break
			}
			cursor = next
		}
		for i := range n {
			if want := fmt.Sprintf("case:route-%02d:v1", i); len(names) != n || names[i] != want {
				t.Fatalf("pages have %v, want all %d by name", names, n)
			}
		}
		for path, want := range map[string]string{
			"/v1/circuits?order=worst&limit=1": "case:route-13:v1", "/v1/circuits?state=open": "case:route-13:v1",
			"/v1/circuits?match=*-07:*":                     "case:route-07:v1",
			"/v1/circuits?state=closed&match=*1?:*&limit=3": "case:route-10:v1",
		} {
			if got := w.get(path).at(t, "circuits.0.circuit"); got != want {
				t.Errorf("GET %s: first is %v, want %s", path, got, want)
			}
		}
		for _, path := range []string{
			"/v1/circuits?state=ajar", "/v1/circuits?limit=0", "/v1/circuits?limit=1001", "/v1/circuits?cursor=%21",
			"/v1/circuits?order=best", "/v1/circuits?nope=1",
		} {
			if a := w.get(path); a.status != 422 {
				t.Errorf("GET %s = %d %s, want 422", path, a.status, a.body)
			}
		}
	})
}

// TestOtherInstance: each instance answers for every circuit, and says who knows its windows.
func TestOtherInstance(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.start("b", nil)
		w.until("partitions are shared out", func() bool {
			return len(w.get("/v1/processors").at(t, "own").([]any)) == 2
		})
		owners := map[any]int{}
		for i := range 12 {
			name := fmt.Sprintf("case:route-%d:v1", i)
			w.report(name, "accepted", 1)
			w.await(name, "closed")
			time.Sleep(6 * time.Second) // A heartbeat says who works there.
			a, b := w.ask(0, "GET", "/v1/circuits/"+name, ""), w.ask(1, "GET", "/v1/circuits/"+name, "")
			mine, theirs := a.at(t, "live.owned"), b.at(t, "live.owned")
			if mine == theirs {
				t.Fatalf("%s is owned: %v at a, %v at b; want one of them\n%s\n%s", name, mine, theirs, a.body, b.body)
			}
			if a.at(t, "live.instance") != b.at(t, "live.instance") {
				t.Errorf("a says %v works on %s, b says %v", a.at(t, "live.instance"), name, b.at(t, "live.instance"))
			}
			if a.at(t, "sequence") != 1.0 || b.at(t, "sequence") != 1.0 {
				t.Errorf("sequence of %s = %v at a, %v at b, want 1", name, a.at(t, "sequence"), b.at(t, "sequence"))
			}
			owners[a.at(t, "live.instance")]++
		}
		if len(owners) != 2 {
			t.Errorf("instances that own circuits: %v, want a and b", owners)
		}
	})
}

// TestRefusedPolicies: that the file on disk is not what is in force is told wherever one looks for the policies.
func TestRefusedPolicies(t *testing.T) {
	var loop *kafka.Loop
	inWorld(t, func(c *console.Config) { loop = c.Loop }, func(w *world) {
		const fault = "policies.yaml:8:51: want a number"
		paths := []string{"/policies", "/processors", "/v1/policies", "/v1/processors"}
		w.until("policies are published", func() bool { return w.get("/v1/policies").status == 200 })
		tells := func(want bool) {
			t.Helper()
			for _, path := range paths {
				if a := w.get(path); a.status != 200 || strings.Contains(a.body, fault) != want {
					t.Errorf("GET %s = %d %s, want the fault in it: %v", path, a.status, a.body, want)
				}
			}
		}
		tells(false)
		loop.ReloadFailed(fault)
		tells(true)
		a := w.get("/v1/policies")
		if err := w.description().check(t, a.body, "paths", "/v1/policies", "get", "responses", "200", "content",
			"application/json", "schema"); err != nil {
			t.Error(err)
		}
		if at, ok := a.at(t, "refused.at").(string); !ok || a.at(t, "refused.faults.0") != fault {
			t.Errorf("refused at %q: %s", at, a.body)
		}
		if !w.get("/v1/processors").at(t, "ready").(bool) {
			t.Error("a file that was refused makes an instance not ready")
		}
		policies, err := breaker.Read("p.yaml", []byte(policyText))
		if err != nil {
			t.Fatal(err)
		}
		loop.Reload(policies)
		tells(false)
	})
}
