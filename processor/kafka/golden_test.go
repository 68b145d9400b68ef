package kafka

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/processor"
)

// goldenProgress is what the golden progress record of each version says.
var goldenProgress = progress{
	Schema: progressSchema, By: "fusebox 0.4.0", Partitions: 12, Outcomes: inputPosition{"b3V0Y29tZXM", 1234567},
	Signals: inputPosition{"c2lnbmFscw", 89}, ClockMS: 1789387200123, Number: 4711, Writer: "fusebox-a-1",
	Policies: "e5def0565806f67a", Regime: 3, Circuits: 1000,
	Origins: []origin{{"b3V0Y29tZXM", 0, 17}, {"c2lnbmFscw", 11, 4}},
}

func golden(t *testing.T, format string, version int) []byte {
	t.Helper()
	value, err := os.ReadFile(fmt.Sprintf("testdata/"+format, version))
	if err != nil {
		t.Fatalf("each version has a golden file for ever: %v", err)
	}
	return value
}

// TestGoldenProgress reads the progress record as each version wrote it, and looks whether the newest is written so
// still: another form is another version, with a file of its own.
func TestGoldenProgress(t *testing.T) {
	for version := 1; version <= progressSchema; version++ {
		want := goldenProgress
		want.Schema = version
		value := golden(t, "progress.v%d.json", version)
		if got, err := readProgress(value); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("readProgress of version %d = %+v, %v, want %+v", version, got, err, want)
		}
		if got := string(goldenProgress.append(nil)); version == progressSchema && got != string(value) {
			t.Errorf("a progress record is written as %s, want %s", got, value)
		}
	}
}

// TestProgressWithoutAVersion reads what has no version: it is of the first.
func TestProgressWithoutAVersion(t *testing.T) {
	text := strings.Replace(string(golden(t, "progress.v%d.json", 1)), `"schema":1,"by":"fusebox 0.4.0",`, "", 1)
	want := goldenProgress
	want.Schema, want.By = 1, ""
	if got, err := readProgress([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("readProgress(%s) = %+v, %v, want %+v", text, got, err, want)
	}
}

// TestGoldenPolicies reads policies that were in force as each version left them in the changelog.
func TestGoldenPolicies(t *testing.T) {
	want := policies(t, policyText)
	for version := 1; version <= policiesForm; version++ {
		var r readings
		value := golden(t, "policies.v%d", version)
		got, err := r.regime(policiesKey(7), value)
		if err != nil || got.Number != 7 || got.Policies.Version != want.Version {
			t.Errorf("policies of version %d = %+v, %v, want number 7 and %s", version, got, err, want.Version)
		}
	}
}

// TestNewerForms reads what this version does not know. Where the form is another one altogether, that is all that can
// be said.
func TestNewerForms(t *testing.T) {
	for _, text := range []string{`{"schema":2,"by":"fusebox 9.1.0"}`, `{"schema":99,"outcomes":[]}`} {
		if _, err := readProgress([]byte(text)); !errors.Is(err, processor.ErrNewerValue) {
			t.Errorf("readProgress(%s) = %v, want ErrNewerValue", text, err)
		}
	}
	var r readings
	if _, err := r.regime(policiesKey(1), []byte("\x02rest")); !errors.Is(err, processor.ErrNewerValue) {
		t.Errorf("policies of version 2 = %v, want ErrNewerValue", err)
	}
	for _, text := range []string{"\tversion: 1", "not policies", ""} {
		if _, err := r.regime(policiesKey(1), []byte(text)); errors.Is(err, processor.ErrNewerValue) {
			t.Errorf("policies %q = %v, want them taken for version 1", text, err)
		}
	}
}
