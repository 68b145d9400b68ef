package processor_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// write writes golden files anew. A value that is stored somewhere must be read for ever, so that of an old version
// never changes: a new version gets a file of its own.
var write = flag.Bool("write-values", false, "write golden values of the present version")

// goldenValue is the file with a value of a version.
func goldenValue(version int) string { return fmt.Sprintf("testdata/value.v%d.bin", version) }

const rich = `version: 1
kinds: [tone, tool_misuse]
defaults:
  window: 1m
  break: {duration: 30s, jitter: 0}
  half_open: {concurrency: 3, successes: 3, failures: 3, lease: 1m}
policies:
- name: rich
  match: ["*"]
  kinds: {tone: 2, missing_evidence: 0.333}
  rules:
  - {name: watch, type: count, threshold: 2, action: degrade}
  - {name: failures, type: ratio, threshold: 0.5, minimum_throughput: 5}
  - {name: lately, type: ratio, threshold: 0.9, last: 30}
  - {name: streak, type: consecutive, threshold: 9}
  - {name: spend, type: sum, of: cost_usd, threshold: 25, window: 1h}
`

// beside is a policy that shadows the rich one.
const beside = `- {name: careful, shadows: rich, kinds: {tone: 0.5}, rules: [{name: two, type: count, threshold: 2}]}
`

// richCircuits are circuits that between them have all that a circuit can have: closed and degraded, half-open with
// leases, a row and ids, and recovered with an override that will end.
func richCircuits(t testing.TB) *rig { return fillRich(newRig(t, rich)) }

func fillRich(r *rig) *rig {
	for i := range 70 {
		r.outcome(time.Duration(i)*time.Millisecond, schemas.Outcome{
			Kind: schemas.Accepted, ID: fmt.Sprint("id", i), CostMicros: 15_300, Count: int64(1 + i%3),
		})
	}
	r.outcome(time.Second, schemas.Outcome{
		Kind: "tone", ID: "t", Stage: "model", ReasonCode: "rude", EvidenceRef: "s3://e",
	})
	r.outcome(2*time.Second, schemas.Outcome{Kind: schemas.MissingEvidence, Severity: schemas.High, CostMicros: 1})
	r.outcome(2*time.Second, schemas.Outcome{Kind: schemas.MissingEvidence, HasEpoch: true, Epoch: 4})
	r.outcome(3*time.Second, schemas.Outcome{Circuit: "half", Kind: schemas.InvalidContract, Count: 5})
	for i, lease := range []string{"A", "B", "C"} {
		s := schemas.Signal{Type: schemas.Claim, Circuit: "half", Holder: "router", Lease: lease}
		r.do(40*time.Second+time.Duration(i)*time.Millisecond, processor.Input{Signal: &s})
	}
	r.outcome(41*time.Second, schemas.Outcome{Circuit: "half", Kind: schemas.Accepted, Lease: "A"})
	r.outcome(41*time.Second, schemas.Outcome{Circuit: "half", Kind: schemas.Cancelled, Lease: "B"})
	r.outcome(42*time.Second, schemas.Outcome{Circuit: "forced", Kind: schemas.Accepted})
	s := schemas.Signal{
		Type: schemas.Override, Circuit: "forced", Mode: schemas.ForceOpen, Actor: "ana", Reason: "drill",
		TTL: time.Hour,
	}
	r.do(43*time.Second, processor.Input{Signal: &s})
	return r
}

