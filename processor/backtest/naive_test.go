package backtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/internal/naive"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

func read(t testing.TB, text string) *breaker.Policies {
	t.Helper()
	p, err := breaker.Read("policy.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// recorded returns the recorded files, each an array of outcomes of one circuit.
func recorded(t testing.TB) map[string][]schemas.Outcome {
	t.Helper()
	files, err := filepath.Glob(kafkatest.Shared(t, "data", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded outcomes: %v", err)
	}
	all := map[string][]schemas.Outcome{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for line := range bytes.Lines(text) {
			var o schemas.Outcome
			if err := schemas.DecodeOutcome(nil, line, &o); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[name] = append(all[name], o)
		}
	}
	return all
}

// plain puts outcomes in the words of the other reading.
func plain(outcomes []schemas.Outcome) []naive.Outcome {
	var all []naive.Outcome
	for i := range outcomes {
		o := &outcomes[i]
		all = append(all, naive.Outcome{
			ID: o.ID, Kind: o.Kind, Severity: o.Severity.String(), ReasonCode: o.ReasonCode,
			Evaluator: o.Evaluator.Type.String(), Time: new(o.Time.UnixMilli()), LatencyMS: o.LatencyMS,
			InputTokens: o.InputTokens, OutputTokens: o.OutputTokens, CostMicros: o.CostMicros,
			RetryAfterMS: o.RetryAfterMS, FallbackFrom: o.FallbackFrom, Count: o.Count,
		})
	}
	return all
}

// compare runs outcomes of one circuit through both readings.
func compare(t *testing.T, p naive.Policies, outcomes []schemas.Outcome) (trips int) {
	t.Helper()
	run := backtest.New(read(t, p.YAML()), backtest.Options{})
	for i := range outcomes {
		run.Step(&outcomes[i])
	}
	report, err := run.Report()
	if err != nil || len(report.Circuits) != 1 {
		t.Fatalf("Report = %+v, %v, want one circuit", report, err)
	}
	got, want := report.Circuits[0], p.Replay(outcomes[0].Circuit, plain(outcomes))
	if g, w := fmt.Sprint(tripsOf(got)), fmt.Sprint(tripsIn(want)); g != w {
		t.Fatalf("trips\n got %v\nwant %v\n%s", g, w, p.YAML())
	}
	openMS := int64(0)
	for _, open := range want.Open {
		openMS += open[1] - open[0]
	}
	refused := naive.Recorded{
		Failures: got.Refused.Failures, Accepted: got.Refused.Accepted,
		Cost: int64(math.Round(got.Refused.CostUSD * 1e6)),
	}
	if refused.Failures != want.Failures || refused.Accepted != want.Accepted || refused.Cost != want.Cost ||
		!maps.Equal(whys(t, got), want.Why) || got.Probes != want.Probes || len(got.Open) != len(want.Open) ||
		int64(math.Round(got.OpenSeconds*1000)) != openMS {
		t.Fatalf("Report = %+v\nwant %+v\n%s", got, want, p.YAML())
	}
	return len(want.Trips)
}

// whys returns what became of the outcomes, as it is for machines.
func whys(t *testing.T, c *backtest.Circuit) (byName map[string]int64) {
	t.Helper()
	text, err := json.Marshal(c.Why)
	if err == nil {
		err = json.Unmarshal(text, &byName)
	}
	if err != nil {
		t.Fatal(err)
	}
	return byName
}

// tripsOf and tripsIn write the trips of both in one form.
func tripsOf(c *backtest.Circuit) []string {
	var all []string
	for _, t := range c.Trips {
		observed, byKind := t.Observed, t.ByKind
		if t.Rule == breaker.ProbeFailed {
			observed, byKind = 0, nil
		}
		all = append(all, fmt.Sprintln(t.At.UnixMilli(), t.Index, t.Rule, math.Round(observed*1e6), t.Throughput,
			byKind, t.Epoch, t.RetryAt.UnixMilli()))
	}
	return all
}

func tripsIn(r naive.Recorded) []string {
	var all []string
	for _, t := range r.Trips {
		all = append(all, fmt.Sprintln(t.At, t.Index, t.Rule, math.Round(t.Observed*1e6), t.Throughput,
			t.ByKind, t.Epoch, t.RetryAt))
	}
	return all
}

// six are policies of all kinds of rules, by which the recorded files are judged.
func six() []naive.Policies {
	of := func(knobs naive.Knobs, kinds map[string]naive.Role, rules ...naive.Rule) naive.Policies {
		knobs.Break.Jitter = new(int64)
		return naive.Policies{
			Defaults: knobs,
			Policies: []naive.Policy{{Name: "p", Match: []string{"*"}, Kinds: kinds, Rules: rules}},
		}
	}
	rejection := map[string]naive.Role{"policy_rejection": {Name: naive.Failure, Weight: 500}}
	two := naive.Knobs{
		Window: new(int64(20_000)), MinimumThroughput: new(int64(5)),
		Break:     naive.Break{Duration: new(int64(7_000)), Backoff: new(int64(1_500)), Max: new(int64(60_000))},
		HalfOpen:  naive.HalfOpen{Successes: new(int64(2)), Failures: new(int64(2)), Implicit: new(false)},
		IdleAfter: new(int64(60_000)),
	}
	return []naive.Policies{
		of(naive.Knobs{}, nil, naive.Rule{Name: "half", Type: naive.Ratio, Threshold: 500_000}),
		of(naive.Knobs{}, nil, naive.Rule{Name: "lately", Type: naive.Ratio, Threshold: 450_000, Last: 40},
			naive.Rule{
				Name: "rejections", Type: naive.Ratio, Kinds: []string{"policy_rejection"},
				Threshold: 500_000, Last: 40,
			}),
		of(two, nil, naive.Rule{Name: "short", Type: naive.Ratio, Threshold: 300_000}),
		of(two, rejection, naive.Rule{Name: "row", Type: naive.Consecutive, Threshold: 4_000_000},
			naive.Rule{Name: "watch", Type: naive.Count, Threshold: 3_000_000, Action: "degrade"}),
		of(two, nil, naive.Rule{
			Name: "spend", Type: naive.Sum, Of: "cost_usd", Only: "rejected", Threshold: 60_000, Window: 60_000,
		}, naive.Rule{Name: "many", Type: naive.Count, Threshold: 9_000_000, Window: 60_000}),
		of(two, nil, naive.Rule{Name: "slow", Type: naive.SlowRatio, Over: 20_000, Threshold: 400_000, Last: 30}),
		of(naive.Knobs{}, rejection, naive.Rule{Name: "weighed", Type: naive.Ratio, Threshold: 350_000, Last: 100},
			naive.Rule{Name: "once", Type: naive.Immediate, Kinds: []string{"contradictory_evidence"}}),
	}
}

// TestRecordedAgainstAnotherReading runs each recorded file through policies of all kinds, and compares each trip with
// that of a second reading of the specification.
func TestRecordedAgainstAnotherReading(t *testing.T) {
	files := recorded(t)
	for i, policies := range six() {
		trips := 0
		for name, outcomes := range files {
			trips += compare(t, policies, outcomes)
			if t.Failed() {
				t.Fatalf("%s, policy %d", name, i)
			}
		}
		if trips == 0 {
			t.Errorf("policy %d trips on none of the files", i)
		}
		t.Logf("policy %d: %d trips", i, trips)
	}
}

// TestRandomAgainstAnotherReading runs random outcomes through random policies. They come with the epochs and leases of
// somebody else, and out of order.
func TestRandomAgainstAnotherReading(t *testing.T) {
	trips := 0
	for seed := range uint64(80) {
		policies, steps := naive.Generate(seed)
		var outcomes []schemas.Outcome
		for _, s := range steps {
			if s.Outcome == nil {
				continue
			}
			outcomes = append(outcomes, wire(t, s)...)
		}
		if len(outcomes) > 0 {
			trips += compare(t, policies, outcomes)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d trips", trips)
	if trips < 120 {
		t.Errorf("only %d trips, too few to tell anything", trips)
	}
}

// wire puts a step's outcomes in the words of the wire, all of them of one circuit and at the step's times.
func wire(t *testing.T, s naive.Step) []schemas.Outcome {
	t.Helper()
	var all []schemas.Outcome
	for i := range max(s.Repeat, 1) {
		o := s.Outcome
		w := schemas.Outcome{
			ID: o.ID, Circuit: "a:x:v1", Kind: o.Kind, ReasonCode: o.ReasonCode, LatencyMS: o.LatencyMS,
			InputTokens: o.InputTokens, OutputTokens: o.OutputTokens, CostMicros: o.CostMicros,
			RetryAfterMS: o.RetryAfterMS, FallbackFrom: o.FallbackFrom, Lease: o.Lease, Count: max(o.Count, 1),
			Time: time.UnixMilli(s.At + i*s.Every).UTC(),
		}
		if o.Time != nil {
			w.Time = time.UnixMilli(*o.Time).UTC()
		}
		if o.Epoch != nil {
			w.HasEpoch, w.Epoch = true, *o.Epoch
		}
		w.Severity, _ = schemas.SeverityOf(o.Severity)
		w.Evaluator.Type, _ = schemas.EvaluatorTypeOf(o.Evaluator)
		all = append(all, w)
	}
	return all
}
