package processor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

const jittered = `version: 1
defaults:
  minimum_throughput: 2
  break: {duration: 100s, backoff: 1, max: 105s, jitter: 0.1}
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.5}]}]
`

// trip opens a circuit at t0 and returns how long its break is.
func trip(t *testing.T, policy, circuit string, resets int) time.Duration {
	t.Helper()
	r := newRig(t, policy)
	for range resets {
		s := schemas.Signal{Type: schemas.Override, Circuit: circuit, Mode: schemas.Reset, Actor: "ana"}
		r.Step(t0, inputOf(&s))
	}
	result := r.outcome(0, schemas.Outcome{Circuit: circuit, Kind: schemas.InvalidContract, Count: 2})
	if result.Tripped == nil {
		t.Fatalf("circuit %s did not trip: %+v", circuit, result)
	}
	return result.States[len(result.States)-1].RetryAt.Sub(t0)
}

// TestJitter checks that breaks differ by circuit and by epoch, within bounds and never above the limit, and that they
// are the same whenever the same records come again. Pitfall 34: not every break ends at the same instant.
func TestJitter(t *testing.T) {
	byCircuit, byEpoch, capped := map[time.Duration]int{}, map[time.Duration]int{}, 0
	for i := range 200 {
		name := fmt.Sprint("circuit-", i)
		d := trip(t, jittered, name, 0)
		if d < 90*time.Second || d > 105*time.Second || d%time.Millisecond != 0 {
			t.Errorf("the break of %s is %v, want 90s to 105s in whole milliseconds", name, d)
		}
		if d == 105*time.Second {
			capped++
		}
		if again := trip(t, jittered, name, 0); again != d {
			t.Errorf("the break of %s is %v, and %v on replay", name, d, again)
		}
		byCircuit[d]++
		byEpoch[trip(t, jittered, "c", i)]++
	}
	if len(byCircuit) < 100 || len(byEpoch) < 100 {
		t.Errorf("200 breaks have %d different lengths by circuit and %d by epoch, want them spread", len(byCircuit),
			len(byEpoch))
	}
	if capped < 25 || capped > 75 {
		t.Errorf("%d of 200 breaks are cut to the limit, want about a quarter", capped)
	}
}

// TestJitterIsSpreadEvenly finds both ends of the range nearly reached, and the middle in the middle.
func TestJitterIsSpreadEvenly(t *testing.T) {
	const wide = `version: 1
defaults: {minimum_throughput: 2, break: {duration: 1000s, backoff: 1, max: 1h, jitter: 0.5}}
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.5}]}]`
	least, most, sum := time.Hour, time.Duration(0), time.Duration(0)
	for i := range 400 {
		d := trip(t, wide, fmt.Sprint("circuit-", i), 0)
		least, most, sum = min(least, d), max(most, d), sum+d
	}
	mean := sum / 400
	if least < 500*time.Second || least > 515*time.Second || most > 1500*time.Second || most < 1485*time.Second {
		t.Errorf("breaks are %v to %v, want 500s to 1500s nearly reached", least, most)
	}
	if mean < 950*time.Second || mean > 1050*time.Second {
		t.Errorf("the mean break is %v, want about 1000s", mean)
	}
}

// TestEndlessFailure takes a circuit through many breaks: none is ever above the limit, and none takes long to compute.
func TestEndlessFailure(t *testing.T) {
	for backoff, breaks := range map[string]int{"1": 30_000, "1.001": 3000, "2": 3000, "1000": 3000} {
		r := newRig(t, fmt.Sprintf(`version: 1
defaults: {minimum_throughput: 1, break: {duration: 1s, backoff: %s, max: 1h, jitter: 0}}
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.5}]}]`, backoff))
		at := time.Duration(0)
		for i := range breaks {
			result := r.outcomes(at, schemas.InvalidContract)
			s := result.States[len(result.States)-1]
			d := s.RetryAt.Sub(t0.Add(at))
			if s.State != schemas.Open || s.Attempt != i+1 || d > time.Hour || d < time.Second ||
				backoff == "1" && d != time.Second {
				t.Fatalf("backoff %s: break %d is %v in %+v", backoff, i+1, d, s)
			}
			at += d
		}
	}
}
