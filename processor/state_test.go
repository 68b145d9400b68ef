package processor_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

const ramped = `version: 1
defaults:
  minimum_throughput: 2
  break: {jitter: 0}
  half_open: {concurrency: 3, successes: 2, failures: 2, lease: 10s, implicit: false}
  ramp: [{share: 0.1, for: 15s}, {share: 0.505, for: 30s}]
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.5}]}]
`

// TestStateDerives looks at a circuit at times at which nothing came: State derives, and changes nothing.
func TestStateDerives(t *testing.T) {
	r := newRig(t, ramped)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	if s := r.state(t, time.Hour); s.State != schemas.Open || s.ProbeDue(t0.Add(30*time.Second-1)) ||
		!s.ProbeDue(t0.Add(30*time.Second)) {
		t.Errorf("an open circuit is %+v, want a probe due after 30s", s)
	}
	r.claim(30*time.Second, "A")
	r.claim(35*time.Second, "B")
	for at, want := range map[time.Duration]int{
		39999 * time.Millisecond: 2, 40 * time.Second: 1, 44999 * time.Millisecond: 1, 45 * time.Second: 0,
	} {
		if s := r.state(t, at); len(s.Leases) != want || s.State != schemas.HalfOpen || s.Probe.Concurrency != 3 {
			t.Errorf("at %v the circuit is %+v, want %d leases", at, s, want)
		}
	}
	if s := r.state(t, 36*time.Second); !reflect.DeepEqual(s.Leases[0],
		schemas.Lease{ID: "A", Holder: "h", ExpiresAt: t0.Add(40 * time.Second)}) {
		t.Errorf("leases %+v after looking ahead, want A until 40s", s.Leases)
	}
	r.override(50*time.Second, schemas.ForceOpen, 10*time.Second)
	if s := r.state(t, 60*time.Second-time.Millisecond); s.State != schemas.ForcedOpen || s.Override == nil {
		t.Errorf("before its end the override is %+v", s)
	}
	s := r.state(t, 70*time.Second)
	if s.State != schemas.Open || s.Override != nil || s.RetryAt != t0.Add(time.Minute) || s.ChangedAt != s.RetryAt ||
		s.Previous != schemas.ForcedOpen {
		t.Errorf("after its end the circuit is %+v, want it open since 60s", s)
	}
	ended := r.outcomes(70*time.Second, schemas.Accepted)
	if len(ended.States) != 1 || ended.States[0].ChangedAt != t0.Add(time.Minute) || ended.Moves != 0 ||
		ended.States[0].RetryAt != t0.Add(time.Minute) || ended.States[0].Epoch != 2 {
		t.Errorf("the next record published %+v, want the end of the override, dated at its end", ended.States)
	}
}

// TestRamp follows a recovery: shares in order, until each has had its time, and none after any change. Pitfall 34: not
// all traffic is back at once.
func TestRamp(t *testing.T) {
	r := newRig(t, ramped)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	r.claim(30*time.Second, "A")
	r.claim(30*time.Second, "B")
	half := r.outcome(31*time.Second, schemas.Outcome{Kind: schemas.Accepted, Lease: "A"})
	if len(half.States) != 1 || half.States[0].Probe.Successes != 1 || len(half.States[0].Leases) != 1 {
		t.Errorf("the first success published %+v, want it counted and its lease gone", half.States)
	}
	r.outcome(32*time.Second, schemas.Outcome{Kind: schemas.Accepted, Lease: "B"})
	want := []schemas.RampStep{
		{Share: 0.1, Until: t0.Add(47 * time.Second)}, {Share: 0.505, Until: t0.Add(77 * time.Second)},
	}
	for at, ramp := range map[time.Duration][]schemas.RampStep{
		46999 * time.Millisecond: want, 47 * time.Second: want[1:],
		76999 * time.Millisecond: want[1:], 77 * time.Second: {},
	} {
		if s := r.state(t, at); s.State != schemas.Closed || len(s.Ramp) != len(ramp) || len(ramp) > 0 &&
			!reflect.DeepEqual(s.Ramp, ramp) {
			t.Errorf("at %v the ramp is %+v, want %+v", at, s.Ramp, ramp)
		}
	}
	r.override(33*time.Second, schemas.ForceClosed, 0)
	if s := r.state(t, 33*time.Second); len(s.Ramp) != 0 {
		t.Errorf("under an override the ramp is %+v, want none", s.Ramp)
	}
}

