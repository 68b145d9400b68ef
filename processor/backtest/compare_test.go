package backtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

var noon = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

// opened returns a circuit that opened from second to second. An outcome comes each second, and the first failure of
// each bad stretch `since` seconds before the trip.
func opened(since int, stretches ...[2]int) *backtest.Report {
	c := &backtest.Circuit{Circuit: "c", From: noon, To: second(1000), Opened: &backtest.Opened{}}
	for _, s := range stretches {
		c.Trips = append(c.Trips, backtest.Trip{
			At: second(s[0]), Index: int64(s[0]), Rule: "r", Since: second(s[0] - since),
		})
		c.Trips = append(c.Trips, backtest.Trip{At: second(s[1] - 1), Index: int64(s[1] - 1), Rule: "probe_failed"})
		c.Open = append(c.Open, backtest.Stretch{From: second(s[0]), To: second(s[1]), Ends: true})
		c.OpenSeconds += float64(s[1] - s[0])
	}
	return &backtest.Report{Circuits: []*backtest.Circuit{c}}
}

func TestCompare(t *testing.T) {
	none := opened(0)
	for _, tt := range []struct {
		meaning string
		a, b    *backtest.Report
		want    string
	}{
		{"the same", opened(5, [2]int{10, 20}), opened(5, [2]int{10, 20}), "10:+0"},
		{"earlier", opened(5, [2]int{10, 20}), opened(5, [2]int{15, 30}), "10:-5"},
		{"later, when B has closed", opened(60, [2]int{100, 120}), opened(20, [2]int{70, 80}), "100:+30"},
		{"twice against once", opened(0, [2]int{10, 20}, [2]int{30, 40}), opened(0, [2]int{10, 40}), "10:+0"},
		{"once against twice", opened(0, [2]int{10, 40}), opened(0, [2]int{12, 20}, [2]int{30, 40}), "10:-2"},
		{"in turn", opened(0, [2]int{10, 40}, [2]int{55, 80}), opened(0, [2]int{12, 20}, [2]int{30, 60}), "10:-2"},
		{"only A", opened(5, [2]int{10, 20}), none, "A10"},
		{"only B", none, opened(5, [2]int{10, 20}), "B10"},
		{"each its own", opened(5, [2]int{10, 20}, [2]int{100, 110}), opened(5, [2]int{50, 60}, [2]int{101, 105}),
			"100:-1 A10 B50"},
		{"neither", none, none, ""},
	} {
		t.Run(tt.meaning, func(t *testing.T) {
			c := backtest.Compare(tt.a, tt.b)
			var got []string
			for _, p := range c.Circuits[0].Pairs {
				got = append(got, fmt.Sprintf("%.0f:%+d", p.A.Sub(noon).Seconds(), p.Outcomes))
				if p.Seconds != float64(p.Outcomes) {
					t.Errorf("A is later by %d outcomes and %v s, want as many", p.Outcomes, p.Seconds)
				}
			}
			for _, trip := range c.Circuits[0].OnlyA {
				got = append(got, fmt.Sprintf("A%.0f", trip.At.Sub(noon).Seconds()))
			}
			for _, trip := range c.Circuits[0].OnlyB {
				got = append(got, fmt.Sprintf("B%.0f", trip.At.Sub(noon).Seconds()))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("Compare finds %q, want %s", got, tt.want)
			}
		})
	}
}

// judge holds a report against a stretch, with an outcome each second. An end of 0 is the end of the record.
func judge(r *backtest.Report, from, to int) backtest.Judged {
	bad := backtest.Bad{Circuit: "c", From: second(from)}
	if to > 0 {
		bad.To = second(to)
	}
	truth := backtest.NewTruth([]backtest.Bad{bad, {Circuit: "nobody", From: noon}})
	for i := range 1000 {
		truth.Note(&backtest.Step{Circuit: "c", At: second(i), Index: int64(i)})
	}
	return truth.Judge(r)
}

func TestTruth(t *testing.T) {
	for _, tt := range []struct {
		meaning  string
		report   *backtest.Report
		from, to int
		want     string
	}{
		{"found", opened(0, [2]int{130, 140}), 100, 200, "found after 30, 0 false"},
		{"found at the begin", opened(0, [2]int{100, 140}), 100, 200, "found after 0, 0 false"},
		{"not at the end, which is no part of it", opened(0, [2]int{200, 240}), 100, 200, "missed, 1 false"},
		{"to the end of the record", opened(0, [2]int{900, 950}), 100, 0, "found after 800, 0 false"},
		{"open already", opened(0, [2]int{90, 140}), 100, 200, "already, 1 false"},
		{"open before, closed, and found", opened(0, [2]int{50, 60}, [2]int{130, 140}), 100, 200,
			"found after 30, 1 false"},
		{"before and after", opened(0, [2]int{50, 60}, [2]int{300, 310}), 100, 200, "missed, 2 false"},
		{"never", opened(0), 100, 200, "missed, 0 false"},
		{"no outcome in it", opened(0), 5000, 0, "unseen, 0 false"},
	} {
		t.Run(tt.meaning, func(t *testing.T) {
			j := judge(tt.report, tt.from, tt.to)
			s := j.Stretches[0]
			got := "missed"
			switch {
			case s.Already:
				got = "already"
			case s.Found:
				got = fmt.Sprintf("found after %d", s.DelayOutcomes)
				if s.DelaySeconds != float64(s.DelayOutcomes) || s.Rule != "r" {
					t.Errorf("found after %v s by %q, want as many as outcomes, by r", s.DelaySeconds, s.Rule)
				}
			case s.Outcomes == 0:
				got = "unseen"
			}
			got += fmt.Sprintf(", %d false", len(j.FalseTrips))
			if got != tt.want {
				t.Errorf("Judge = %s, want %s", got, tt.want)
			}
			missed := 1 // Nobody's.
			if !s.Found {
				missed++
			}
			if j.Missed != missed || j.Stretches[1].Outcomes != 0 || j.Stretches[1].Found {
				t.Errorf("missed %d, and of nobody %+v, want %d and nothing found", j.Missed, j.Stretches[1], missed)
			}
		})
	}
}

// TestTotalsAreExact adds amounts up that have no exact form in binary, in any order.
func TestTotalsAreExact(t *testing.T) {
	r := &backtest.Report{}
	for _, amount := range []float64{0.1, 0.2, 0.3, 1e-6, 0.7, 123_456.789_012} {
		r.Circuits = append(r.Circuits, &backtest.Circuit{From: noon, To: noon.Add(100 * time.Millisecond),
			Opened: &backtest.Opened{OpenSeconds: 0.1, Refused: backtest.Refused{CostUSD: amount}}})
	}
	for range 2 {
		got := r.Totals()
		if got.Refused.CostUSD != 123_458.089_013 || got.OpenSeconds != 0.6 || got.Seconds != 0.6 {
			t.Errorf("Totals = %v $, %v s open of %v s, want 123458.089013, 0.6, 0.6", got.Refused.CostUSD,
				got.OpenSeconds, got.Seconds)
		}
		slices.Reverse(r.Circuits)
	}
}
