package processor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// shadowed is a policy that opens at three failures in a row, and one beside it that opens at two.
const shadowed = `version: 1
defaults: {break: {duration: 10s, jitter: 0}, idle_after: 1h}
policies:
- {name: p, match: ["*"], rules: [{name: three, type: consecutive, threshold: 3}]}
- {name: careful, shadows: p, rules: [{name: two, type: consecutive, threshold: 2}]}
`

// unshadowed is the first of them alone.
var unshadowed = shadowed[:strings.Index(shadowed, "- {name: careful")]

// TestShadow follows a shadow that opens before its circuit does, is probed by what comes, and closes again.
func TestShadow(t *testing.T) {
	r := newRig(t, shadowed)
	first := r.outcomes(0, schemas.InvalidContract)
	if s := first.States[0].Shadow; len(first.Shadows) > 0 || s == nil || s.Policy != "careful" ||
		s.State != schemas.Closed || s.Since != t0 || s.Trips != 0 || s.Cause != nil {
		t.Errorf("first record: shadow %+v, transitions %+v, want it closed since the start", s, first.Shadows)
	}
	trip := r.outcome(time.Second, schemas.Outcome{Kind: schemas.InvalidContract, Lease: "foreign", HasEpoch: true})
	if trip.Why != processor.Stale || trip.Tripped != nil || trip.Moves != 0 || trip.WouldTrip == nil {
		t.Errorf("an outcome on a foreign lease did %+v, want the shadow open and the circuit as it was", trip)
	}
	s := trip.States[0]
	if len(trip.States) != 1 || s.State != schemas.Closed || s.Epoch != 0 || s.Sequence != 2 || s.Cause != nil ||
		s.Shadow.State != schemas.Open || s.Shadow.Epoch != 1 || s.Shadow.Trips != 1 ||
		s.Shadow.Since != t0.Add(time.Second) || s.Shadow.Cause.Rule != "two" {
		t.Errorf("the circuit's record is %+v with shadow %+v", s, s.Shadow)
	}
	own := trip.Shadows[0]
	if len(trip.Shadows) != 1 || !own.IsShadow || own.Enforced || own.Policy != "careful" || own.Sequence != 2 ||
		own.Born != t0 || own.State != schemas.Open || own.Previous != schemas.Closed || own.Epoch != 1 ||
		own.RetryAt != t0.Add(11*time.Second) || own.Cause.Rule != "two" || own.Shadow != nil ||
		own.Trigger.Offset != 1 || own.Inputs.Outcomes != 2 {
		t.Errorf("the shadow's transition is %+v", own)
	}
}

// TestShadowRecovers probes an open shadow with whatever starts when its probe is due: one outcome, two transitions,
// one record of the circuit that shows them.
func TestShadowRecovers(t *testing.T) {
	r := newRig(t, shadowed)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	slow := schemas.Outcome{Kind: schemas.Accepted, LatencyMS: 1}
	for _, refused := range []processor.Result{
		r.outcomes(5*time.Second, schemas.Accepted), r.outcome(10*time.Second, slow),
	} {
		if refused.Why != processor.Counted || len(refused.States)+len(refused.Shadows) > 0 {
			t.Errorf("while the shadow is open an outcome did %+v", refused)
		}
	}
	back := r.outcomes(10*time.Second, schemas.Accepted)
	if len(back.States) != 1 || len(back.Shadows) != 2 || back.Shadows[0].State != schemas.HalfOpen ||
		back.Shadows[1].State != schemas.Closed || back.Shadows[1].Sequence != back.States[0].Sequence ||
		back.States[0].Shadow.State != schemas.Closed || back.States[0].Shadow.Epoch != 2 ||
		back.States[0].Shadow.Trips != 1 || back.States[0].Shadow.Cause != nil {
		t.Errorf("the probe did %+v", back)
	}
}

// TestShadowBesideATrip shows in one record what one outcome did to both.
func TestShadowBesideATrip(t *testing.T) {
	r := newRig(t, strings.Replace(shadowed, "threshold: 2", "threshold: 3", 1))
	trip := r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract, schemas.InvalidContract)
	if len(trip.States) != 1 || len(trip.Shadows) != 1 ||
		trip.States[0].Sequence != 2 || trip.Shadows[0].Sequence != 2 ||
		trip.States[0].State != schemas.Open || trip.States[0].Shadow.State != schemas.Open {
		t.Errorf("the trip of both did %+v", trip)
	}
}

