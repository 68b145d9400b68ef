package processor_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

const weighed = `version: 1
kinds: [tone]
defaults: {break: {jitter: 0}, half_open: {implicit: false}}
policies:
- name: weighed
  match: ["*"]
  kinds: {missing_evidence: 0.5, invalid_contract: 2, tone: 1}
  severity_weights: {critical: 3}
  rules:
  - {name: watch, type: count, threshold: 3, action: degrade}
  - {name: failures, type: ratio, threshold: 0.8, minimum_throughput: 5}
  - {name: also, type: count, threshold: 4, window: 30s}
  - {name: never, type: count, threshold: 100}
`

// TestCause works out every part of a cause by hand.
func TestCause(t *testing.T) {
	r := newRig(t, weighed)
	r.outcome(0, schemas.Outcome{Kind: schemas.Accepted, ID: "a"})
	r.outcome(0, schemas.Outcome{Kind: schemas.Accepted, ID: "a"})
	r.outcome(0, schemas.Outcome{Kind: schemas.InvalidContract, HasEpoch: true, Epoch: 9})
	r.outcomes(0, schemas.Cancelled, schemas.EvaluatorError)
	r.outcome(0, schemas.Outcome{Kind: schemas.InvalidContract, Time: t0.Add(-61 * time.Second)})
	first := schemas.Outcome{
		Kind: schemas.MissingEvidence, ID: "m", Stage: "retrieval", ReasonCode: "no_citation", EvidenceRef: "s3://x/1",
	}
	r.outcome(time.Second, first)
	r.outcome(2*time.Second, schemas.Outcome{Kind: schemas.InvalidContract})
	s := r.outcome(3*time.Second, schemas.Outcome{Kind: schemas.MissingEvidence, Severity: schemas.Critical}).States
	if len(s) != 1 ||
		s[0].Degraded == nil || s[0].Degraded.Rule != "watch" || s[0].Degraded.Observed != 3 || s[0].Cause != nil {
		t.Errorf("the third failure published %+v, want the circuit degraded by watch at 3", s)
	}
	result := r.outcome(4*time.Second, schemas.Outcome{Kind: schemas.MissingEvidence})
	want := schemas.Cause{
		Rule: "failures", Type: "ratio", Kind: schemas.MissingEvidence, Policy: "weighed",
		PolicyVersion: read(t, weighed).Version, Window: time.Minute, Throughput: 5, Observed: 0.9, Threshold: 0.8,
		ByKind:     map[string]int64{schemas.Accepted: 1, schemas.InvalidContract: 1, schemas.MissingEvidence: 3},
		Weights:    map[string]float64{schemas.InvalidContract: 2, schemas.MissingEvidence: 2.5},
		AlsoFired:  []string{"watch", "also"},
		At:         t0.Add(4 * time.Second),
		Since:      t0.Add(time.Second),
		NotCounted: schemas.NotCounted{Stale: 1, Neutral: 2, Duplicate: 1, Late: 1},
		Evidence: []schemas.Evidence{
			{Kind: schemas.MissingEvidence, Time: t0.Add(4 * time.Second), Partition: 3, Offset: 9},
			{Kind: schemas.MissingEvidence, Severity: schemas.Critical, Time: t0.Add(3 * time.Second), Partition: 3,
				Offset: 8},
			{Kind: schemas.InvalidContract, Time: t0.Add(2 * time.Second), Partition: 3, Offset: 7},
			{ID: "m", Kind: schemas.MissingEvidence, Stage: "retrieval", ReasonCode: "no_citation",
				Time: t0.Add(time.Second), Partition: 3, Offset: 6, EvidenceRef: "s3://x/1"},
		},
	}
	if result.Tripped == nil || !reflect.DeepEqual(*result.Tripped, want) {
		t.Errorf("Tripped = %+v\nwant %+v", result.Tripped, want)
	}
	if c := r.state(t, 5*time.Second).Cause; !reflect.DeepEqual(*c, want) {
		t.Errorf("the state's cause is %+v", c)
	}
}

func TestCauseBySuccess(t *testing.T) {
	r := newRig(t, weighed)
	c := r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract, schemas.Accepted, schemas.Accepted).Tripped
	if c != nil {
		t.Fatalf("tripped before the minimum: %+v", c)
	}
	c = r.outcomes(time.Second, schemas.Accepted).Tripped
	if c == nil || !c.BySuccess || c.Kind != schemas.InvalidContract || len(c.Evidence) != 2 || c.AlsoFired != nil {
		t.Errorf("Tripped = %+v, want a trip by a success for two invalid contracts and no other rule", c)
	}
}