// TestValueComesBack reads values of all kinds of circuits back and compares what they then are and do.
func TestValueComesBack(t *testing.T) {
	r := richCircuits(t)
	back := newRig(t, rich)
	for name, value := range r.values() {
		if err := back.Insert(name, value); err != nil {
			t.Fatalf("Insert(%s): %v", name, err)
		}
		if moved := name != "c"; processor.NeedsReload(value) != moved {
			t.Errorf("NeedsReload(%s) = %v, want %v", name, !moved, moved)
		}
	}
	r.Commit()
	back.offset = r.offset
	for _, lease := range []string{"A", "B", "C", "D"} {
		s := schemas.Signal{Type: schemas.Claim, Circuit: "half", Holder: "router", Lease: lease}
		want, got := r.do(45*time.Second, inputOf(&s)), back.do(45*time.Second, inputOf(&s))
		if want.Granted != (lease > "B") || got.Granted != want.Granted || text(want.States) != text(got.States) {
			t.Errorf("claim of %s did %+v, and where it came back %+v, want C and D granted", lease, want, got)
		}
	}
	for _, name := range []string{"c", "half", "forced"} {
		for i, o := range []schemas.Outcome{
			{Kind: schemas.Accepted, ID: "id10"}, {Kind: schemas.Accepted, ID: "id1"}, {Kind: "tone", Lease: "C"},
			{Kind: "tone", Count: 200}, {Kind: schemas.TransportFailure},
		} {
			o.Circuit = name
			at := 50*time.Second + time.Duration(i)
			want, got := r.outcome(at, o), back.outcome(at, o)
			if want.Why != got.Why || text(want.States) != text(got.States) {
				t.Errorf("%s: %+v did %v\n%s, and where it came back %v\n%s", name, o, want.Why, text(want.States),
					got.Why, text(got.States))
			}
		}
	}
	was, is := r.values(), back.values()
	for name := range was {
		if !bytes.Equal(was[name], is[name]) {
			t.Errorf("the value of %s differs from that of the circuit that came back", name)
		}
	}
}

func text(states []schemas.State) string {
	var b []byte
	for i := range states {
		b = append(schemas.AppendState(b, &states[i]), '\n')
	}
	return string(b)
}

// TestValueKeepsTheRecovery trips a circuit that came back exactly when it has been healthy for long enough.
func TestValueKeepsTheRecovery(t *testing.T) {
	was := newRig(t, brief)
	was.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	was.outcomes(30*time.Second, schemas.Accepted)
	was.override(31*time.Second, schemas.ForceClosed, 0)
	was.override(32*time.Second, schemas.Clear, 0)
	for at, attempt := range map[time.Duration]int{630*time.Second - time.Millisecond: 2, 630 * time.Second: 1} {
		r := newRig(t, brief)
		if err := r.Insert("c", was.values()["c"]); err != nil {
			t.Fatal(err)
		}
		r.outcomes(at, schemas.InvalidContract, schemas.InvalidContract)
		if s := r.state(t, at); s.State != schemas.Open || s.Attempt != attempt {
			t.Errorf("a trip %v after the start is attempt %d in state %v, want %d", at, s.Attempt, s.State, attempt)
		}
	}
}

// TestValueUnderAPolicyThatIsOff reads an open circuit where its policy has been switched off since: nobody may claim.
func TestValueUnderAPolicyThatIsOff(t *testing.T) {
	was := newRig(t, brief)
	was.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	off := strings.Replace(brief, "rules:", "enabled: false, rules:", 1)
	r := newRig(t, off)
	if err := r.Insert("c", was.values()["c"]); err != nil {
		t.Fatal(err)
	}
	if s := r.state(t, time.Minute); s.State != schemas.Open {
		t.Fatalf("the circuit is %+v, want it open as it was", s)
	}
	if got := r.claim(time.Minute, "A"); got.Granted || got.States != nil {
		t.Errorf("a claim did %+v, want it refused", got)
	}
	states := r.Reload(read(t, off), schemas.Inputs{Outcomes: 7, Signals: 8})
	if len(states) != 1 || states[0].State != schemas.Closed || states[0].Epoch != 2 {
		t.Errorf("the reload published %+v, want the circuit closed", states)
	}
	if s := r.state(t, time.Minute); s.Inputs != (schemas.Inputs{Outcomes: 7, Signals: 8}) {
		t.Errorf("after the reload the circuit is as of %+v", s.Inputs)
	}
}

