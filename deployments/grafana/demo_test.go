package main

import (
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long the demo has until every expression has data. A round of its story takes some 40 seconds.
const patience = 90 * time.Second

// TestDemo runs the demo, lets Prometheus scrape it, and asks it everything that the dashboards ask and the rules
// record. With -v it shows the answers.
func TestDemo(t *testing.T) {
	_, missing := exec.LookPath("prometheus")
	need(t, "prometheus", missing)
	demo := startDemo(t)
	reportUnjudged(t, demo)
	server := startPrometheus(t, demo)
	ruled, recorded := rules(t)
	asked := expressions()
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		asked = append(asked, expression{place: "recorded: " + name, text: name})
	}
	began := time.Now()
	for waiting := true; waiting && time.Since(began) < patience; {
		time.Sleep(time.Second) // In which Prometheus scrapes once.
		waiting = false
		for i := range asked {
			if e := &asked[i]; !e.answered() {
				e.series, e.most = server.ask(t, e.text, began)
				waiting = waiting || !e.answered()
			}
		}
	}
	for _, e := range asked {
		t.Logf("%-95s %d series, at most %.6g", e.place, e.series, e.most)
		if !e.answered() {
			t.Errorf("%s: %d series, at most %v, within %v: %s", e.place, e.series, e.most, patience, e.text)
		}
	}
	served := scrape(t, demo)
	for _, e := range append(ruled, expressions()...) {
		checkNames(t, e, served, recorded)
	}
	checkTable(t, served)
	checkPage(t, served)
	server.checkHealth(t)
}

// reportUnjudged sends an outcome of a circuit that the demo's policy does not match.
func reportUnjudged(t *testing.T, demo string) {
	t.Helper()
	answer, err := http.Post("http://"+demo+"/v1/outcomes", "application/json",
		strings.NewReader(`{"circuit":"claim:gpt:v5","kind":"accepted"}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		t.Fatalf("POST /v1/outcomes = %s", answer.Status)
	}
}

// quiet are ends of the places of expressions that stay 0 while all is well. All others have to say something.
var quiet = []string{
	": Degraded: degraded", ": Slow calls: over 10 s", ": Partitions without an owner: without an owner", ": Lag: lag",
	": Dead letters: dead letters", ": Restore, records left: {{instance}}",
	": Lag in seconds: partition {{partition}}",
	": Lag in outcomes: partition {{partition}}", ": Held up by transactions: partition {{partition}}",
	": Times from the future: clamped", ": Lost and found: records lost", ": Lost and found: offsets expired",
	": Store errors, and what it has not written: errors",
	": job_circuit:fusebox_unavailable:ratio_rate5m", ": job_partition:fusebox_partition_lag_records:max",
}

// answered tells whether Prometheus has something to say.
func (e *expression) answered() bool {
	ends := func(quiet string) bool { return strings.HasSuffix(e.place, quiet) }
	return e.series > 0 && (e.most > 0 || slices.ContainsFunc(quiet, ends))
}

// need skips the test where something is missing, and fails it where FUSEBOX_TEST_REQUIRE names that.
func need(t *testing.T, name string, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case slices.Contains(strings.Split(os.Getenv("FUSEBOX_TEST_REQUIRE"), ","), name):
		t.Fatalf("FUSEBOX_TEST_REQUIRE names %s: %v", name, missing)
	default:
		t.Skipf("needs %s: %v", name, missing)
	}
}
