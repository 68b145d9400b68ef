package processor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestEvict checks that what leaves memory was not used lately, was committed, and no more than asked for.
func TestEvict(t *testing.T) {
	r := newRig(t, brief)
	touch := func(i int) {
		r.outcome(0, schemas.Outcome{Circuit: fmt.Sprint("c", i), Kind: schemas.Accepted})
	}
	for i := range 10 {
		touch(i)
	}
	r.Evict(3)
	if r.Len() != 10 {
		t.Fatalf("Evict of circuits that are touched left %d, want 10", r.Len())
	}
	r.Commit()
	r.Evict(8)
	if r.Len() != 8 {
		t.Errorf("Evict(8) left %d", r.Len())
	}
	var kept []string
	for i := range 10 {
		if name := fmt.Sprint("c", i); r.Resident(name) {
			kept = append(kept, name)
		}
	}
	for _, name := range kept[:2] {
		r.outcome(0, schemas.Outcome{Circuit: name, Kind: schemas.Accepted})
	}
	r.Evict(1)
	if r.Len() != 2 || !r.Resident(kept[0]) || !r.Resident(kept[1]) {
		t.Errorf("Evict(1) beside two that are touched left %d, want those two", r.Len())
	}
	r.Commit()
	r.Evict(0)
	if r.Len() != 0 || r.Touched() != 0 {
		t.Errorf("Evict(0) left %d", r.Len())
	}
}

// TestReloadOrder takes away the policy of open circuits: in which order they came into memory makes no difference to
// what is published.
func TestReloadOrder(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}} {
		r := newRig(t, brief)
		for _, name := range names {
			r.do(0, processor.Input{Signal: &schemas.Signal{
				Type: schemas.Override, Circuit: name, Mode: schemas.ForceOpen, Actor: "ana", Reason: "drill",
				TTL: time.Second,
			}})
		}
		r.Advance(t0.Add(time.Minute))
		var got []string
		for _, state := range r.Reload(read(t, brief), schemas.Inputs{}) {
			got = append(got, state.Circuit)
		}
		if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
			t.Errorf("Reload publishes %v where %v came into memory, want %v", got, names, want)
		}
	}
}

// TestEvictSparesWhatIsUsed uses two of a hundred circuits between evictions, which stay.
func TestEvictSparesWhatIsUsed(t *testing.T) {
	r := newRig(t, brief)
	for i := range 100 {
		r.outcome(0, schemas.Outcome{Circuit: fmt.Sprint("c", i), Kind: schemas.Accepted})
	}
	r.Commit()
	for left := 99; left >= 2; left-- {
		for _, name := range []string{"c7", "c42"} {
			if !r.Resident(name) {
				t.Fatalf("%s left memory before %d that nobody used", name, left-1)
			}
			r.outcome(0, schemas.Outcome{Circuit: name, Kind: schemas.Accepted})
		}
		r.Commit()
		r.Evict(left)
		if r.Len() != left {
			t.Fatalf("Evict(%d) left %d", left, r.Len())
		}
	}
}

// TestEvictSparesWhatIsTouched lets a circuit wait for its commit through many evictions.
func TestEvictSparesWhatIsTouched(t *testing.T) {
	r := newRig(t, brief)
	for i := range 50 {
		r.outcome(0, schemas.Outcome{Circuit: fmt.Sprint("c", i), Kind: schemas.Accepted})
	}
	r.Commit()
	r.outcome(0, schemas.Outcome{Circuit: "c0", Kind: schemas.InvalidContract})
	for left := 49; left >= 0; left-- {
		r.Evict(left)
		if want := max(left, 1); r.Len() != want || !r.Resident("c0") {
			t.Fatalf("Evict(%d) left %d, c0 among them: %v", left, r.Len(), r.Resident("c0"))
		}
	}
	if len(r.values()) != 1 {
		t.Error("what is not committed is lost")
	}
}

