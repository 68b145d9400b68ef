package processor_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

const lookPolicy = `
version: 1
policies:
- name: p
  match: ["*"]
  kinds: {missing_evidence: 0.5}
  rules:
  - {name: at-once, type: immediate, kinds: [contradictory_evidence]}
  - {name: ratio, type: ratio, threshold: 0.5, minimum_throughput: 20, window: 1m}
  - {name: streak, type: consecutive, kinds: [transport_failure], threshold: 5}
  - {name: spend, type: sum, of: cost_usd, threshold: 25, window: 1h}
  - {name: slow, type: slow_ratio, over: 2s, threshold: 0.9, last: 5, action: degrade}
`

// TestLook looks at a circuit while its windows fill and again when time alone has emptied one.
func TestLook(t *testing.T) {
	policies, err := breaker.Read("p.yaml", []byte(lookPolicy))
	if err != nil {
		t.Fatal(err)
	}
	p := processor.New(policies)
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	step := func(after time.Duration, kind string, cost, latency int64) {
		o := schemas.Outcome{Circuit: "c", Kind: kind, Count: 1, CostMicros: cost, LatencyMS: latency}
		p.Step(start.Add(after), processor.Input{Outcome: &o})
	}
	for i := range 4 {
		step(time.Duration(i)*time.Second, schemas.Accepted, 1_000_000, 3_000)
	}
	step(10*time.Second, schemas.MissingEvidence, 500_000, 0)
	step(11*time.Second, schemas.TransportFailure, 0, 0)
	step(12*time.Second, schemas.TransportFailure, 0, 0)

	before := valueOf(t, p, "c")
	look, ok, err := p.Look("c", start.Add(12*time.Second))
	if err != nil || !ok {
		t.Fatalf("Look = %v, %v, want a look", ok, err)
	}
	type rule struct {
		observed, threshold float64
		throughput          int64
		fires               bool
	}
	want := []rule{
		{0, 1, 0, false}, {0.357143, 0.5, 7, false}, {2, 5, 0, false}, {4.5, 25, 7, false},
		{0.4, 0.9, 5, false},
	}
	for i, r := range look.Rules {
		if got := (rule{r.Observed, r.Threshold, r.Throughput, r.Fires}); got != want[i] {
			t.Errorf("rule %s = %v, want %v", r.Rule.Name, got, want[i])
		}
	}
	if look.Window != time.Hour || look.Acceptance != 0.571429 || look.Availability != 0.714286 ||
		len(look.Points) != 7 {
		t.Errorf("window %v, acceptance %v, availability %v, %d points, want 1h, 4/7, 5/7, 7",
			look.Window, look.Acceptance, look.Availability, len(look.Points))
	}
	last := processor.Point{start.Add(12 * time.Second), schemas.TransportFailure, breaker.Failure, 1}
	if got := look.Points[6]; got != last {
		t.Errorf("newest point = %v, want %v", got, last)
	}

	later, _, err := p.Look("c", start.Add(71*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if r := later.Rules[1]; r.Throughput != 2 || r.Observed != 1 || r.Fires {
		t.Errorf("ratio a minute later = %v of %d, fires %v, want 1 of 2, too few to fire",
			r.Observed, r.Throughput, r.Fires)
	}
	if after := valueOf(t, p, "c"); !bytes.Equal(before, after) || p.Clock() != start.Add(12*time.Second) {
		t.Error("looking at a circuit changed it")
	}
	if _, ok, err := p.Look("other", start); ok || err != nil {
		t.Errorf("Look of a circuit that is not in memory = %v, %v, want false and no error", ok, err)
	}
}

// TestLookFollowsReloads: a look is by the policies in force, though the circuit was last touched under others.
func TestLookFollowsReloads(t *testing.T) {
	p := processor.New(breaker.Builtin())
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	o := schemas.Outcome{Circuit: "c", Kind: schemas.Accepted, Count: 3}
	p.Step(start, processor.Input{Outcome: &o})
	policies, err := breaker.Read("p.yaml", []byte(lookPolicy))
	if err != nil {
		t.Fatal(err)
	}
	p.Reload(policies, schemas.Inputs{})
	look, _, err := p.Look("c", start)
	if err != nil {
		t.Fatal(err)
	}
	if look.Policy != "p" || look.PolicyVersion != policies.Version || look.Rules[1].Throughput != 3 {
		t.Errorf("Look = policy %s %s, throughput %d, want p %s, 3: the window is the same",
			look.Policy, look.PolicyVersion, look.Rules[1].Throughput, policies.Version)
	}
}

// valueOf returns the bytes of a circuit that has changed since the last commit.
func valueOf(t *testing.T, p *processor.Partition, circuit string) []byte {
	t.Helper()
	for name, value := range p.Changes() {
		if name == circuit {
			return value.Append(nil)
		}
	}
	t.Fatalf("%s has not changed", circuit)
	return nil
}
