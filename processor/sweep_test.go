package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

const brief = `version: 1
defaults: {minimum_throughput: 2, break: {jitter: 0}, idle_after: 1h}
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.5}]}]
`

// TestNewLifeSweptOrNot begins a second life of a circuit that a sweep has forgotten, and of one that it has not
// reached: both leave the same in the changelog.
func TestNewLifeSweptOrNot(t *testing.T) {
	var values []string
	for _, swept := range []bool{false, true} {
		r := newRig(t, brief)
		r.outcomes(0, schemas.Accepted)
		r.Commit()
		r.Advance(t0.Add(2 * time.Hour))
		if swept {
			r.Sweep(1)
			r.Commit()
		}
		r.outcomes(2*time.Hour, schemas.Accepted)
		values = append(values, fmt.Sprintf("%x", r.values()["c"]))
	}
	if values[0] != values[1] {
		t.Errorf("the new life of a circuit that was not swept is\n%s, want as of one that was\n%s",
			values[0], values[1])
	}
}

// TestSweep forgets what has been idle for exactly the idle time, no more than it may, and nothing that is touched,
// open or younger.
func TestSweep(t *testing.T) {
	r := newRig(t, brief)
	for i := range 5 {
		r.outcome(time.Duration(i), schemas.Outcome{Circuit: fmt.Sprint("idle", i), Kind: schemas.Accepted})
	}
	r.outcome(0, schemas.Outcome{Circuit: "open", Kind: schemas.InvalidContract, Count: 2})
	r.outcome(time.Millisecond, schemas.Outcome{Circuit: "young", Kind: schemas.Accepted})
	r.Commit()
	r.Advance(t0.Add(time.Hour - 1))
	if got := r.Sweep(10); got != nil {
		t.Fatalf("Sweep before its time = %v", got)
	}
	r.Advance(t0.Add(time.Hour + 4))
	r.outcome(time.Hour+4, schemas.Outcome{Circuit: "idle0", Kind: schemas.Accepted})
	if got := r.Sweep(3); len(got) != 3 || slices.Contains(got, "idle0") {
		t.Fatalf("Sweep(3) = %v, want three of those idle and untouched", got)
	}
	if got := r.Sweep(10); len(got) != 1 || len(got) == 1 && got[0][:4] != "idle" {
		t.Fatalf("Sweep(10) = %v, want the one that is left", got)
	}
	forgotten := 0
	for name, value := range r.values() {
		if (value == nil) != (name != "idle0") {
			t.Errorf("the value of %s is %x", name, value)
		}
		if value == nil {
			forgotten++
		}
	}
	if forgotten != 4 {
		t.Errorf("%d tombstones, want 4", forgotten)
	}
	if s, ok := r.State("idle1", r.Clock()); !ok || s.Sequence != 1 {
		t.Errorf("State before the tombstone is out = %+v, %v, want the old life", s, ok)
	}
	r.Commit()
	if r.Resident("idle1") || !r.Resident("idle0") || r.Len() != 3 {
		t.Errorf("after Commit %d circuits are in memory, want idle0, open and young", r.Len())
	}
}

// TestSweepByThePolicyOfNow reloads an idle time before a circuit is touched again.
func TestSweepByThePolicyOfNow(t *testing.T) {
	r := newRig(t, brief)
	r.outcomes(0, schemas.Accepted)
	r.Commit()
	r.Advance(t0.Add(time.Minute))
	r.Reload(read(t, strings.Replace(brief, "idle_after: 1h", "idle_after: 1m", 1)), schemas.Inputs{})
	if got := r.Sweep(9); len(got) != 1 {
		t.Errorf("Sweep = %v, want what is idle for the minute that now suffices", got)
	}
}

