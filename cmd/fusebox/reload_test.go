package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

// text is a log that may be read while it is written.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

// await waits until all words stand in one line that was written since the last await, and forgets all before.
func (t *text) await(tb testing.TB, words ...string) {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; pause(tb.Context(), 10*time.Millisecond) {
		t.mu.Lock()
		all := t.b.String()
		for line := range strings.Lines(all) {
			found := true
			for _, w := range words {
				found = found && strings.Contains(line, w)
			}
			if found {
				t.b.Reset()
				t.mu.Unlock()
				return
			}
		}
		t.mu.Unlock()
		if time.Now().After(deadline) {
			tb.Fatalf("no line of the log has %q in it:\n%s", words, all)
		}
	}
}

// reloading is a reloader under way on a policy file that is mounted as a ConfigMap is.
type reloading struct {
	dir      string
	asked    chan os.Signal
	log      text
	registry *prometheus.Registry
	loop     *kafka.Loop
}

// startReloading writes policies with a threshold, reads them, and follows the file until the test ends.
func startReloading(t *testing.T, threshold string) *reloading {
	r := &reloading{dir: t.TempDir(), asked: make(chan os.Signal, 1), registry: prometheus.NewRegistry()}
	r.write(t, "..1/policies.yaml", threshold)
	r.link(t, "..1", "..data")
	r.link(t, "..data/policies.yaml", "policies.yaml")
	file := filepath.Join(r.dir, "policies.yaml")
	policies, err := readPolicies(file)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&r.log, nil))
	c := config{InstanceID: "i", Group: "g", DataDir: r.dir, TopicPrefix: "f.", Brokers: []string{"127.0.0.1:1"}}
	loop, err := kafka.New(c.processor(policies, log, r.registry))
	if err != nil {
		t.Fatal(err)
	}
	r.loop = loop
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		(&reloader{file: file, asked: r.asked, loop: loop, log: log, version: policies.Version}).run(ctx)
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return r
}

// policyOf returns a policy file's text.
func policyOf(threshold string) []byte {
	return fmt.Appendf(nil, "version: 1\npolicies:\n- name: p\n  match: [\"*\"]\n"+
		"  rules: [{name: r, type: ratio, threshold: %s}]\n", threshold)
}

func versionOf(t *testing.T, threshold string) string {
	t.Helper()
	p, err := breaker.Read("", policyOf(threshold))
	if err != nil {
		t.Fatal(err)
	}
	return p.Version
}

func (r *reloading) write(t *testing.T, name, threshold string) {
	t.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, policyOf(threshold), 0o600); err != nil {
		t.Fatal(err)
	}
}

// link makes a symlink, or swaps it for the one that is there.
func (r *reloading) link(t *testing.T, to, name string) {
	t.Helper()
	temporary := filepath.Join(r.dir, name+".new")
	if err := os.Symlink(to, temporary); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(r.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// expect compares the metrics: how many reloads were good and bad, whether the last was good, what is in force.
func (r *reloading) expect(t *testing.T, ok, failed, successful float64, inForce string) {
	t.Helper()
	got := fmt.Sprint(value(t, r.registry, "fusebox_policy_reloads_total", "ok"),
		value(t, r.registry, "fusebox_policy_reloads_total", "failed"),
		value(t, r.registry, "fusebox_policy_last_reload_successful", ""),
		value(t, r.registry, "fusebox_policy_info", inForce))
	if want := fmt.Sprint(ok, failed, successful, 1); got != want {
		t.Errorf("reloads ok, failed, last one successful, %s in force = %s, want %s", inForce, got, want)
	}
}

// refused compares why the file is not in force.
func (r *reloading) refused(t *testing.T, want string) {
	t.Helper()
	got := r.loop.Ready().Refused
	if want == "" && got != nil || want != "" && (got == nil || !strings.Contains(got.String(), want)) {
		t.Errorf("refused = %v, want %q", got, want)
	}
}

// TestReload changes a policy file in every way in which people and Kubernetes do it.
func TestReload(t *testing.T) {
	const done, refused = "policies read again and put in force", "policy file not put in force"
	r := startReloading(t, "0.5")
	r.write(t, "..2/policies.yaml", "0.6")
	r.link(t, "..2", "..data")
	r.log.await(t, done, versionOf(t, "0.6"))
	r.expect(t, 1, 0, 1, versionOf(t, "0.6"))
	r.refused(t, "")

	r.write(t, "..2/policies.yaml", "abc")
	r.log.await(t, refused, "policies.yaml:5:45: ")
	r.expect(t, 1, 1, 0, versionOf(t, "0.6"))
	r.refused(t, "policies.yaml:5:45: ")

	r.write(t, "..2/policies.yaml", "0.7")
	r.log.await(t, done, versionOf(t, "0.7"))
	r.expect(t, 2, 1, 1, versionOf(t, "0.7"))
	r.refused(t, "")

	if err := os.Remove(filepath.Join(r.dir, "policies.yaml")); err != nil {
		t.Fatal(err)
	}
	r.log.await(t, refused, "no such file")
	r.expect(t, 2, 2, 0, versionOf(t, "0.7"))
	r.refused(t, "no such file")

	r.write(t, "policies.yaml", "0.7")
	r.log.await(t, done, versionOf(t, "0.7"))
	r.asked <- syscall.SIGHUP
	r.log.await(t, "nothing has changed", versionOf(t, "0.7"))
	r.expect(t, 3, 2, 1, versionOf(t, "0.7"))
}

// value returns what a metric says of a label's value, 0 where there is no such series.
func value(t *testing.T, registry *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == name && (label == "" || m.Label[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}