// TestLeaseCounts checks what is counted of claims and leases, and that each change is a record.
func TestLeaseCounts(t *testing.T) {
	r := newRig(t, ramped)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	bad, neutral := schemas.InvalidContract, schemas.Cancelled
	type counts = processor.LeaseCounts
	type result = processor.Result
	steps := []struct {
		name    string
		does    func() result
		want    counts
		records int
	}{
		{"too early", func() result { return r.claim(time.Second, "A") }, counts{Refused: 1}, 0},
		{"granted", func() result { return r.claim(30*time.Second, "A") }, counts{Granted: 1}, 1},
		{"again", func() result { return r.claim(30*time.Second, "A") }, counts{}, 0},
		{"a second", func() result { return r.claim(31*time.Second, "B") }, counts{Granted: 1}, 1},
		{"a third", func() result { return r.claim(32*time.Second, "C") }, counts{Granted: 1}, 1},
		{"full", func() result { return r.claim(32*time.Second, "D") }, counts{Refused: 1}, 0},
		{"released", func() result { return r.release(32*time.Second, "C") },
			counts{Released: 1}, 1},
		{"released again", func() result { return r.release(32*time.Second, "C") }, counts{}, 0},
		{"unused", func() result {
			r.claim(32*time.Second, "U")
			s := schemas.Signal{Type: schemas.Release, Circuit: "c", Lease: "U", Unused: true}
			return r.do(32*time.Second, processor.Input{Signal: &s})
		}, counts{Released: 1}, 1},
		{"failed", func() result {
			return r.outcome(33*time.Second, schemas.Outcome{Kind: bad, Lease: "B"})
		}, counts{Failed: 1}, 1},
		{"expired", func() result { return r.claim(40*time.Second, "E") },
			counts{Expired: 1, Granted: 1}, 2},
		{"neutral", func() result {
			return r.outcome(41*time.Second, schemas.Outcome{Kind: neutral, Lease: "E"})
		}, counts{Neutral: 1}, 1},
		{"another", func() result { return r.claim(41*time.Second, "F") }, counts{Granted: 1}, 1},
		{"succeeded", func() result {
			return r.outcome(42*time.Second, schemas.Outcome{Kind: schemas.Accepted, Lease: "F"})
		}, counts{Succeeded: 1}, 1},
	}
	for _, tt := range steps {
		got := tt.does()
		if records := len(got.States); got.Leases != tt.want || records != tt.records {
			t.Errorf("%s: counted %+v in %d records, want %+v in %d", tt.name, got.Leases, records, tt.want, tt.records)
		}
	}
	if s := r.state(t, 42*time.Second); s.Probe != (schemas.Probe{Successes: 1, Failures: 1, Concurrency: 3}) {
		t.Errorf("probe %+v, want a success and a failure and no row", s.Probe)
	}
}

// TestRatios takes them over the policy's longest window, of what is evidence.
func TestRatios(t *testing.T) {
	r := newRig(t, `version: 1
policies:
- name: p
  match: ["*"]
  kinds: {policy_rejection: success}
  rules:
  - {name: s, type: consecutive, threshold: 99}
  - {name: short, type: count, threshold: 99, window: 10s}
  - {name: spend, type: sum, of: tokens, threshold: 99, window: 1m}
  - {name: last, type: count, threshold: 99, last: 2}`)
	if _, _, ok := r.Ratios("c"); ok {
		t.Error("Ratios of an unknown circuit = ok")
	}
	r.outcomes(0, schemas.Cancelled)
	if _, _, ok := r.Ratios("c"); ok {
		t.Error("Ratios without evidence = ok")
	}
	r.outcomes(0, schemas.Accepted, schemas.Accepted, schemas.TransportFailure, schemas.InvalidContract)
	r.outcome(30*time.Second, schemas.Outcome{Kind: schemas.Accepted, Count: 3})
	r.outcomes(30*time.Second, schemas.PolicyRejection, schemas.Cancelled)
	if a, v, ok := r.Ratios("c"); a != 0.625 || v != 0.875 || !ok {
		t.Errorf("Ratios = %v, %v, %v, want 5/8 accepted and 7/8 that reached the route", a, v, ok)
	}
	r.Commit()
	if a, _, ok := r.Ratios("c"); a != 0.625 || !ok {
		t.Errorf("Ratios after Commit = %v, %v", a, ok)
	}
}

// TestClamped tells what was dated in the future: the outcome's own time, and the record's.
func TestClamped(t *testing.T) {
	r := newRig(t, brief)
	if got := r.outcome(0, schemas.Outcome{Kind: schemas.InvalidContract, Time: t0}); got.Clamped {
		t.Error("an outcome of now is clamped")
	}
	if got := r.outcome(0, schemas.Outcome{Kind: schemas.InvalidContract, Time: t0.Add(1)}); !got.Clamped ||
		got.Tripped == nil || got.Tripped.Since != t0 || got.States[0].Clamped {
		t.Errorf("an outcome from the future did %+v, want it clamped to now", got)
	}
	o := schemas.Outcome{Circuit: "d", Kind: schemas.InvalidContract, Count: 2}
	got := r.do(0, processor.Input{Outcome: &o, Clamped: true})
	if got.Clamped || len(got.States) != 2 || !got.States[1].Clamped {
		t.Errorf("a record from the future did %+v, want its states marked", got)
	}
}
