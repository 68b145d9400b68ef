package naive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/internal/naive"
)

func TestSharedScenarios(t *testing.T) {
	files, err := filepath.Glob(kafkatest.Shared(t, "scenarios", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scenarios among the shared files")
	}
	runFiles(t, files)
}

// TestRows goes through the table of the machine, with numbers worked out by hand.
func TestRows(t *testing.T) { runFiles(t, []string{"testdata/rows.yaml"}) }

func runFiles(t *testing.T, files []string) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		runPolicyTests(t, filepath.Base(file), text)
	}
}

// runPolicyTests runs every test of every document of a file of policy tests against the model, and returns how many
// steps that were.
func runPolicyTests(t *testing.T, name string, text []byte) int {
	steps := 0
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc tree
		err := documents.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return steps
		}
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		reader{t}.known(doc, "policy", "tests")
		steps += runDocument(t, name, doc)
	}
}

func runDocument(t *testing.T, name string, doc tree) int {
	steps := 0
	for _, test := range (reader{t}).items(doc["tests"]) {
		t.Run(fmt.Sprint(name, "/", test["name"]), func(t *testing.T) {
			steps += runPolicyTest(reader{t}, doc, test)
		})
	}
	return steps
}

func runPolicyTest(r reader, doc, test tree) int {
	policies := naive.BuiltIn()
	if text, ok := doc["policy"]; ok {
		policies = r.policies(r.text(text))
	}
	r.known(test, "name", "circuit", "steps")
	model := naive.New(policies)
	items := r.items(test["steps"])
	for i, item := range items {
		seen := model.Step(r.step(item, r.text(test["circuit"])))
		for _, fault := range r.faults(seen, r.tree(item["expect"])) {
			r.t.Errorf("step %d %v: %s", i+1, item, fault)
		}
	}
	return len(items)
}

// faults says where the model does not see what is wanted.
func (r reader) faults(seen naive.Seen, expect tree) []string {
	var faults []string
	for key, want := range expect {
		if got := r.got(seen, key, want); !r.same(key, got, want) {
			faults = append(faults, fmt.Sprintf("%s = %v, want %v", key, got, want))
		}
	}
	return faults
}

// got returns what the model says of a key of `expect`, in the form in which it is wanted.
func (r reader) got(seen naive.Seen, key string, want any) any {
	switch key {
	case "state":
		return seen.State
	case "epoch":
		return seen.Epoch
	case "attempt":
		return seen.Attempt
	case "retry_at":
		return seen.RetryAt
	case "rule":
		return seen.Rule
	case "observed":
		return seen.Observed
	case "throughput":
		return seen.Throughput
	case "by_kind":
		return seen.ByKind
	case "counted":
		return seen.Counted
	case "why":
		return seen.Why
	case "granted":
		return seen.Granted
	case "degraded":
		if _, ok := want.(bool); ok {
			return seen.Degraded != ""
		}
		return seen.Degraded
	case "enforced":
		return seen.Enforced
	case "override":
		return seen.Override
	case "transitions":
		return int64(seen.Transitions)
	case "state_of":
		return seen.StateOf
	}
	r.t.Fatalf("expect has a key %q", key)
	return nil
}

// same compares what the model says with what is wanted, which YAML gave.
func (r reader) same(key string, got, want any) bool {
	switch got := got.(type) {
	case bool:
		return got == want
	case *bool:
		return got != nil && *got == want
	case string:
		return got == r.text(want)
	case int64:
		return got == *r.scaled(want, 1)
	case *int64:
		if key == "retry_at" {
			return got != nil && *got == *r.duration(want)
		}
		return got != nil && *got == *r.scaled(want, 1)
	case map[string]int64:
		wanted := map[string]int64{}
		for kind, n := range r.tree(want) {
			wanted[kind] = *r.scaled(n, 1)
		}
		return maps.Equal(got, wanted)
	case map[string]string:
		wanted := maps.Clone(got)
		for circuit, state := range r.tree(want) {
			wanted[circuit] = r.text(state)
		}
		return maps.Equal(got, wanted)
	}
	return r.sameNumber(got, want)
}

func (r reader) sameNumber(got, want any) bool {
	number, ok := got.(*big.Rat)
	if !ok || number == nil {
		return false
	}
	wanted, ok := new(big.Rat).SetString(r.text(want))
	return ok && number.Cmp(wanted) == 0
}