// TestShadowKnowsNoSignals lets an operator and routers do what they like: the shadow goes on as it was.
func TestShadowKnowsNoSignals(t *testing.T) {
	r := newRig(t, shadowed)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	for _, result := range []processor.Result{
		r.claim(11*time.Second, "L"), r.release(11*time.Second, "L"),
		r.override(12*time.Second, schemas.Disable, time.Minute), r.override(13*time.Second, schemas.Reset, 0),
	} {
		if len(result.Shadows) > 0 {
			t.Errorf("a signal did %+v to the shadow", result.Shadows)
		}
	}
	if s := r.state(t, 14*time.Second); s.Shadow.State != schemas.Open || s.Shadow.Epoch != 1 {
		t.Errorf("after signals the shadow is %+v", s.Shadow)
	}
	r.override(15*time.Second, schemas.ForceOpen, 0)
	if probe := r.outcomes(16*time.Second, schemas.InvalidContract); probe.Why != processor.WhileOpen ||
		probe.WouldTrip == nil || probe.WouldTrip.Rule != "probe_failed" || probe.Tripped != nil {
		t.Errorf("an outcome under force_open did %+v, want the shadow's probe failed", probe)
	}
}

// TestShadowReload brings a shadow, changes what it judges by, puts another in its place and takes it away: each is
// published with the circuit's next record, and only one of another name begins anew.
func TestShadowReload(t *testing.T) {
	r := newRig(t, unshadowed)
	r.outcomes(0, schemas.InvalidContract)
	steps := []struct {
		name, policies string
		policy         string // Of the shadow, empty for none.
		published      bool
		state          schemas.Phase
		trips          int64
	}{
		{"comes", shadowed, "careful", true, schemas.Closed, 0},
		{"trips", "", "careful", true, schemas.Open, 1},
		{
			"other rules", strings.Replace(shadowed, "threshold: 2", "threshold: 7", 1), "careful",
			false, schemas.Open, 1,
		},
		{"another name", strings.Replace(shadowed, "careful", "bold", 1), "bold", true, schemas.Closed, 0},
		{"off", strings.Replace(shadowed, "shadows: p", "shadows: p, enabled: false", 1), "", true, 0, 0},
		{"back", shadowed, "careful", true, schemas.Closed, 0},
		{"goes", unshadowed, "", true, 0, 0},
		{"stays away", unshadowed + "\n", "", false, 0, 0},
	}
	for i, tt := range steps {
		at := time.Duration(i+1) * time.Second
		if tt.policies != "" {
			if states := r.Reload(read(t, tt.policies), schemas.Inputs{}); len(states) > 0 {
				t.Errorf("%s: the reload itself published %+v", tt.name, states)
			}
		}
		was := r.state(t, at).Sequence
		o := schemas.Outcome{Kind: schemas.Accepted}
		if tt.name == "trips" {
			o = schemas.Outcome{Kind: schemas.InvalidContract, Count: 2}
		}
		result := r.outcome(at, o)
		s := r.state(t, at)
		if tt.published != (len(result.States) == 1) || tt.published != (s.Sequence == was+1) {
			t.Errorf("%s: published %+v, sequence %d after %d", tt.name, result.States, s.Sequence, was)
		}
		got := schemas.Shadow{}
		if s.Shadow != nil {
			got = *s.Shadow
		}
		if got.Policy != tt.policy || got.State != tt.state || got.Trips != tt.trips {
			t.Errorf("%s: shadow %+v, want %q %v after %d trips", tt.name, got, tt.policy, tt.state, tt.trips)
		}
	}
}

// TestShadowReloadOfAnOpenCircuit publishes the shadow at once where the reload looks at the circuit.
func TestShadowReloadOfAnOpenCircuit(t *testing.T) {
	r := newRig(t, unshadowed)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract, schemas.InvalidContract)
	states := r.Reload(read(t, shadowed), schemas.Inputs{Outcomes: 9, Signals: 1})
	if len(states) != 1 || states[0].State != schemas.Open || states[0].Shadow == nil || states[0].Sequence != 3 {
		t.Errorf("the reload published %+v, want the open circuit with its shadow", states)
	}
}

