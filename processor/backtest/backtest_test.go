package backtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

var t0 = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

// lately is a policy that looks at the last forty outcomes.
const lately = `version: 1
defaults: {break: {duration: 30s, backoff: 2, max: 10m, jitter: 0}}
policies:
- name: lately
  match: ["*"]
  rules:
  - {name: lately, type: ratio, threshold: 0.45, last: 40}
  - {name: rejections, type: ratio, kinds: [policy_rejection], threshold: 0.5, last: 40}
`

// TestFindsTheChanges finds when the recorded models changed.
func TestFindsTheChanges(t *testing.T) {
	files := recorded(t)
	for _, tt := range []struct {
		policy string
		file   string
		change int64
		first  int64 // Index of the first trip; -1 for none.
	}{
		{"lately", "happy-number.gpt-4", 500, 524},
		{"lately", "prime.gpt-4", 1000, 1006},
		{"lately", "opinion.gpt-4", 1506, 1527},
		{"lately", "opinion.gpt-3.5", 1506, -1},
		{"built-in", "happy-number.gpt-4", 500, 738},
		{"built-in", "prime.gpt-4", 1000, 1111},
	} {
		policies := breaker.Builtin()
		if tt.policy == "lately" {
			policies = read(t, lately)
		}
		first := int64(-1)
		run := backtest.New(policies, backtest.Options{})
		for i := range files[tt.file] {
			if step := run.Step(&files[tt.file][i]); step.Trip != nil && first < 0 {
				first = step.Trip.Index
			}
		}
		if first != tt.first {
			t.Errorf("%s, %s: first trip at %d, want %d (change at %d)", tt.file, tt.policy, first, tt.first, tt.change)
		}
	}
}

// rows is a policy with numbers that are easy to follow: two failures of the last two open for ten seconds, two
// successes close.
const rows = `version: 1
defaults:
  break: {duration: 10s, backoff: 2, max: 1m, jitter: 0}
  half_open: {successes: 2, implicit: false}
policies:
- {name: off, match: ["off"], enabled: false, rules: [{name: once, type: count, threshold: 1}]}
- {name: p, match: ["c*"], rules: [{name: two, type: consecutive, threshold: 2}], idle_after: 1h}
`

func at(seconds float64, kind string) schemas.Outcome {
	return schemas.Outcome{
		Circuit: "c", Kind: kind, Count: 1, CostMicros: 10_000,
		Time: t0.Add(time.Duration(seconds * float64(time.Second))),
	}
}

// TestRows follows one circuit outcome by outcome.
func TestRows(t *testing.T) {
	const good, bad = schemas.Accepted, schemas.MissingEvidence
	leased, foreign := at(3, bad), at(1, bad)
	foreign.HasEpoch, foreign.Epoch = true, 41
	leased.Lease = "somebody else's"
	slow, many := at(13.5, good), at(5, bad)
	slow.LatencyMS = 501
	many.Count = 3
	steps := []struct {
		outcome schemas.Outcome
		why     processor.Why
		phase   schemas.Phase
		trip    string
	}{
		{at(0, good), processor.Counted, schemas.Closed, ""},
		{foreign, processor.Counted, schemas.Closed, ""},
		{at(2, schemas.Cancelled), processor.IsNeutral, schemas.Closed, ""},
		{leased, processor.Counted, schemas.Open, "two"},
		{at(4, good), processor.WhileOpen, schemas.Open, ""},
		{many, processor.WhileOpen, schemas.Open, ""},
		{at(6, schemas.Cancelled), processor.WhileOpen, schemas.Open, ""},
		{slow, processor.WhileOpen, schemas.Open, ""},
		{at(13.6, schemas.Cancelled), processor.IsNeutral, schemas.Open, ""},
		{at(14, good), processor.Probe, schemas.HalfOpen, ""},
		{at(12, good), processor.WhileOpen, schemas.HalfOpen, ""},
		{at(15, bad), processor.Probe, schemas.Open, "probe_failed"},
		{at(34, good), processor.WhileOpen, schemas.Open, ""},
		{at(35, good), processor.Probe, schemas.HalfOpen, ""},
		{at(36, good), processor.Probe, schemas.Closed, ""},
		{at(35.5, bad), processor.Stale, schemas.Closed, ""},
	}
	run := backtest.New(read(t, rows), backtest.Options{})
	for i := range steps {
		tt := &steps[i]
		step := run.Step(&tt.outcome)
		trip := ""
		if step.Trip != nil {
			trip = step.Trip.Rule
		}
		if step.Why != tt.why || step.Phase != tt.phase || trip != tt.trip || step.Index != int64(i) {
			t.Errorf("outcome %d: %v, %v, trip %q, index %d, want %v, %v, %q",
				i, step.Why, step.Phase, trip, step.Index, tt.why, tt.phase, tt.trip)
		}
	}
	report, err := run.Report()
	if err != nil {
		t.Fatal(err)
	}
	got := report.Circuits[0]
	first := got.Trips[0]
	if first.Since != t0.Add(time.Second) || first.DelaySeconds != 2 || first.DelayOutcomes != 1 || first.Bad != 2 ||
		first.Epoch != 1 || first.Index != 3 || first.RetryAt != t0.Add(13*time.Second) {
		t.Errorf("first trip = %+v", first)
	}
	if got.Outcomes != 18 || got.Records != 16 || got.Accepted != 8 || got.Probes != 4 || got.OpenSeconds != 33 ||
		!slices.Equal(got.Open, []backtest.Stretch{{From: first.At, To: t0.Add(36 * time.Second), Ends: true}}) {
		t.Errorf("Report = %+v", got)
	}
	if want := (backtest.Refused{Failures: 3, Accepted: 4, Others: 1, CostUSD: 0.06}); got.Refused != want {
		t.Errorf("Refused = %+v, want %+v", got.Refused, want)
	}
}

