package console_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/console"
	"github.com/fusebox-project/fusebox/internal/browser"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

// hostile is a circuit's name that would do something if it were taken for markup.
const hostile = `case:</script><script>alert(1)</script><b onmouseover="alert(2)">&amp;/v1`

const pagePolicy = `version: 1
defaults: {window: 1m, minimum_throughput: 4, break: {duration: 1s, jitter: 0}}
policies:
- name: quick
  match: ["case:*"]
  rules:
  - {name: failure-ratio, type: ratio, threshold: 0.5}
  - {name: invented, type: immediate, kinds: [contradictory_evidence]}
  - {name: watch, type: count, kinds: [missing_evidence], threshold: 2, action: degrade}
routes: [{use_case: case, chain: ["case:slow:v1", "case:other:v1"], otherwise: a person}]
`

// site is an instance with its console, served on the loopback interface.
type site struct {
	t   *testing.T
	url string
}

// newSite starts one with circuits in every state.
func newSite(t *testing.T) *site {
	cluster := kafkatest.NewLoopback(t)
	cluster.CreateTopics(t, "p.", 2)
	policies, err := breaker.Read("p.yaml", []byte(pagePolicy))
	if err != nil {
		t.Fatal(err)
	}
	log, topics := slog.New(slog.DiscardHandler), kafka.TopicsWithPrefix("p.")
	loop, err := kafka.New(kafka.Config{
		Group: "p", Instance: "a", Topics: topics, Client: cluster.Opts(), DataDir: t.TempDir(), Policies: policies,
		Workers: 1, Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := console.New(console.Config{
		Client: cluster.Opts(), Topics: topics, Loop: loop, Instance: "a", Version: "1.2.3", AdminToken: "secret",
		Loopback: true, Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	wg.Go(func() {
		if err := loop.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	server := httptest.NewServer(c.Handler())
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); cancel(); wg.Wait() })
	s := &site{t, server.URL}
	loop.ReloadFailed("policies.yaml:8:51: threshold: want a number, not " + strings.Repeat("abc", 40))
	s.until("ready", func() bool { return s.status("/v1/circuits") == http.StatusOK && loop.Ready().Ready })
	s.fill()
	return s
}

// fill brings circuits into their states.
func (s *site) fill() {
	s.t.Helper()
	var outcomes []string
	add := func(circuit, kind string, n int) {
		for range n {
			outcomes = append(outcomes, fmt.Sprintf(
				`{"circuit":%q,"kind":%q,"stage":"retrieval","reason_code":"<i>x</i>"}`, circuit, kind))
		}
	}
	for i := range 70 {
		add(fmt.Sprintf("case:route-%02d:v1", i), "accepted", 3)
	}
	add(hostile, "contradictory_evidence", 1)
	add("case:slow:v1", "accepted", 2)
	add("case:slow:v1", "transport_failure", 3)
	add("case:watched:v1", "accepted", 9)
	add("case:watched:v1", "missing_evidence", 3)
	add("case:watched:v1", "policy_rejection", 3)
	s.post("/v1/outcomes", "["+strings.Join(outcomes, ",")+"]")
	s.post("/v1/circuits/case:held:v1/override",
		`{"mode":"force_open","actor":"<b>ann</b>","reason":"<script>x</script>"}`)
	s.post("/v1/circuits/case:off:v1/override", `{"mode":"disable","actor":"ann","reason":"test"}`)
	s.until("all are known", func() bool {
		return s.status("/v1/circuits/case:watched:v1") == http.StatusOK &&
			s.status("/v1/circuits/case:route-69:v1") == http.StatusOK
	})
	time.Sleep(1500 * time.Millisecond) // The break of the slow one: a probe is due, and one is out.
	s.post("/v1/circuits/case:slow:v1/claims", `{"holder":"router-<7>"}`)
}

func (s *site) until(what string, so func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("still not: %s", what)
		}
	}
}

func (s *site) status(path string) int {
	answer, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func (s *site) post(path, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer secret")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode >= 300 {
		s.t.Fatalf("POST %s = %s", path, answer.Status)
	}
}

// TestPages opens every page in a browser, as a phone and a desk have it, by day and by night: it fits, axe finds
// nothing serious in it, names are text, and it wants nothing from elsewhere.
func TestPages(t *testing.T) {
	ctx := browser.Start(t)
	s := newSite(t)
	axe, err := os.ReadFile(filepath.Join("testdata", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"circuits": "/", "hostile": "/circuits/" + url.PathEscape(hostile), "slow": "/circuits/case:slow:v1",
		"watched": "/circuits/case:watched:v1", "processors": "/processors", "policies": "/policies",
		"nothing": "/?match=gpt",
	} {
		for _, tt := range []struct {
			width  int64
			scheme string
		}{{1280, "light"}, {390, "dark"}, {1280, "dark"}, {390, "light"}} {
			few := name == "processors" || name == "policies" || name == "nothing"
			if few && tt.width == 1280 == (tt.scheme == "dark") {
				continue // Two of the four will do.
			}
			t.Run(fmt.Sprintf("%s-%d-%s", name, tt.width, tt.scheme), func(t *testing.T) {
				tab, cancel := chromedp.NewContext(ctx)
				defer cancel()
				s.open(t, tab, path, tt.width, tt.scheme)
				s.inspect(t, tab, string(axe))
				browser.Picture(tab, t, fmt.Sprintf("console-%s-%d-%s.png", name, tt.width, tt.scheme))
			})
		}
	}
	t.Run("a window between phone and desk", func(t *testing.T) {
		for _, width := range []int64{600, 800, 1000} {
			s.open(t, ctx, "/", width, "light")
			const narrow = `Math.min(...[...document.querySelectorAll("tbody th")].map((e) => e.clientWidth))`
			if got, err := chromedp.Run(ctx, chromedp.Evaluate[float64](narrow)); err != nil || got < 180 {
				t.Errorf("%d pixels wide, a name has %v of them, %v; want 180 or more", width, got, err)
			}
		}
	})
}

// open opens a page, and wants the browser to say nothing of it.
func (s *site) open(t *testing.T, ctx context.Context, path string, width int64, scheme string) {
	t.Helper()
	browser.Open(ctx, t, s.url+path, s.url+"/", width, scheme)
}

// inspect looks at the page that is open.
func (s *site) inspect(t *testing.T, ctx context.Context, axe string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](axe+"; 0")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		expression string
		want       any
	}{
		{`document.scrollingElement.scrollWidth <= innerWidth`, true},
		{`document.querySelectorAll("script").length`, 1.0},
		{`document.querySelectorAll("main b[onmouseover], main i, main script").length`, 0.0},
		{`document.querySelectorAll("h1").length`, 1.0},
	} {
		browser.Want(ctx, t, tt.expression, tt.want)
	}
	browser.Want(ctx, t, `axe.run().then((r) => r.violations
		.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")).join("\n"))`, "")
}