// TestShadowLives keeps an open shadow when its circuit is forgotten, and the circuit when its shadow begins anew.
func TestShadowLives(t *testing.T) {
	r := newRig(t, shadowed)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract, schemas.Accepted)
	r.Commit()
	r.Advance(t0.Add(time.Hour))
	if swept := r.Sweep(9); len(swept) > 0 {
		t.Errorf("Sweep took %v, whose shadow is open", swept)
	}
	if r.claim(time.Hour, "L"); r.values()["c"] == nil {
		t.Error("a claim forgot a circuit whose shadow is open")
	}
	fresh := r.outcomes(time.Hour, schemas.InvalidContract)
	if s := fresh.States[0]; s.Sequence != 1 || s.Born != t0.Add(time.Hour) || s.Shadow.Trips != 2 ||
		s.Shadow.State != schemas.Open || s.Shadow.Cause.Rule != "probe_failed" {
		t.Errorf("the circuit's new life begins with %+v, shadow %+v, want the open shadow probed", s, s.Shadow)
	}
	brisk := newRig(t, strings.Replace(shadowed, "shadows: p", "shadows: p, idle_after: 1m", 1))
	brisk.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	brisk.outcomes(10*time.Second, schemas.Accepted)
	anew := brisk.outcomes(70*time.Second, schemas.Accepted)
	if s := brisk.state(t, 70*time.Second); len(anew.States) != 1 || s.Born != t0 || s.Shadow.Epoch != 0 ||
		s.Shadow.Trips != 0 || s.Shadow.Since != t0.Add(70*time.Second) {
		t.Errorf("after the shadow's new life: %+v, shadow %+v", s, s.Shadow)
	}
}

// TestSweepTakesTheShadowToo forgets circuit and shadow where both are idle.
func TestSweepTakesTheShadowToo(t *testing.T) {
	r := newRig(t, shadowed)
	r.outcomes(0, schemas.InvalidContract)
	r.Commit()
	r.Advance(t0.Add(time.Hour))
	if swept := r.Sweep(9); len(swept) != 1 {
		t.Errorf("Sweep took %v, want the circuit", swept)
	}
	again := r.outcomes(time.Hour, schemas.InvalidContract)
	if s := again.States[0]; s.Sequence != 1 || s.Shadow.Since != t0.Add(time.Hour) {
		t.Errorf("after the sweep the circuit is %+v, shadow %+v", s, s.Shadow)
	}
}

// TestShadowByHearsay adopts a circuit whose shadow is not known: that judges nothing and says what it was told, until
// another one takes its place.
func TestShadowByHearsay(t *testing.T) {
	was := newRig(t, shadowed)
	was.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	change := was.override(time.Second, schemas.Reset, 0).States[0]
	r := newRig(t, shadowed)
	r.Advance(t0.Add(time.Second))
	r.Adopt(&change)
	if got := r.outcomes(11*time.Second, schemas.Accepted); len(got.States)+len(got.Shadows) > 0 {
		t.Errorf("a probe of a shadow that is not known did %+v", got)
	}
	told := was.outcomes(11*time.Second, schemas.Accepted).States[0]
	if r.state(t, 11*time.Second).Shadow.State != schemas.Open || !r.Hear(&told) {
		t.Errorf("before and after Hear the shadow is %+v", r.state(t, 11*time.Second).Shadow)
	}
	if s := r.state(t, 11*time.Second); s.Shadow.State != schemas.Closed || s.Sequence != told.Sequence {
		t.Errorf("after Hear: %+v, shadow %+v", s, s.Shadow)
	}
	r.Reload(read(t, strings.Replace(shadowed, "careful", "bold", 1)), schemas.Inputs{})
	if fresh := r.outcomes(12*time.Second, schemas.Accepted); len(fresh.States) != 1 || r.Hear(&told) {
		t.Errorf("another shadow came with %+v, and is hearsay too", fresh.States)
	}
}