// TestClocksAreTheCircuits lets one circuit be far ahead of another, which does not mind.
func TestClocksAreTheCircuits(t *testing.T) {
	run := backtest.New(read(t, rows), backtest.Options{})
	ahead := at(1e6, schemas.Accepted)
	ahead.Circuit = "c:ahead"
	run.Step(&ahead)
	for i := range 2 {
		o := at(float64(i), schemas.MissingEvidence)
		if step := run.Step(&o); step.At != o.Time || (step.Trip != nil) != (i == 1) {
			t.Errorf("outcome %d of the circuit behind: %+v", i, step)
		}
	}
}

// TestNewLife forgets a closed circuit that nobody heard of for long. Its sequence goes on.
func TestNewLife(t *testing.T) {
	run := backtest.New(read(t, rows), backtest.Options{})
	var step backtest.Step
	for _, seconds := range []float64{0, 3600, 3601} {
		o := at(seconds, schemas.MissingEvidence)
		if step = run.Step(&o); step.Trip != nil != (seconds == 3601) {
			t.Errorf("at %v s: %+v", seconds, step)
		}
	}
	if step.Index != 2 || step.Trip == nil || step.Trip.Epoch != 1 {
		t.Errorf("trip in the new life = %+v at %d", step.Trip, step.Index)
	}
}

// TestNothingJudges reports circuits whose policy is off, and those that no policy matches.
func TestNothingJudges(t *testing.T) {
	run := backtest.New(read(t, rows), backtest.Options{})
	for _, name := range []string{"off", "nobody's"} {
		o := at(0, schemas.MissingEvidence)
		o.Circuit = name
		if step := run.Step(&o); step.Why != processor.Disabled || step.Trip != nil {
			t.Errorf("%s: %+v, want disabled", name, step)
		}
	}
	report, _ := run.Report()
	if c := report.Circuits; len(c) != 2 || c[0].Policy != "" || c[1].Policy != "off" || c[0].Outcomes != 1 {
		t.Errorf("Report = %+v", c)
	}
}

// TestBeside judges by shadows what has one, as if each had a match of its own.
func TestBeside(t *testing.T) {
	const shadowed = `version: 1
policies:
- {name: own, match: ["a*", "b*"], rules: [{name: five, type: consecutive, threshold: 5}]}
- {name: sooner, shadows: own, rules: [{name: two, type: consecutive, threshold: 2}]}
- {name: rest, match: ["*"], rules: [{name: one, type: immediate}]}
`
	alone := strings.ReplaceAll(shadowed, `name: own, match: ["a*", "b*"]`, `name: own, match: ["none"]`)
	alone = strings.ReplaceAll(alone, "shadows: own", `match: ["a*", "b*"]`)
	for _, resident := range []int{1, 10} {
		options := backtest.Options{Beside: true, Resident: resident, Store: &memory{values: map[int][]byte{}}}
		beside, byMatch := backtest.New(read(t, shadowed), options), backtest.New(read(t, alone), backtest.Options{})
		rng := rand.New(rand.NewPCG(3, 0))
		for i := range 600 {
			o := at(float64(i), []string{"accepted", "missing_evidence", "cancelled"}[rng.IntN(3)])
			o.Circuit = []string{"c:1", "a:1", "d:1", "b:1"}[i%4]
			step, want := beside.Step(&o), byMatch.Step(&o)
			if judged := i%2 == 1; (step.Circuit != "") != judged || judged && step.Why != want.Why {
				t.Fatalf("outcome %d of %s: %q %v, by match %v", i, o.Circuit, step.Circuit, step.Why, want.Why)
			}
			if step.Circuit != "" && step.Number != i/2%2 {
				t.Fatalf("%s is number %d, want those that are judged numbered alone", step.Circuit, step.Number)
			}
		}
		got, _ := beside.Report()
		want, _ := byMatch.Report()
		want.Circuits = want.Circuits[:2]
		for i := range want.Circuits {
			c := want.Circuits[i]
			c.Shadow, c.Enforced = true, false
			if c.Accepted+c.Failures+c.Others != c.Outcomes || c.Others == 0 || len(c.Trips) < 3 {
				t.Errorf("%s: %d accepted, %d failures, %d others of %d outcomes, and %d trips", c.Circuit,
					c.Accepted, c.Failures, c.Others, c.Outcomes, len(c.Trips))
			}
		}
		if !reflect.DeepEqual(got, want) || beside.Circuits() != 2 {
			t.Errorf("%d in memory: shadows do %+v, want what a match has: %+v", resident, got, want)
		}
	}
}

