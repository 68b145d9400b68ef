package processor_test

import (
	"fmt"
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

func offsets(evidence []schemas.Evidence) (list []int64) {
	for _, e := range evidence {
		list = append(list, e.Offset)
	}
	return list
}

// TestEvidence checks which outcomes a cause names: the newest ten that matched and still count, newest first.
func TestEvidence(t *testing.T) {
	const policy = `version: 1
defaults: {window: 10s}
policies:
- {name: p, match: ["*"], rules: [{name: %s, %s}, {name: other, type: count, kinds: [cancelled], threshold: 99}]}`
	bad, good := schemas.InvalidContract, schemas.Accepted
	type event struct {
		at    time.Duration
		kinds []string
	}
	tests := []struct {
		name, rule string
		events     []event
		want       []int64
	}{
		{"what left the window is no evidence", "type: count, threshold: 3",
			[]event{{0, []string{bad, good}}, {8 * time.Second, []string{bad}}, {11 * time.Second, []string{bad, bad}}},
			[]int64{4, 3, 2}},
		{"exactly one window old it is", "type: count, threshold: 3",
			[]event{{0, []string{bad}}, {10 * time.Second, []string{bad, bad}}}, []int64{2, 1, 0}},
		{"no more than ten", "type: count, threshold: 14",
			[]event{{0, slices.Repeat([]string{bad}, 14)}}, []int64{13, 12, 11, 10, 9, 8, 7, 6, 5, 4}},
		{"what another rule matched does not stand here", "type: count, threshold: 3",
			[]event{{0, []string{bad, "cancelled", bad}}, {1, slices.Repeat([]string{"cancelled"}, 20)},
				{2, []string{bad}}},
			[]int64{23, 2, 0}},
		{"of the last three", "type: count, threshold: 2, last: 3",
			[]event{{0, []string{bad, good, good, bad}}, {time.Hour, []string{good, bad}}}, []int64{5, 3}},
		{"a sum's are all that it adds up", "type: sum, of: tokens, threshold: 1, kinds: [accepted]",
			[]event{{0, []string{bad, good}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, fmt.Sprintf(policy, "r", tt.rule))
			var c *schemas.Cause
			for _, e := range tt.events {
				c = r.outcomes(e.at, e.kinds...).Tripped
			}
			if tt.want == nil {
				c = r.outcome(time.Second, schemas.Outcome{Kind: good, InputTokens: 1}).Tripped
				tt.want = []int64{2, 1}
			}
			if c == nil || !slices.Equal(offsets(c.Evidence), tt.want) {
				t.Errorf("cause %+v, want evidence at offsets %v", c, tt.want)
			}
		})
	}
}

// TestEvidenceOfAnotherWindow counts an outcome that is too old for the rule's window, though not for another's: it takes
// no place among the ten.
func TestEvidenceOfAnotherWindow(t *testing.T) {
	r := newRig(t, `version: 1
policies:
- name: p
  match: ["*"]
  rules: [{name: short, type: count, threshold: 12, window: 10s}, {name: long, type: count, threshold: 99, window: 1h}]`)
	r.outcomes(20*time.Second, slices.Repeat([]string{schemas.InvalidContract}, 11)...)
	r.outcome(20*time.Second, schemas.Outcome{Kind: schemas.InvalidContract, Time: t0.Add(5 * time.Second)})
	c := r.outcomes(20*time.Second, schemas.InvalidContract).Tripped
	want := []int64{12, 10, 9, 8, 7, 6, 5, 4, 3, 2}
	if c == nil || c.Observed != 12 || !slices.Equal(offsets(c.Evidence), want) {
		t.Errorf("cause %+v, want twelve, and evidence at offsets %v", c, want)
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

// TestEvidenceStartsAnew fills the evidence, empties it by a success or a change, and fills it again; a restore between
// makes no difference.
func TestEvidenceStartsAnew(t *testing.T) {
	for _, how := range []string{"by a success", "by a change", "with a restore"} {
		r := newRig(t, `version: 1
defaults: {break: {jitter: 0}}
policies: [{name: p, match: ["*"], rules: [{name: s, type: consecutive, threshold: 12}]}]`)
		bad := slices.Repeat([]string{schemas.InvalidContract}, 11)
		r.outcomes(0, bad...)
		switch how {
		case "by a success":
			r.outcomes(0, schemas.Accepted)
			r.outcomes(0, bad...)
		case "by a change":
			r.override(0, schemas.Reset, 0)
			r.outcomes(0, bad...)
		default:
			value := r.values()["c"]
			r.Commit()
			r.Evict(0)
			if err := r.Insert("c", value); err != nil {
				t.Fatal(err)
			}
		}
		last := r.offset
		c := r.outcomes(0, schemas.InvalidContract).Tripped
		if c == nil || len(c.Evidence) != 10 || c.Evidence[0].Offset != last || c.Evidence[9].Offset != last-9 {
			t.Errorf("%s: evidence %v, want the ten up to %d", how, c, last)
		}
	}
}

// TestEvidenceAfterAReload names kinds by name where the file has them in another order, and drops what counts no more.
func TestEvidenceAfterAReload(t *testing.T) {
	const file = `version: 1
kinds: %s
policies: [{name: p, match: ["*"], kinds: {a: 1, b: 1}, rules: [%s]}]`
	other, kept := "{name: o, type: count, kinds: [a], threshold: 9}", "{name: s, type: consecutive, threshold: 3}"
	r := newRig(t, fmt.Sprintf(file, "[a, b]", other+", "+kept))
	r.outcomes(0, "a", "b")
	r.Reload(read(t, fmt.Sprintf(file, "[b, x, a]", kept)), schemas.Inputs{})
	c := r.outcomes(0, "b").Tripped
	if c == nil || len(c.Evidence) != 3 || c.Evidence[0].Kind != "b" || c.Evidence[1].Kind != "b" ||
		c.Evidence[2].Kind != "a" || c.Kind != "b" {
		t.Errorf("the cause is %+v, want evidence of b, b and a", c)
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
