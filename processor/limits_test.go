package processor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestUsedLeaseIDs claims more ids in one epoch than are remembered: the newest 1,024 are refused a second time.
func TestUsedLeaseIDs(t *testing.T) {
	r := newRig(t, `version: 1
defaults: {minimum_throughput: 1, break: {jitter: 0}, half_open: {lease: 1h}}
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.5}]}]`)
	r.outcomes(0, schemas.InvalidContract)
	grant := func(i int) bool {
		s := schemas.Signal{Type: schemas.Claim, Circuit: "c", Holder: "h", Lease: fmt.Sprint("lease-", i)}
		granted := r.do(30*time.Second, processor.Input{Signal: &s}).Granted
		free := schemas.Signal{Type: schemas.Release, Circuit: "c", Lease: s.Lease, Unused: true}
		r.do(30*time.Second, processor.Input{Signal: &free})
		return granted
	}
	for i := range 1025 {
		if !grant(i) {
			t.Fatalf("claim %d is refused", i)
		}
	}
	if grant(1) || grant(1024) {
		t.Error("an id among the newest 1,024 is granted again")
	}
	for _, value := range r.values() {
		if len(value) > 10_000 {
			t.Errorf("the value has %d bytes, want the ids bounded", len(value))
		}
	}
	if !grant(0) {
		t.Error("the oldest of 1,025 ids is still remembered")
	}
}

// TestRecentIDsAcrossRestores keeps the newest 64 ids in order, however often the circuit leaves memory between them.
func TestRecentIDsAcrossRestores(t *testing.T) {
	r := newRig(t, brief)
	id := func(i int) processor.Why {
		why := r.outcome(0, schemas.Outcome{Kind: schemas.Accepted, ID: fmt.Sprint("id-", i)}).Why
		value := r.values()["c"]
		r.Commit()
		r.Evict(0)
		if err := r.Insert("c", value); err != nil {
			t.Fatal(err)
		}
		return why
	}
	for i := range 200 {
		if got := id(i); got != processor.Counted {
			t.Fatalf("id %d is %v, want counted", i, got)
		}
		if i >= 63 {
			if got := id(i - 63); got != processor.Duplicate {
				t.Fatalf("id %d after id %d is %v, want duplicate", i-63, i, got)
			}
		}
	}
	if got := id(199 - 64); got != processor.Counted {
		t.Errorf("the 65th newest id is %v, want counted", got)
	}
}

// TestGreatNumbers adds the greatest numbers that the wire can carry: sums stay at the greatest, and nothing turns
// round.
func TestGreatNumbers(t *testing.T) {
	r := newRig(t, `version: 1
defaults: {minimum_throughput: 1, break: {jitter: 0}}
policies:
- name: p
  match: ["*"]
  kinds: {missing_evidence: 1000000}
  rules:
  - {name: s, type: sum, of: tokens, threshold: 1000000000000, action: degrade}
  - {name: n, type: count, threshold: 1000000000000, action: degrade}
  - {name: k, type: consecutive, threshold: 1000000000000, action: degrade}
  - {name: r, type: ratio, threshold: 1000, last: 1000, action: degrade}`)
	const great = 1 << 53
	o := schemas.Outcome{
		Kind: schemas.MissingEvidence, Count: great, InputTokens: great, OutputTokens: great,
	}
	for i := range 2000 {
		result := r.outcome(time.Duration(i)*time.Millisecond, o)
		if result.Why != processor.Counted {
			t.Fatalf("outcome %d is %v", i, result.Why)
		}
	}
	s := r.state(t, 2*time.Second)
	if s.State != schemas.Closed || s.Degraded == nil || s.Degraded.Rule != "s" || s.Degraded.Observed != 2*great {
		t.Errorf("the circuit is %v, degraded by %+v, want by s from the first outcome on", s.State, s.Degraded)
	}
	r.outcome(3*time.Second, schemas.Outcome{Kind: schemas.Accepted})
	if s := r.state(t, 3*time.Second); s.Degraded == nil || s.Degraded.Rule != "s" {
		t.Errorf("after a success the circuit is degraded by %+v, want s", s.Degraded)
	}
	if s := r.outcome(2*time.Hour, schemas.Outcome{Kind: schemas.Accepted}); len(s.States) != 1 ||
		s.States[0].Degraded != nil && s.States[0].Degraded.Rule != "r" {
		t.Errorf("once all has left the windows of time %+v was published", s.States)
	}
}

// TestGreatWeight multiplies a count and a weight whose product is just beyond 64 bits.
func TestGreatWeight(t *testing.T) {
	r := newRig(t, `version: 1
policies:
- name: p
  match: ["*"]
  kinds: {missing_evidence: 2.048}
  rules: [{name: r, type: ratio, threshold: 1, minimum_throughput: 1}]`)
	if got := r.outcome(0, schemas.Outcome{Kind: schemas.MissingEvidence, Count: 1 << 53}); got.Tripped == nil {
		t.Errorf("2^53 failures of weight 2.048 did %+v, want a trip", got)
	}
}