// memory is a store in memory.
type memory struct {
	values map[int][]byte
	puts   int
	broken error
}

func (m *memory) Put(circuit int, value []byte) error {
	m.puts++
	m.values[circuit] = slices.Clone(value)
	return m.broken
}

func (m *memory) Get(circuit int) ([]byte, error) {
	if m.values[circuit] == nil {
		return nil, fmt.Errorf("nothing of number %d", circuit)
	}
	return m.values[circuit], m.broken
}

// TestMemoryChangesNothing runs the recorded files at once and random circuits with room for few circuits or all.
func TestMemoryChangesNothing(t *testing.T) {
	var all []schemas.Outcome
	rng := rand.New(rand.NewPCG(7, 0))
	kinds := []string{"accepted", "missing_evidence", "policy_rejection", "tone", "cancelled"}
	for i := range 4_000 {
		all = append(all, schemas.Outcome{
			ID: fmt.Sprint(i % 3000), Circuit: fmt.Sprint("c", rng.IntN(40)), Kind: kinds[rng.IntN(5)],
			Time:      t0.Add(time.Duration(i*150-rng.IntN(30_000)) * time.Millisecond),
			LatencyMS: rng.Int64N(3000), Count: 1 + rng.Int64N(2), CostMicros: rng.Int64N(1000),
		})
	}
	policies := read(t, lately+"  - {name: minute, type: ratio, threshold: 0.4, window: 1m}\n")
	want := ""
	for _, resident := range []int{0, 1, 2, 7, 39, 40} {
		store := &memory{values: map[int][]byte{}}
		options := backtest.Options{Resident: resident, Store: store}
		if resident == 0 {
			options = backtest.Options{}
		}
		run := backtest.New(policies, options)
		for i := range all {
			run.Step(&all[i])
		}
		report, err := run.Report()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(report)
		switch {
		case want == "":
			want = string(text)
			if len(report.Circuits) != 40 || strings.Count(want, `"rule":"lately"`) < 20 {
				t.Fatalf("too little happens: %s", want)
			}
		case string(text) != want:
			t.Errorf("with room for %d:\n%s\nwant\n%s", resident, text, want)
		}
		if evicts := resident > 0 && resident < 40; evicts != (store.puts > 0) {
			t.Errorf("with room for %d there were %d puts", resident, store.puts)
		}
	}
}

// TestBrokenStore stops at the first error of the store, which Report returns.
func TestBrokenStore(t *testing.T) {
	store := &memory{values: map[int][]byte{}, broken: errors.New("disk on fire")}
	run := backtest.New(read(t, rows), backtest.Options{Resident: 1, Store: store})
	for i := range 5 {
		o := at(float64(i), schemas.Accepted)
		o.Circuit = fmt.Sprint("c", i)
		run.Step(&o)
	}
	if _, err := run.Report(); !errors.Is(err, store.broken) || store.puts != 1 {
		t.Errorf("Report = %v after %d puts, want the store's error after one", err, store.puts)
	}
}

// TestFromTheStore returns an error for what is no circuit.
func TestFromTheStore(t *testing.T) {
	for _, value := range []string{"", "\x01", "\x01\x00 twenty bytes follow", "\xff\xff\xff"} {
		store := &memory{values: map[int][]byte{}}
		run := backtest.New(read(t, rows), backtest.Options{Resident: 1, Store: store})
		for _, name := range []string{"c1", "c2", "c1"} {
			o := at(0, schemas.Accepted)
			o.Circuit = name
			run.Step(&o)
			store.values[0] = []byte(value)
		}
		if _, err := run.Report(); err == nil || !strings.Contains(err.Error(), "c1") {
			t.Errorf("Report with %q of c1 in the store: %v", value, err)
		}
	}
}
