package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// shadowed is a circuit that is well, and a shadow of it that is open.
func shadowed() schemas.State {
	cause := &schemas.Cause{Rule: "two", Type: "consecutive", Kind: "transport_failure", Observed: 2, Threshold: 2}
	return schemas.State{
		Circuit: "c", Sequence: 3, Born: noon, ChangedAt: noon, Enforced: true, Policy: "p", PolicyVersion: "before",
		Trigger: schemas.Trigger{Topic: "outcomes", Partition: 2, Offset: 7},
		Shadow:  &schemas.Shadow{Policy: "careful", State: schemas.Open, Since: noon, Trips: 1, Cause: cause},
	}
}

// told returns the row of one circuit's detail that has a name.
func told(t *testing.T, s *schemas.State, inForce *schemas.PoliciesInForce, name string) string {
	t.Helper()
	var out strings.Builder
	if err := writeDetail(&out, s, inForce, noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(out.String(), "\n"+name+" ")
	if !found {
		t.Fatalf("no row %q in\n%s", name, out.String())
	}
	var row []string
	for line := range strings.Lines(rest) { // What goes on has no name.
		if len(row) > 0 && !strings.HasPrefix(line, " ") {
			break
		}
		row = append(row, strings.TrimSpace(line))
	}
	return strings.Join(row, "; ")
}

func TestStatusMarksShadows(t *testing.T) {
	open, closed := shadowed(), shadowed()
	closed.Circuit, closed.Shadow = "d", &schemas.Shadow{Policy: "careful"}
	var out strings.Builder
	if err := printCircuits(&out, []known{{State: open}, {State: closed}}, nil, noon); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.HasSuffix(lines[1], "  shadow careful would be open") {
		t.Errorf("the list says %q of a circuit whose shadow is open", lines[1])
	}
	if strings.Contains(lines[2], "shadow") {
		t.Errorf("the list says %q of a circuit whose shadow is closed", lines[2])
	}
	if row := told(t, &open, nil, "shadow"); !strings.HasPrefix(row, "careful would be open: two: 2 outcomes") {
		t.Errorf("the row shadow says %q", row)
	}
}

// TestStatusListGoesByThePoliciesInForce: a reload writes no record of a circuit that is closed.
func TestStatusListGoesByThePoliciesInForce(t *testing.T) {
	inForce := &schemas.PoliciesInForce{Version: "now", Text: `version: 1
policies:
- {name: on, match: ["covered*", "watched"], rules: [{name: r, type: ratio, threshold: 0.3}]}
- {name: out, match: ["off"], enabled: false, rules: [{name: r, type: ratio, threshold: 0.3}]}
`}
	read := stateTopic{circuits: map[string]known{}, policies: inForce}
	for name, policy := range map[string]string{"covered": "", "covered too": "p", "lost": "p", "off": "p"} {
		read.circuits[name] = known{State: schemas.State{
			Circuit: name, Policy: policy, PolicyVersion: "before", Enforced: true, Born: noon, ChangedAt: noon,
		}}
	}
	watched := schemas.State{Circuit: "watched", Policy: "p", Born: noon, ChangedAt: noon}
	read.circuits["watched"] = known{State: watched}
	list := func() string {
		var out strings.Builder
		if err := printCircuits(&out, read.matching(statusFilter{}, noon), read.judges(), noon); err != nil {
			t.Fatal(err)
		}
		var said []string
		for line := range strings.Lines(out.String()) {
			cells := regexp.MustCompile(`  +`).Split(strings.TrimSpace(line), -1)
			said = append(said, strings.Join(append(cells[1:2], cells[4:]...), ": "))
		}
		return strings.Join(said[1:], "; ")
	}
	want := "lost: no policy matches; covered; covered too; off: its policy is off; watched"
	if got := list(); got != want {
		t.Errorf("the list says %q, want %q", got, want)
	}
	read.policies = nil
	want = "covered: no policy matches; covered too; lost; off; watched: not enforced"
	if got := list(); got != want {
		t.Errorf("where nobody has published policies it says %q, want %q", got, want)
	}
	var out strings.Builder
	lost := read.circuits["lost"].State
	if err := writeDetail(&out, &lost, &schemas.PoliciesInForce{Version: "now", Text: `version: 1
policies: [{name: sooner, match: ["c"], rules: [{name: r, type: ratio, threshold: 0.3}]}]
`}, noon); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "lost\nclosed, no policy matches\n") {
		t.Errorf("one circuit begins with %q", out.String())
	}
}

func TestStatusTellsOfReloads(t *testing.T) {
	s := shadowed()
	now := &schemas.PoliciesInForce{Version: "now", Text: `version: 1
policies: [{name: sooner, match: ["c"], rules: [{name: r, type: ratio, threshold: 0.3}]}]
`}
	for _, tt := range []struct {
		name, circuit, version, text string
		want                         string
	}{
		{"as in force", "c", "now", now.Text, "p, version now"},
		{"before", "c", "before", now.Text,
			"p, version before; as of its last record; what comes now is judged by sooner, version now"},
		{"none any more", "d", "before", now.Text, "p, version before; as of its last record; " +
			"what comes now is judged by none: no policy of version now matches"},
		{"of a later Fusebox", "c", "before", "version: 2", "p, version before; as of its last record; " +
			"what comes now is judged by version now"},
	} {
		s.Circuit, s.PolicyVersion = tt.circuit, tt.version
		if got := told(t, &s, &schemas.PoliciesInForce{Version: "now", Text: tt.text}, "policy"); got != tt.want {
			t.Errorf("%s: the row policy says %q, want %q", tt.name, got, tt.want)
		}
	}
	if got, want := told(t, &s, nil, "caused by"), "outcomes, partition 2, offset 7"; got != want {
		t.Errorf("the row caused by says %q, want %q", got, want)
	}
	s.Trigger = schemas.Trigger{}
	if got, want := told(t, &s, nil, "caused by"), "a reload of the policies, version before"; got != want {
		t.Errorf("after a reload the row caused by says %q, want %q", got, want)
	}
}

func TestReadDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "1.5h": 90 * time.Minute, "168h": 168 * time.Hour, "7d": 168 * time.Hour,
		"1w": 168 * time.Hour, "1d12h": 36 * time.Hour,
	} {
		if got, err := readDuration(text); got != want || err != nil {
			t.Errorf("readDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "d", "7 days", "1d-1h"} {
		if got, err := readDuration(text); err == nil {
			t.Errorf("readDuration(%q) = %v, want an error", text, got)
		}
	}
}