// TestValueOfPoliciesThatCameBack reads a value where its policies went and came back before it was written.
func TestValueOfPoliciesThatCameBack(t *testing.T) {
	r := newRig(t, brief)
	const other = `version: 1
policies: [{name: p, match: ["*"], rules: [{name: s, type: consecutive, threshold: 9}]}]`
	r.Reload(read(t, other), schemas.Inputs{})
	r.Reload(read(t, brief), schemas.Inputs{})
	r.outcomes(0, schemas.InvalidContract)
	value := r.values()["c"]
	r.Commit()
	r.Evict(0)
	if err := r.Insert("c", value); err != nil {
		t.Fatal(err)
	}
	if got := r.outcomes(0, schemas.InvalidContract); got.Tripped == nil || got.Tripped.Throughput != 2 {
		t.Errorf("the second failure did %+v, want a trip of two", got)
	}
}

// TestGoldenValue reads the value of a circuit as each version wrote it. Such values are in stores and changelogs: they
// must be read for ever. What is written now is the oldest of them that can hold the circuit: another form is another
// version, with a file of its own.
func TestGoldenValue(t *testing.T) {
	policies := []string{rich, rich + beside}
	if len(policies) != processor.ValueVersion {
		t.Fatalf("golden values of %d versions, want %d", len(policies), processor.ValueVersion)
	}
	for i, policy := range policies {
		version := i + 1
		now := fillRich(newRig(t, policy)).values()["c"]
		if *write && version == processor.ValueVersion {
			if err := os.WriteFile(goldenValue(version), now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		value, err := os.ReadFile(goldenValue(version))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(value, now) {
			t.Errorf("a value is written otherwise than version %d, %d and %d bytes", version, len(now), len(value))
		}
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) { readGoldenValue(t, policy, value) })
	}
}

func readGoldenValue(t *testing.T, policy string, value []byte) {
	r := newRig(t, policy)
	if err := r.Insert("c", value); err != nil {
		t.Fatalf("Insert: %v", err)
	}
	if at, err := processor.LastRecord(value); at != t0.Add(2*time.Second) || err != nil {
		t.Errorf("LastRecord = %v, %v, want 2s after the start", at, err)
	}
	s := r.state(t, 3*time.Second)
	if policy == rich+beside {
		readGoldenShadow(t, s.Shadow)
	} else if s.Shadow != nil || s.Sequence != 2 {
		t.Errorf("the circuit has the shadow %+v, sequence %d", s.Shadow, s.Sequence)
	}
	if s.State != schemas.Closed || s.Born != t0 || s.Degraded == nil ||
		s.Degraded.Rule != "watch" ||
		s.Degraded.Observed != 2 || s.Inputs.Outcomes != 73 {
		t.Errorf("the circuit is %+v, want it closed and degraded by watch", s)
	}
	if got := r.outcome(3*time.Second, schemas.Outcome{Kind: "tone", ID: "id69"}).Why; got != processor.Duplicate {
		t.Errorf("a known id is %v", got)
	}
	c := r.outcome(4*time.Second, schemas.Outcome{Kind: "tone", Count: 100}).Tripped
	if c == nil || c.Rule != "failures" || c.Throughput != 241 || c.ByKind["tone"] != 101 || c.Observed != 0.839556 ||
		c.NotCounted.Stale != 1 || c.NotCounted.Duplicate != 1 || len(c.Evidence) != 3 ||
		c.Evidence[2].EvidenceRef != "s3://e" {
		t.Errorf("the trip says %+v, want what was counted before in it", c)
	}
}

func readGoldenShadow(t *testing.T, s *schemas.Shadow) {
	if s == nil || s.Policy != "careful" || s.State != schemas.Open || s.Epoch != 1 || s.Trips != 1 ||
		s.Since != t0.Add(2*time.Second) || s.Cause == nil || s.Cause.Rule != "two" {
		t.Errorf("the shadow is %+v, want it open since 2s after the start", s)
	}
}