// TestSweepDecidesNothing compares what a record does to an idle circuit that nobody swept, that is swept but not
// committed, and that is gone.
func TestSweepDecidesNothing(t *testing.T) {
	signals := []schemas.Signal{
		{Type: schemas.Claim, Circuit: "c", Holder: "h", Lease: "L"},
		{Type: schemas.Release, Circuit: "c", Lease: "L"},
		{Type: schemas.Override, Circuit: "c", Mode: schemas.Clear},
		{Type: schemas.Override, Circuit: "c", Mode: schemas.ForceOpen, Actor: "ana"},
		{}, // An outcome.
	}
	for _, signal := range signals {
		var outs [3]string
		for how := range outs {
			r := newRig(t, brief)
			r.outcomes(0, schemas.Accepted)
			r.Commit()
			r.Advance(t0.Add(time.Hour))
			if how > 0 && len(r.Sweep(1)) != 1 {
				t.Fatal("the circuit is not idle")
			}
			if how > 1 {
				r.Commit()
			}
			var result processor.Result
			if signal.Circuit == "" {
				result = r.outcomes(time.Hour, schemas.InvalidContract)
			} else {
				result = r.do(time.Hour, processor.Input{Signal: &signal})
			}
			creates := signal.Mode != schemas.Clear && signal.Type != schemas.Claim && signal.Type != schemas.Release
			want := min(how, 1)
			if !creates {
				want--
			}
			if result.Known != want {
				t.Errorf("%v %v: Known = %d, want %d", signal.Type, signal.Mode, result.Known, want)
			}
			for i := range result.States {
				outs[how] += string(schemas.AppendState(nil, &result.States[i])) + "\n"
			}
			r.Commit()
			s, known := r.State("c", t0.Add(time.Hour))
			if known != creates || known && s.Born != t0.Add(time.Hour) {
				t.Errorf("%v %v: known %v, born %v, want a new life: %v",
					signal.Type, signal.Mode, known, s.Born, creates)
			}
		}
		if outs[0] != outs[1] || outs[0] != outs[2] {
			t.Errorf("%v %v: records without a sweep\n%s, with one under way\n%s, with one done\n%s", signal.Type,
				signal.Mode, outs[0], outs[1], outs[2])
		}
	}
}

// TestBirth checks the first record of a life, and of the next.
func TestBirth(t *testing.T) {
	r := newRig(t, brief)
	first := r.outcomes(time.Second, schemas.Accepted)
	if first.Known != 1 || len(first.States) != 1 || first.Moves != 0 {
		t.Fatalf("the first outcome did %+v, want one record of a new circuit", first)
	}
	s := first.States[0]
	if s.Sequence != 1 || s.Epoch != 0 || s.State != schemas.Closed || s.Born != t0.Add(time.Second) ||
		!s.ChangedAt.IsZero() || s.Policy != "p" || s.PolicyVersion != read(t, brief).Version || !s.Enforced ||
		s.Trigger != (schemas.Trigger{Topic: "outcomes", Partition: 3, Offset: 0}) ||
		s.Inputs != (schemas.Inputs{Outcomes: 1, Signals: 1}) || s.Probe.Concurrency != 1 {
		t.Errorf("the first record is %+v", s)
	}
	if next := r.outcomes(time.Second, schemas.Accepted); next.Known != 0 || next.States != nil {
		t.Errorf("the second outcome did %+v, want no record", next)
	}
	if s := r.state(t, time.Second); s.Inputs != (schemas.Inputs{Outcomes: 2, Signals: 1}) || s.Sequence != 1 {
		t.Errorf("after the second outcome the circuit is %+v, want it as of that", s)
	}
	r.override(2*time.Second, schemas.Disable, time.Second)
	again := r.outcomes(2*time.Hour, schemas.Accepted)
	if len(again.States) != 2 || again.Known != 0 || again.Moves != 0 {
		t.Fatalf("after a long time the outcome published %+v, want the override's end and a birth", again.States)
	}
	if s := again.States[0]; s.Sequence != 3 || s.ChangedAt != t0.Add(3*time.Second) || s.Previous != schemas.Disabled {
		t.Errorf("the end of the override is %+v, want it at its own time", s)
	}
	if s := again.States[1]; s.Sequence != 1 || s.Epoch != 0 || s.Born != t0.Add(2*time.Hour) || !s.ChangedAt.IsZero() {
		t.Errorf("the new life begins with %+v", s)
	}
}
