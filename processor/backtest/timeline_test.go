package backtest_test

import (
	"testing"

	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

func TestTimeline(t *testing.T) {
	line := backtest.NewTimeline(16, nil)
	for i := range 1000 {
		kind := "accepted"
		if i >= 500 {
			kind = "missing_evidence"
		}
		line.Add(&backtest.Step{At: second(i), Kind: kind}, 3)
	}
	for _, n := range []int{1, 3, 8, 100} {
		buckets := line.Thinned(n)
		var outcomes, accepted int64
		for i, b := range buckets {
			outcomes, accepted = outcomes+b.Outcomes, accepted+b.Accepted
			if i > 0 && !b.From.After(buckets[i-1].From) {
				t.Errorf("Thinned(%d): bucket %d begins at %v, not after the one before", n, i, b.From)
			}
		}
		if outcomes != 3000 || accepted != 1500 {
			t.Errorf("Thinned(%d) holds %d outcomes and %d accepted, want 3000 and 1500", n, outcomes, accepted)
		}
		if len(buckets) > min(n, 16) || n == 8 && len(buckets) < 5 {
			t.Errorf("Thinned(%d) = %d buckets", n, len(buckets))
		}
		if len(buckets) > 2 && (buckets[0].Accepted != buckets[0].Outcomes || buckets[len(buckets)-1].Accepted != 0) {
			t.Errorf("Thinned(%d): first %+v, last %+v, want all accepted and none", n, buckets[0],
				buckets[len(buckets)-1])
		}
	}
}

// TestTimelineOfRules has a rule rise to its threshold over many more outcomes than there are buckets: the highest
// value of each bucket stays, the one that tripped too, and there is none below the minimum and while it is open.
func TestTimelineOfRules(t *testing.T) {
	policies := read(t, `version: 1
defaults: {break: {duration: 2h, max: 2h, jitter: 0}}
policies: [{name: p, match: ["*"], rules: [{name: lately, type: ratio, threshold: 0.5, last: 40}]}]
`)
	run := backtest.New(policies, backtest.Options{})
	line := backtest.NewTimeline(16, policies.For("c"))
	trip := -1
	for i := range 3000 {
		o := schemas.Outcome{Circuit: "c", Kind: schemas.Accepted, Time: second(i), Count: 1}
		if i >= 600 {
			o.Kind = schemas.MissingEvidence
		}
		step := run.Step(&o)
		if step.Trip != nil && trip < 0 {
			trip = i
		}
		line.Add(&step, 1)
	}
	if trip != 619 {
		t.Fatalf("tripped at %d, want 619", trip)
	}
	d := line.Draw()
	lately := d.Rules[0]
	if lately.Rule != "lately" || lately.Threshold != 0.5 || len(lately.Values) != len(d.Kinds[0].Counts) {
		t.Fatalf("rule %s, threshold %v, %d values for %d buckets", lately.Rule, lately.Threshold, len(lately.Values),
			len(d.Kinds[0].Counts))
	}
	at := (trip * 1000) / int(d.Width*1000)
	for i, v := range lately.Values {
		switch {
		case i < at && (v == nil || *v != 0):
			t.Errorf("bucket %d of all accepted has the value %v, want 0", i, v)
		case i == at && (v == nil || *v != 0.5):
			t.Errorf("bucket %d of the trip has the value %v, want 0.5", i, v)
		case i > at && v != nil:
			t.Errorf("bucket %d, when the circuit was open, has the value %v, want none", i, *v)
		}
	}
}
