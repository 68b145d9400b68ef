package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMemoryChangesNothing wants the same of policy check and policy suggest, however few circuits fit into memory.
func TestMemoryChangesNothing(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.jsonl")
	writeRecorded(t, whole, 6_000, 10)
	repeat(t, whole)
	policy := filepath.Join("testdata", "backtest", "lately.yaml")
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"policy", "check", policy, "--json", "--against", whole}, "rule lately would have opened"},
		{[]string{"policy", "suggest", "--json", whole}, `"outcomes":6000,`},
	} {
		want := printed(t, tt.args)
		if !strings.Contains(want, tt.says) {
			t.Fatalf("%q does not say %q:\n%s", tt.args, tt.says, want)
		}
		for _, n := range []string{"1", "7"} {
			t.Setenv("FUSEBOX_MAX_RESIDENT_CIRCUITS", n)
			if got := printed(t, tt.args); got != want {
				t.Errorf("%q with %s circuits in memory:\n%s\nwant\n%s", tt.args, n, got, want)
			}
		}
		t.Setenv("FUSEBOX_MAX_RESIDENT_CIRCUITS", "")
	}
}

// repeat writes every third line of a file once more, some lines further on: a repeat is to be told when its circuit
// has been put away and has come back.
func repeat(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, line := range lines {
		all.Write(line)
		if i >= 30 && i%3 == 0 {
			all.Write(lines[i-30])
		}
	}
	if err := os.WriteFile(path, all.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// printed runs a command and returns its stdout, whatever it exits with.
func printed(t *testing.T, args []string) string {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	_ = root.Execute() // A check that found problems is an error.
	return out.String()
}