// TestRollback drops all that came since the last Commit, the clock's advance too. What was committed comes back.
func TestRollback(t *testing.T) {
	r := newRig(t, brief)
	r.outcomes(time.Second, schemas.InvalidContract)
	r.outcome(time.Second, schemas.Outcome{Circuit: "other", Kind: schemas.Accepted})
	before := r.state(t, time.Second)
	committed := r.commit()
	r.outcomes(time.Minute, schemas.InvalidContract)
	r.outcome(time.Minute, schemas.Outcome{Circuit: "new", Kind: schemas.Accepted})
	if s := r.state(t, time.Minute); s.State != schemas.Open || r.Touched() != 2 || r.Len() != 3 {
		t.Fatalf("before Rollback: %+v, %d touched", s, r.Touched())
	}
	r.Rollback()
	if got := r.Clock(); got != t0.Add(time.Second) {
		t.Errorf("Clock after Rollback = %v, want that of the Commit", got)
	}
	if r.Touched() != 0 || r.Resident("c") || r.Resident("new") || !r.Resident("other") || len(r.values()) != 0 {
		t.Errorf("after Rollback %d touched, %d in memory, want none and the one untouched", r.Touched(), r.Len())
	}
	if err := r.Insert("c", committed["c"]); err != nil {
		t.Fatal(err)
	}
	if s := r.state(t, time.Second); s.State != schemas.Closed || s.Sequence != before.Sequence {
		t.Errorf("State after Rollback = %+v, want %+v", s, before)
	}
	again := r.outcomes(2*time.Second, schemas.InvalidContract)
	if again.Tripped == nil || again.Tripped.Throughput != 2 {
		t.Errorf("after Rollback the second failure did %+v, want it to trip at 2", again)
	}
}

// TestRollbackOfASweep brings back what the sweep would have forgotten.
func TestRollbackOfASweep(t *testing.T) {
	r := newRig(t, brief)
	r.outcomes(0, schemas.Accepted)
	committed := r.commit()
	r.Advance(t0.Add(2 * time.Hour))
	if len(r.Sweep(9)) != 1 {
		t.Fatal("nothing is idle")
	}
	r.Rollback()
	if len(r.values()) != 0 || r.Clock() != t0 {
		t.Errorf("after Rollback %d are to be written, clock %v", len(r.values()), r.Clock())
	}
	if err := r.Insert("c", committed["c"]); err != nil {
		t.Fatal(err)
	}
	if s := r.state(t, 0); s.Sequence != 1 {
		t.Errorf("after Rollback the circuit is %+v, want it as it was", s)
	}
}

// TestFull tells outcomes of new circuits apart once no further one may become known. An operator's word finds room.
func TestFull(t *testing.T) {
	r := newRig(t, brief)
	r.outcomes(0, schemas.Accepted)
	over := schemas.Outcome{Circuit: "new", Kind: "TransportFailure", Count: 1}
	result := r.do(time.Second, processor.Input{Outcome: &over, Full: true})
	if result.Why != processor.OverLimit || result.Why.Counts() || result.Why.String() != "over_limit" ||
		result.Kind != "transport_failure" || result.Known != 0 || result.States != nil ||
		result.At != t0.Add(time.Second) {
		t.Errorf("Step of a new circuit when full = %+v, want over_limit and nothing else", result)
	}
	for _, s := range []schemas.Signal{
		{Type: schemas.Claim, Circuit: "new", Lease: "L"}, {Type: schemas.Release, Circuit: "new", Lease: "L"},
		{Type: schemas.Override, Circuit: "new", Mode: schemas.Clear},
	} {
		result := r.do(time.Second, processor.Input{Signal: &s, Full: true})
		if result.Known != 0 || result.States != nil || result.Granted || r.Resident("new") {
			t.Errorf("Step of %v when full = %+v, want nothing", s.Type, result)
		}
		if refused := result.Leases.Refused == 1; refused != (s.Type == schemas.Claim) {
			t.Errorf("Step of %v when full counted %+v", s.Type, result.Leases)
		}
	}
	known := schemas.Outcome{Circuit: "c", Kind: schemas.Accepted, Count: 1}
	if got := r.do(time.Second, processor.Input{Outcome: &known, Full: true}).Why; got != processor.Counted {
		t.Errorf("Step of a known circuit when full = %v, want counted", got)
	}
	decree := schemas.Signal{Type: schemas.Override, Circuit: "new", Mode: schemas.ForceOpen, Actor: "ana"}
	if got := r.do(time.Second, processor.Input{Signal: &decree, Full: true}); got.Known != 1 || got.Moves != 1 {
		t.Errorf("Step of an override when full = %+v, want a circuit forced open", got)
	}
}

// TestCircuitsDoNotLiveInTheBuffer checks that a circuit's name outlives the bytes that it came in.
func TestCircuitsDoNotLiveInTheBuffer(t *testing.T) {
	r := newRig(t, brief)
	value := []byte(`{"circuit":"c","kind":"accepted","id":"one"}`)
	var o schemas.Outcome
	if err := schemas.DecodeOutcome(nil, value, &o); err != nil {
		t.Fatal(err)
	}
	result := r.do(0, processor.Input{Outcome: &o})
	for i := range value {
		value[i] = '#'
	}
	if result.Circuit != "c" || result.States[0].Circuit != "c" || !r.Resident("c") {
		t.Errorf("the circuit is now called %q", result.Circuit)
	}
}