func TestCauseByWhatIsNeitherSuccessNorFailure(t *testing.T) {
	r := newRig(t, `version: 1
policies: [{name: p, match: ["*"], rules: [{name: s, type: count, kinds: [cancelled], threshold: 1}]}]`)
	if c := r.outcomes(0, schemas.Cancelled).Tripped; c == nil || c.BySuccess || c.Kind != schemas.Cancelled {
		t.Errorf("Tripped = %+v, want a trip by a cancelled call, which is no success", c)
	}
}

// TestCauseTellsNeutralProbes counts neutral answers for which nobody asked, between the break and the probe.
func TestCauseTellsNeutralProbes(t *testing.T) {
	r := newRig(t, brief)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	r.claim(30*time.Second, "A")
	r.outcomes(31*time.Second, schemas.Cancelled, schemas.EvaluatorError)
	c := r.outcomes(31*time.Second, schemas.InvalidContract).Tripped
	if c == nil || c.Rule != breaker.ProbeFailed || c.NotCounted != (schemas.NotCounted{Neutral: 2}) {
		t.Errorf("the cause is %+v, want a failed probe beside two neutral answers", c)
	}
}

// TestCauseKind checks the kind by which routes choose: of greatest weight, then that matched oftenest, then the first.
func TestCauseKind(t *testing.T) {
	const policy = `version: 1
kinds: [tone]
policies:
- {name: p, match: ["*"], kinds: {missing_evidence: 0.5, tone: 3}, rules: [{name: n, type: count, threshold: 3}]}`
	tests := []struct {
		kinds []string
		want  string
	}{
		{[]string{"missing_evidence", "missing_evidence", "invalid_contract"}, "missing_evidence"},
		{[]string{"invalid_contract", "missing_evidence", "missing_evidence"}, "missing_evidence"},
		{[]string{"invalid_contract", "missing_evidence", "invalid_contract"}, "invalid_contract"},
		{[]string{"missing_evidence", "invalid_contract", "transport_failure"}, "transport_failure"},
		{[]string{"invalid_contract", "invalid_contract", "Tone"}, "tone"},
		{[]string{"accepted", "accepted", "accepted", "transport_failure", "tone", "transport_failure"}, "tone"},
	}
	for _, tt := range tests {
		c := newRig(t, policy).outcomes(0, tt.kinds...).Tripped
		if c == nil || c.Kind != tt.want {
			t.Errorf("cause after %v is %+v, want kind %s", tt.kinds, c, tt.want)
		}
	}
}

func TestCauseOfAnImmediateRule(t *testing.T) {
	r := newRig(t, `version: 1
policies:
- name: p
  match: ["*"]
  severity_weights: {critical: 5}
  rules: [{name: i, type: immediate, kinds: [contradictory_evidence]}, {name: n, type: count, threshold: 2}]`)
	r.outcomes(0, schemas.InvalidContract)
	o := schemas.Outcome{
		Kind: schemas.ContradictoryEvidence, ID: "x", Severity: schemas.Critical, Time: t0.Add(-time.Second), Count: 2,
	}
	c := r.outcome(time.Second, o).Tripped
	want := schemas.Cause{
		Rule: "i", Type: "immediate", Kind: o.Kind, Policy: "p", PolicyVersion: c.PolicyVersion,
		Observed: 1, Threshold: 1,
		ByKind: map[string]int64{o.Kind: 2}, Weights: map[string]float64{o.Kind: 10}, AlsoFired: []string{"n"},
		At: t0.Add(time.Second), Since: o.Time,
		Evidence: []schemas.Evidence{
			{ID: "x", Kind: o.Kind, Severity: schemas.Critical, Time: o.Time, Partition: 3, Offset: 1},
		},
	}
	if !reflect.DeepEqual(*c, want) {
		t.Errorf("cause %+v\nwant  %+v", *c, want)
	}
}

