package state_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/state"
)

// TestGoldenLabel puts beside a store what each version wrote about its form and whose it is: the store is served. The
// newest is what is written now.
func TestGoldenLabel(t *testing.T) {
	names, err := filepath.Glob("testdata/label.v*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden labels: %v", err)
	}
	for i, name := range names {
		golden, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dir, o := t.TempDir(), state.Options{Version: "fusebox 0.4.0"}
		s := open(t, dir, o)
		s.Save(0, []state.Change{set("a", "1")}, at(1))
		closeStore(t, s)
		now, err := os.ReadFile(filepath.Join(dir, "label.json"))
		if newest := i == len(names)-1; newest && string(now) != string(golden) {
			t.Errorf("the label is written as %s, %v, want %s", now, err, golden)
		}
		if err := os.WriteFile(filepath.Join(dir, "label.json"), golden, 0o644); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, state.Options{Version: "fusebox 0.5.0"})
		checkValues(t, s, 0, map[string]string{"a": "1"})
		checkPosition(t, s, 0, at(1))
		closeStore(t, s)
	}
}

// TestNewerLabelNamesItsMaker opens a store that a newer version made: it is discarded, and the log says who made it.
func TestNewerLabelNamesItsMaker(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, state.Options{})
	s.Save(0, []state.Change{set("a", "1")}, at(1))
	closeStore(t, s)
	golden, err := os.ReadFile("testdata/label.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.NewReplacer(`"schema":1`, `"schema":2`, "0.4.0", "9.1.0").Replace(string(golden))
	if err := os.WriteFile(filepath.Join(dir, "label.json"), []byte(newer), 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s = open(t, dir, state.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	checkValues(t, s, 0, map[string]string{})
	closeStore(t, s)
	if !strings.Contains(log.String(), "fusebox 9.1.0") {
		t.Errorf("the log says %s, want who made the store", &log)
	}
}
