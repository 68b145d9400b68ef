package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startDemo builds fusebox and runs its demo. It returns the address at which it serves HTTP.
func startDemo(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "fusebox")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "./cmd/fusebox")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the demo: %v\n%s", err, out)
	}
	addr := freeAddress(t)
	cmd := exec.CommandContext(t.Context(), binary, "dev", "--demo", "--broker", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "FUSEBOX_HTTP_ADDR="+addr)
	start(t, cmd, "http://"+addr+"/readyz")
	return addr
}

// server is a Prometheus.
type server struct{ addr string }

// startPrometheus runs a Prometheus with our rules that scrapes an address every second.
func startPrometheus(t *testing.T, target string) server {
	t.Helper()
	dir, addr := t.TempDir(), freeAddress(t)
	rules, err := filepath.Abs("../prometheus")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "prometheus.yaml")
	text := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%[1]q, %[2]q]
scrape_configs: [{job_name: fusebox, static_configs: [{targets: [%[3]q]}]}]
`, filepath.Join(rules, "recording.yaml"), filepath.Join(rules, "alerts.yaml"), target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, exec.CommandContext(t.Context(), "prometheus", "--config.file", config, "--web.listen-address", addr,
		"--storage.tsdb.path", filepath.Join(dir, "data")), "http://"+addr+"/-/ready")
	return server{addr}
}

// freeAddress returns an address at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start starts a program that ends with the test, and waits until it answers at a URL.
func start(t *testing.T, cmd *exec.Cmd, ready string) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // The context of the test has ended before.
		_ = cmd.Wait() // It was told to stop.
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, out.String())
		}
	})
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get(ready)
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("%s is not ready after 30 s", cmd.Path)
}

// ask puts an expression over the time since then, as a panel does, and returns how many series there are and the
// greatest number in them.
func (s server) ask(t *testing.T, expr string, since time.Time) (series int, most float64) {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct{ Values [][2]any }
		}
	}
	s.get(t, "/api/v1/query_range", url.Values{
		"query": {expr}, "step": {"1"}, "start": {strconv.FormatInt(since.Unix(), 10)},
		"end": {strconv.FormatInt(time.Now().Unix(), 10)},
	}, &answer)
	for _, one := range answer.Data.Result {
		real := false
		for _, v := range one.Values {
			if value := parse(t, v[1]); !math.IsNaN(value) {
				real, most = true, max(most, value)
			}
		}
		if real {
			series++
		}
	}
	return series, most
}

func parse(t *testing.T, sample any) float64 {
	t.Helper()
	text, _ := sample.(string)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("Prometheus answers with the value %v: %v", sample, err)
	}
	return value
}

// checkHealth wants every rule to have been evaluated without a fault.
func (s server) checkHealth(t *testing.T) {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	s.get(t, "/api/v1/rules", nil, &answer)
	healthy := 0
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				t.Errorf("the rule %s is %s: %s", rule.Name, rule.Health, rule.LastError)
			}
			healthy++
		}
	}
	if healthy < 30 {
		t.Errorf("Prometheus has %d rules, want 30 or more", healthy)
	}
}

func (s server) get(t *testing.T, path string, query url.Values, answer any) {
	t.Helper()
	got, err := http.Get("http://" + s.addr + path + "?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		t.Fatalf("%s %s answers %s", path, query.Get("query"), got.Status)
	}
	if err := json.NewDecoder(got.Body).Decode(answer); err != nil {
		t.Fatalf("%s %s: %v", path, query.Get("query"), err)
	}
}