func TestCauseOfAStreak(t *testing.T) {
	r := newRig(t, `version: 1
policies: [{name: p, match: ["*"], rules: [{name: s, type: consecutive, threshold: 3}]}]`)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract, schemas.Accepted)
	r.outcome(5*time.Second, schemas.Outcome{Kind: schemas.MissingEvidence, Time: t0.Add(4 * time.Second)})
	r.outcome(6*time.Second, schemas.Outcome{Kind: schemas.TransportFailure, Time: t0.Add(3 * time.Second)})
	c := r.outcome(7*time.Second, schemas.Outcome{Kind: schemas.TransportFailure}).Tripped
	if c == nil || c.Since != t0.Add(3*time.Second) || c.Throughput != 0 || c.Window != 0 || c.Observed != 3 {
		t.Fatalf("cause %+v, want a streak of 3 since its oldest outcome, and no throughput", c)
	}
	if got := offsets(c.Evidence); !slices.Equal(got, []int64{5, 4, 3}) {
		t.Errorf("evidence has offsets %v, want those of the streak, newest first", got)
	}
	if want := map[string]int64{"missing_evidence": 1, "transport_failure": 2}; !reflect.DeepEqual(c.ByKind, want) {
		t.Errorf("by kind %v, want %v", c.ByKind, want)
	}
}

// TestCauseStartsAnew trips twice: the second cause knows nothing of what led to the first.
func TestCauseStartsAnew(t *testing.T) {
	r := newRig(t, `version: 1
defaults: {break: {jitter: 0}}
policies: [{name: p, match: ["*"], rules: [{name: s, type: consecutive, threshold: 2}]}]`)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	r.outcomes(30*time.Second, schemas.Accepted)
	c := r.outcomes(31*time.Second, schemas.MissingEvidence, schemas.MissingEvidence).Tripped
	if c == nil || !slices.Equal(offsets(c.Evidence), []int64{4, 3}) || c.Since != t0.Add(31*time.Second) ||
		len(c.ByKind) != 1 {
		t.Errorf("the second cause is %+v, want the two outcomes at 31s in it", c)
	}
}

// TestCauseWeighsWhatMatched trips on an outcome of the same kind that the rule does not select.
func TestCauseWeighsWhatMatched(t *testing.T) {
	r := newRig(t, `version: 1
policies:
- {name: p, match: ["*"], rules: [{name: r, type: ratio, severity: high, threshold: 0.5, minimum_throughput: 3}]}`)
	r.outcome(0, schemas.Outcome{Kind: schemas.InvalidContract, Severity: schemas.High, Count: 2})
	c := r.outcomes(time.Second, schemas.InvalidContract).Tripped
	if c == nil || c.Weights[schemas.InvalidContract] != 2 || c.ByKind[schemas.InvalidContract] != 3 ||
		c.Kind != schemas.InvalidContract || !slices.Equal(offsets(c.Evidence), []int64{0}) {
		t.Errorf("the cause is %+v, want three seen and two that weigh", c)
	}
}

// TestCauseOfProbes checks what is said when probes fail or end without a verdict.
func TestCauseOfProbes(t *testing.T) {
	r := newRig(t, weighed)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract, schemas.InvalidContract, schemas.InvalidContract)
	r.outcome(29*time.Second, schemas.Outcome{Kind: schemas.Accepted, Lease: "x"})
	r.claim(30*time.Second, "A")
	r.outcome(31*time.Second, schemas.Outcome{Kind: schemas.Accepted, Lease: "x"})
	o := schemas.Outcome{Kind: "Tone", Lease: "A", ID: "p", Stage: "model", Time: t0.Add(31500 * time.Millisecond)}
	c := r.outcome(32*time.Second, o).Tripped
	want := schemas.Cause{
		Rule: "probe_failed", Type: "probe_failed", Kind: "tone", Policy: "weighed", PolicyVersion: c.PolicyVersion,
		Observed: 1, Threshold: 1, ByKind: map[string]int64{"tone": 1}, Weights: map[string]float64{"tone": 1},
		At: t0.Add(32 * time.Second), Since: o.Time, NotCounted: schemas.NotCounted{Stale: 1},
		Evidence: []schemas.Evidence{{ID: "p", Kind: "tone", Stage: "model", Time: o.Time, Partition: 3, Offset: 7}},
	}
	if !reflect.DeepEqual(*c, want) {
		t.Errorf("cause %+v\nwant  %+v", *c, want)
	}
	for i, lease := range []string{"B", "C", "D"} {
		at := 92*time.Second + time.Duration(i)
		r.claim(at, lease)
		c = r.release(at, lease).Tripped
	}
	if c == nil || c.Rule != "probes_inconclusive" || c.Type != c.Rule || c.Observed != 3 || c.Threshold != 3 ||
		c.Kind != "" || c.Evidence != nil || c.At != t0.Add(92*time.Second+2) {
		t.Errorf("cause %+v, want three probes of three without a verdict, and nothing else", c)
	}
}
