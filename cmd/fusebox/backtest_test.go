package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// runBacktest runs the command and returns its stdout.
func runBacktest(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	root := newRoot()
	root.SetArgs(append([]string{"backtest"}, args...))
	root.SetOut(&out)
	root.SetErr(&errOut)
	if err := root.Execute(); err != nil {
		t.Fatalf("backtest %q: %v\n%s", args, err, errOut.String())
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "backtest", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the output is not that of %s (-update writes it anew):\n%s", path, got)
	}
}

// drift are the recorded outcomes whose models changed half-way.
func drift(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(kafkatest.Shared(t, "data", "llmdrift", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded outcomes: %v", err)
	}
	return files
}

// TestBacktestDrift has recorded outcomes of models that changed half-way, mostly for the worse.
func TestBacktestDrift(t *testing.T) {
	files, lately := drift(t), filepath.Join("testdata", "backtest", "lately.yaml")
	golden(t, "drift.txt", runBacktest(t, append(files, "--policy", lately)...))
	golden(t, "drift_compared.txt", runBacktest(t, append(files, "--policy", lately, "--compare", builtin)...))
	golden(t, "drift.json", strings.ReplaceAll(
		runBacktest(t, append(files, "--policy", lately, "--json")...), `{"circuit"`, "\n{\"circuit\""))
}

// TestBacktestHoweverRead wants the same of the same outcomes, however few circuits fit into memory, and however they
// are cut into files and packed.
func TestBacktestHoweverRead(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.jsonl")
	writeRecorded(t, whole, 20_000, 50)
	policy := filepath.Join("testdata", "backtest", "lately.yaml")
	truth := writeTemp(t, "truth.csv", []byte("circuit,from,to\nextraction-10:gpt-primary:v4,2026-09-14T12:00:06Z,\n"))
	args := func(files ...string) []string {
		return append([]string{"--json", "--policy", policy, "--compare", builtin, "--truth", truth}, files...)
	}
	want := runBacktest(t, args(whole)...)
	if n := strings.Count(want, `"rule":"lately"`); n < 5 {
		t.Fatalf("lately fired %d times, want enough to tell runs apart", n)
	}
	body, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"1", "7", "49"} {
		t.Run(n+" circuits in memory", func(t *testing.T) {
			t.Setenv("FUSEBOX_MAX_RESIDENT_CIRCUITS", n)
			if got := runBacktest(t, args(whole)...); got != want {
				t.Errorf("the output is another with %s circuits in memory", n)
			}
		})
	}
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("cut into files, seed %d", seed), func(t *testing.T) {
			files := cut(t, string(body), rand.New(rand.NewPCG(seed, 0)))
			if got := runBacktest(t, args(files...)...); got != want {
				t.Errorf("seed %d: the output is another when it is cut into %d files", seed, len(files))
			}
		})
	}
}

// cut deals the lines out to files, each in order, and packs them in one way or another. The files come in any order.
func cut(t *testing.T, body string, rng *rand.Rand) []string {
	t.Helper()
	parts := make([]strings.Builder, 2+rng.IntN(5))
	deal := 1 + rng.IntN(2000)
	for i, line := range slices.Collect(strings.Lines(body)) {
		parts[(i/deal)%len(parts)].WriteString(line)
	}
	var files []string
	for i := range parts {
		text := parts[i].String()
		packed := [][]byte{[]byte(text), packGzip(t, text), packZstd(t, text)}
		files = append(files, writeTemp(t, fmt.Sprintf("part-%d", i), packed[rng.IntN(len(packed))]))
	}
	rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	return files
}
