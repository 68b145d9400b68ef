package suggest_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor/suggest"
)

// TestBusyRoute proposes by 20,000 outcomes of a route that has ten a second, and lets it run for four weeks more.
func TestBusyRoute(t *testing.T) {
	const share, weeks, windowsOfWeek = 0.05, 4, 10 * 7 * 24 * 3600
	outcomes := made("a:b:v1", 20_000, failing(1, share, 0))
	for i := range outcomes {
		outcomes[i].Time = t0.Add(time.Duration(i) * 100 * time.Millisecond)
	}
	p := proposeBy(t, outcomes, all, weekly)
	s := p.Groups[0].Signals[0]
	if len(s.Proposed) == 0 || !strings.Contains(p.Policy, ": at 10 a second, ") {
		t.Fatalf("%d rules, want one, and that there are 10 outcomes a second, in\n%s", len(s.Proposed), p.Policy)
	}
	for _, proposed := range s.Proposed {
		c := s.Candidates[proposed.Candidate]
		if c.PerDay <= 0 || c.PerDay > 1.0/7 {
			t.Errorf("%s trips falsely %v times a day, want once a week at most", proposed.Rule, c.PerDay)
		}
		if trips := tripsOf(c, share, weeks*windowsOfWeek); trips > weeks {
			t.Errorf("%s trips %d times in %d weeks, want once a week at most", proposed.Rule, trips, weeks)
		}
	}
}

// tripsOf returns how often a rule begins to fire on so many outcomes that are bad by chance.
func tripsOf(c suggest.Candidate, share float64, outcomes int) int {
	rng := rand.New(rand.NewPCG(2, 7))
	window := make([]bool, c.Last)
	trips, bad := 0, 0
	for i := range outcomes {
		before, at := bad, i%c.Last
		if window[at] {
			bad--
		}
		if window[at] = rng.Float64() < share; window[at] {
			bad++
		}
		if bad >= c.Matching && before < c.Matching {
			trips++
		}
	}
	return trips
}

// TestGoal reads goals as they are written.
func TestGoal(t *testing.T) {
	for text, want := range map[string]suggest.Goal{
		"1/week": weekly, "2/month": {Trips: 2, Every: 30 * 24 * time.Hour}, "1e-05": {Trips: 1e-5},
	} {
		if got, err := suggest.ParseGoal(text); got != want || got.String() != text || err != nil {
			t.Errorf("ParseGoal(%s) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "0.5", "0/week", "1/fortnight", "NaN", "NaN/week", "1/", "-1/day"} {
		if got, err := suggest.ParseGoal(text); err == nil {
			t.Errorf("ParseGoal(%s) = %v, want an error", text, got)
		}
	}
}

// TestStop says how much is done, and ends when it is told to.
func TestStop(t *testing.T) {
	var r suggest.Recording
	for _, o := range made("a:b:v1", 500, failing(1, 0.1, 0)) {
		if err := r.Add(&o, false); err != nil {
			t.Fatal(err)
		}
	}
	stopped, before, steps := errors.New("stopped"), 0, 0
	if _, err := r.Propose(weekly, func(done, total int) error {
		if done < before || done > total {
			t.Errorf("%d of %d are done after %d", done, total, before)
		}
		if before = done; done == total {
			return stopped
		}
		steps++
		return nil
	}); !errors.Is(err, stopped) || steps < 10 {
		t.Errorf("Propose = %v after %d steps, want %v at the last of 10 or more", err, steps, stopped)
	}
}
