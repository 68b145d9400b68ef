package suggest_test

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/processor/suggest"
	"github.com/fusebox-project/fusebox/schemas"
)

// recorded reads the recorded outcomes, by the name of their file.
func recorded(t *testing.T) map[string][]schemas.Outcome {
	t.Helper()
	names, err := filepath.Glob(kafkatest.Shared(t, "data", "llmdrift", "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("recorded files: %v, %v", names, err)
	}
	files := map[string][]schemas.Outcome{}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []schemas.Outcome
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var o schemas.Outcome
			if err := schemas.DecodeOutcome(nil, []byte(lines.Text()), &o); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			outcomes = append(outcomes, o)
		}
		file.Close()
		files[strings.TrimSuffix(filepath.Base(name), ".jsonl")] = outcomes
	}
	return files
}

// t0 is when what is made up began.
var t0 = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

// made returns outcomes of a circuit, one a second, whose kinds a function makes up.
func made(circuit string, n int, kind func(i int) string) []schemas.Outcome {
	outcomes := make([]schemas.Outcome, n)
	for i := range outcomes {
		at := t0.Add(time.Duration(i) * time.Second)
		outcomes[i] = schemas.Outcome{Circuit: circuit, Kind: kind(i), Count: 1, Time: at}
	}
	return outcomes
}

// failing makes up kinds of which a share is bad, each by itself or, with streaks, mostly as the one before it.
func failing(seed uint64, share, streaks float64) func(int) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	bad := false
	return func(int) string {
		if rng.Float64() >= streaks {
			bad = rng.Float64() < share
		}
		if bad {
			return schemas.MissingEvidence
		}
		return schemas.Accepted
	}
}

// propose returns what is proposed by outcomes, those from a place on being known to be bad.
func propose(t *testing.T, outcomes []schemas.Outcome, bad int, falseTrips float64) suggest.Proposal {
	t.Helper()
	return proposeBy(t, outcomes, bad, suggest.Goal{Trips: falseTrips})
}

// proposeBy is propose with a goal of any kind.
func proposeBy(t *testing.T, outcomes []schemas.Outcome, bad int, goal suggest.Goal) suggest.Proposal {
	t.Helper()
	var r suggest.Recording
	for i := range outcomes {
		if err := r.Add(&outcomes[i], i >= bad); err != nil {
			t.Fatal(err)
		}
	}
	p, err := r.Propose(goal, nil)
	if err != nil {
		t.Fatal(err)
	}
	passes(t, &p, outcomes[:min(bad, len(outcomes))])
	return p
}

// weekly is what is asked for where nobody says more.
var weekly = suggest.Goal{Trips: 1, Every: 7 * 24 * time.Hour}

// all is a place behind all outcomes.
const all = math.MaxInt

