//go:build synctests

package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/console"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

const (
	apiToken   = "may-speak"
	adminToken = "may-operate"
)

// policyText makes circuits open soon: on two failures of four.
const policyText = `version: 1
defaults: {window: 1m, minimum_throughput: 4, break: {duration: 30s, jitter: 0}}
policies:
- {name: quick, match: ["case:*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}
`

var topics = kafka.TopicsWithPrefix("t.")

// world is a cluster, processors, and a console a processor.
type world struct {
	*kafkatest.Cluster
	t        *testing.T
	consoles []*console.Console
	stop     []func()
}

// inWorld runs a test in virtual time, with one console that is ready.
func inWorld(t *testing.T, change func(*console.Config), test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{Cluster: kafkatest.New(t), t: t}
		w.CreateTopics(t, "t.", 4)
		w.AppendTime(topics.Outcomes, topics.Signals)
		w.start("a", change)
		test(w)
	})
}

// start starts an instance, and waits until it is ready.
func (w *world) start(name string, change func(*console.Config)) {
	w.t.Helper()
	policies, err := breaker.Read("p.yaml", []byte(policyText))
	if err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	loop, err := kafka.New(kafka.Config{
		Group: "g", Instance: name, Topics: topics, Client: w.Opts(), DataDir: w.t.TempDir(), Policies: policies,
		Workers: 1, Logger: log,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	config := console.Config{
		Client: w.Opts(), Topics: topics, Loop: loop, Instance: name, Version: "1.2.3", APIToken: apiToken,
		AdminToken: adminToken, Logger: log,
	}
	if change != nil {
		change(&config)
	}
	c, err := console.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	wg.Go(func() {
		if err := loop.Run(ctx); err != nil {
			w.t.Errorf("Run of %s: %v", name, err)
		}
	})
	stop := sync.OnceFunc(func() { cancel(); wg.Wait() })
	w.t.Cleanup(stop)
	w.consoles, w.stop = append(w.consoles, c), append(w.stop, stop)
	w.until(name+" is ready", func() bool {
		return loop.Ready().Ready && len(loop.Ready().Partitions) > 0 &&
			w.ask(len(w.consoles)-1, "GET", "/v1/circuits", "Host: localhost").status == http.StatusOK
	})
}

// until waits until something is so.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	for began := time.Now(); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			w.t.Fatalf("still not after a minute: %s", what)
		}
	}
}

// answer is what came of a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask asks a console: the method, the path, and header lines, then an empty line and the body, if any.
func (w *world) ask(console int, method, path, request string) answer {
	head, body, _ := strings.Cut(request, "\n\n")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for line := range strings.Lines(head) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			r.Header.Set(name, value)
			if name == "Host" {
				r.Host = value
			}
		}
	}
	rec := httptest.NewRecorder()
	w.consoles[console].Handler().ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

func (w *world) get(path string) answer { return w.ask(0, "GET", path, "") }

func (w *world) post(path, token, body string) answer {
	return w.ask(0, "POST", path, "Authorization: Bearer "+token+"\n\n"+body)
}

// report reports outcomes of a kind.
func (w *world) report(circuit, kind string, n int) {
	w.t.Helper()
	body := strings.Repeat(fmt.Sprintf(`{"circuit":%q,"kind":%q},`, circuit, kind), n)
	if a := w.post("/v1/outcomes", apiToken, "["+strings.TrimSuffix(body, ",")+"]"); a.status != 202 {
		w.t.Fatalf("POST /v1/outcomes = %d %s", a.status, a.body)
	}
}

// await waits until a circuit is in a state.
func (w *world) await(circuit, state string) {
	w.t.Helper()
	w.until(circuit+" is "+state, func() bool {
		return w.get("/v1/circuits/"+circuit).at(w.t, "state") == state
	})
}

// at returns what stands at a path of a JSON answer, such as "circuits.0.state"; nil where nothing does.
func (a answer) at(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%d %q is no JSON: %v", a.status, a.body, err)
	}
	for step := range strings.SplitSeq(path, ".") {
		switch within := v.(type) {
		case map[string]any:
			v = within[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(within) {
				return nil
			}
			v = within[i]
		default:
			return nil
		}
	}
	return v
}