// trips returns the indexes of the trips from closed that a policy file gives rise to.
func trips(t *testing.T, text string, outcomes []schemas.Outcome) []int {
	t.Helper()
	policies, err := breaker.Read("proposal", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	run := backtest.New(policies, backtest.Options{})
	var found []int
	for i := range outcomes {
		if step := run.Step(&outcomes[i]); step.Trip != nil && step.Trip.Rule != breaker.ProbeFailed {
			found = append(found, int(step.Trip.Index))
		}
	}
	return found
}

// TestRecorded proposes by the first half of each recorded file alone, and runs the whole file through that. Then it
// does so with the first quarter and the first half.
func TestRecorded(t *testing.T) {
	within := map[string]int{"happy-number.gpt-4": 60, "prime.gpt-4": 60, "opinion.gpt-4": 60}
	// Three others get worse as well, both leetcode and sensitive.gpt-4, and are not found: their healthy halves have
	// 50 or 100 outcomes, about half of them bad or more, and leave too little to tell apart.
	// In the middle of the healthy half of prime.gpt-4 the questions change from primes to other numbers, and the share
	// of wrong answers from 2 to 30 %: its first quarter cannot know.
	uneven := map[string]bool{"prime.gpt-4": true}
	for name, outcomes := range recorded(t) {
		half := len(outcomes) / 2
		found := trips(t, proposeBy(t, outcomes[:half], all, weekly).Policy, outcomes)
		if len(found) > 0 && found[0] < half {
			t.Errorf("%s: what its healthy half proposes trips there, at %d", name, found[0])
		}
		if most := within[name]; most > 0 && (len(found) == 0 || found[0] >= half+most) {
			t.Errorf("%s: the change at %d is found at %v, want within %d outcomes", name, half, found, most)
		}
		if within[name] == 0 && len(found) > 0 {
			t.Errorf("%s trips at %v, want its change not found", name, found)
		}
		early := trips(t, proposeBy(t, outcomes[:half/2], all, weekly).Policy, outcomes[:half])
		if (len(early) > 0) != uneven[name] {
			t.Errorf("%s: what its first quarter proposes trips in the first half at %v", name, early)
		}
		t.Logf("%s: after the change at %d it trips at %v; by its first quarter at %v", name, half, found, early)
	}
}

// TestFalseTrips proposes by made-up healthy outcomes and looks at a hundred times as many others of that kind: no more
// windows than was asked for are as bad as a rule that is proposed waits for.
func TestFalseTrips(t *testing.T) {
	const goal, length = 1e-4, 1000
	for _, share := range []float64{0.02, 0.15, 0.4} {
		for _, streaks := range []float64{0, 0.5} {
			tripped, seen := 0, 0
			for seed := range uint64(10) {
				kind := failing(seed, share, streaks)
				s := propose(t, made("a:b:v1", length, kind), all, goal).Groups[0].Signals[0]
				fresh := made("a:b:v1", 100*length, kind)
				for _, proposed := range s.Proposed {
					c := s.Candidates[proposed.Candidate]
					tripped += windowsOf(fresh, c.Last, c.Matching)
					seen += len(fresh)
				}
			}
			if seen == 0 || float64(tripped) > goal*float64(seen) {
				t.Errorf("%v bad, streaks %v: %d of %d windows trip, want one in %v at most", share, streaks, tripped,
					seen, 1/goal)
			}
		}
	}
}

// windowsOf returns how many windows of so many outcomes have so many bad ones or more.
func windowsOf(outcomes []schemas.Outcome, last, matching int) int {
	found, bad := 0, 0
	for i := range outcomes {
		if outcomes[i].Kind != schemas.Accepted {
			bad++
		}
		if i >= last && outcomes[i-last].Kind != schemas.Accepted {
			bad--
		}
		if i >= last-1 && bad >= matching {
			found++
		}
	}
	return found
}

// TestBurst does not propose what a burst would trip that was there while all was well.
func TestBurst(t *testing.T) {
	outcomes := made("a:b:v1", 1000, func(i int) string {
		if i >= 700 && i < 709 || i == 0 {
			return schemas.MissingEvidence
		}
		return schemas.Accepted
	})
	p := propose(t, outcomes, all, 1e-5)
	if found := trips(t, p.Policy, outcomes); len(found) != 0 || p.Rules() == 0 {
		t.Errorf("what is proposed trips at %v in the healthy stretch:\n%s", found, p.Policy)
	}
}

// TestNotices lets half of the good answers go bad, and then all.
func TestNotices(t *testing.T) {
	const change = 1000
	for _, tt := range []struct {
		share      float64
		half, full int // Within so many outcomes.
	}{{0.02, 60, 20}, {0.15, 100, 30}, {0.4, 200, 60}} {
		for seed := range uint64(5) {
			healthy := made("a:b:v1", change, failing(seed, tt.share, 0))
			p := propose(t, healthy, all, 1e-5)
			for _, worse := range []struct {
				share  float64
				within int
			}{{(1 + tt.share) / 2, tt.half}, {1, tt.full}} {
				kind := failing(seed+100, worse.share, 0)
				found := trips(t, p.Policy, append(slices.Clone(healthy), made("a:b:v1", 1000, kind)...))
				if len(found) == 0 || found[0] < change || found[0] >= change+worse.within {
					t.Errorf("%v bad before, %v from %d on, seed %d: found at %v, want within %d", tt.share,
						worse.share, change, seed, found, worse.within)
				}
			}
		}
	}
}

// TestEvenIsNoStreak proposes by outcomes that are bad each by itself, of which some windows have more by chance. What
// that does to a window is no streak, and does not raise the threshold: most changes of two thirds are found as soon as
// by a threshold from a table of chances.
func TestEvenIsNoStreak(t *testing.T) {
	const healthy, seeds = 250, 60
	found := 0
	for seed := range uint64(seeds) {
		outcomes := append(made("a:b:v1", healthy, failing(seed, 0.16, 0)),
			made("a:b:v1", 60, failing(seed+seeds, 0.64, 0))...)
		all := trips(t, propose(t, outcomes[:healthy], all, 1e-5).Policy, outcomes)
		if len(all) > 0 && all[0] >= healthy {
			found++
		}
	}
	if found < seeds*9/10 {
		t.Errorf("%d of %d changes are found within 60 outcomes, want nine of ten", found, seeds)
	}
}

// TestNothingToTell proposes nothing where nothing could be told apart.
func TestNothingToTell(t *testing.T) {
	refusing := failing(1, 0.98, 0)
	for name, tt := range map[string]struct {
		outcomes []schemas.Outcome
		says     string
	}{
		"almost all refused": {made("a:b:v1", 1000, func(i int) string {
			return strings.Replace(refusing(i), schemas.MissingEvidence, schemas.PolicyRejection, 1)
		}), "a bad time cannot be told from chance"},
		"too few": {made("a:b:v1", 29, failing(1, 0, 0)), "no rule: too few outcomes are good or failures: 29"},
	} {
		p := propose(t, tt.outcomes, all, 1e-5)
		if p.Rules() != 0 || !strings.Contains(p.Policy, tt.says) {
			t.Errorf("%s: %d rules, want none, and %q in\n%s", name, p.Rules(), tt.says, p.Policy)
		}
		if _, err := breaker.Read("proposal", []byte(p.Policy)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAgainstBacktest holds what a table says of each window against a policy with that rule alone.
func TestAgainstBacktest(t *testing.T) {
	const change = 1000
	kind := failing(3, 0.1, 0.2)
	outcomes := append(made("a:b:v1", change, kind), made("a:b:v1", 500, failing(4, 0.6, 0))...)
	for i := range outcomes {
		outcomes[i].Time = t0.Add(time.Duration(i) * time.Second)
	}
	outcomes[0].Kind = schemas.MissingEvidence
	candidates := propose(t, outcomes, change, 1e-5).Groups[0].Signals[0].Candidates
	if len(candidates) < 8 {
		t.Fatalf("%d windows were weighed, want at least 8", len(candidates))
	}
	for _, c := range candidates {
		rule := func(threshold float64) []int {
			return trips(t, fmt.Sprintf("{version: 1, policies: [{name: p, match: ['*'], rules: "+
				"[{name: r, type: ratio, threshold: %v, last: %d}]}]}", threshold, c.Last), outcomes)
		}
		if found := rule(c.Threshold); c.Truth.Missed != 0 || len(found) == 0 || found[0]-change+1 != c.Truth.Slowest {
			t.Errorf("last %d: trips at %v, and the table says %d outcomes after %d", c.Last, found, c.Truth.Slowest,
				change)
		}
		highest := float64(c.Highest) / float64(c.Last)
		if found := rule(math.Floor(highest*1000) / 1000); len(found) == 0 || found[0] >= change {
			t.Errorf("last %d at its healthy worst, %v, trips at %v, want before %d", c.Last, highest, found, change)
		}
	}
}

// TestGroups puts versions and tenants of a route together, and other names by themselves.
func TestGroups(t *testing.T) {
	var outcomes []schemas.Outcome
	for _, circuit := range []string{"a:b:v1", "a:b:v2:acme", "a:c:v1", "alone"} {
		outcomes = append(outcomes, made(circuit, 100, failing(1, 0, 0))...)
	}
	outcomes = append(outcomes, made("a:b:v3", 5, failing(1, 1, 0))...)
	p := propose(t, outcomes, all, 1e-5)
	var got []string
	for _, g := range p.Groups {
		got = append(got, fmt.Sprintf("%s%s%s", g.Name, g.Match, g.Circuits))
	}
	want := []string{"a:b[a:b:*][a:b:v1 a:b:v2:acme a:b:v3]", "a:c[a:c:*][a:c:v1]", "alone[alone][alone]"}
	if !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
	policies, err := breaker.Read("proposal", []byte(p.Policy))
	if err != nil || policies.For("a:b:v9").Name != "a:b" || policies.For("alone").Name != "alone" {
		t.Errorf("the policies are of other circuits, %v:\n%s", err, p.Policy)
	}
}

// TestAlias reads outcomes whose strings are written over by the next one, as a reader of lines yields them.
func TestAlias(t *testing.T) {
	var r suggest.Recording
	line := make([]byte, 0, 100)
	for i := range 300 {
		line = fmt.Appendf(line[:0], `{"circuit":"u%d:r:v1","kind":"accepted","time":"2026-09-14T12:00:00Z"}`, i%3)
		var o schemas.Outcome
		if err := schemas.DecodeOutcome(nil, line, &o); err != nil {
			t.Fatal(err)
		}
		if err := r.Add(&o, false); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := r.Propose(weekly, nil); err != nil || len(p.Groups) != 3 {
		t.Errorf("%d groups, %v, want 3", len(p.Groups), err)
	}
}

// TestCounts takes an outcome of n as n, and refuses more than fit.
func TestCounts(t *testing.T) {
	var r suggest.Recording
	o := schemas.Outcome{Circuit: "c", Kind: schemas.Accepted, Count: 300, Time: t0}
	if err := r.Add(&o, false); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Propose(weekly, nil); err != nil || p.Healthy != 300 || p.Groups[0].Signals[0].Seen != 300 {
		t.Errorf("a count of 300 is %d outcomes, %v", p.Healthy, err)
	}
	o.Count = suggest.MostOutcomes - 299
	if err := r.Add(&o, false); err == nil || !strings.Contains(err.Error(), "give a shorter stretch") {
		t.Errorf("Add of more than fit: %v", err)
	}
}

// TestGolden shows a whole proposal, of a route with streaks, one without failures, and one that says nothing.
func TestGolden(t *testing.T) {
	outcomes := append(made("extraction:gpt:v4", 600, failing(5, 0.12, 0.3)),
		made("extraction:gpt:v4", 60, failing(6, 0.8, 0))...)
	for i := range outcomes {
		outcomes[i].Time = t0.Add(time.Duration(i) * time.Second)
	}
	var r suggest.Recording
	for i := range outcomes {
		if err := r.Add(&outcomes[i], i >= 600); err != nil {
			t.Fatal(err)
		}
	}
	others := append(made("chat:gpt:v1", 400, failing(7, 0, 0)), made("weak:gpt:v1", 80, failing(8, 0.9, 0))...)
	for _, o := range others {
		if err := r.Add(&o, false); err != nil {
			t.Fatal(err)
		}
	}
	p, err := r.Propose(weekly, nil)
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/proposal.yaml"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(p.Policy), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if p.Policy != string(want) {
		t.Errorf("got\n%s\nwant, as in %s,\n%s", p.Policy, file, want)
	}
}
