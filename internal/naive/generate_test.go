package naive_test

import (
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/fusebox-project/fusebox/internal/naive"
)

const seeds = 300

func TestGenerateIsTheSameForTheSameSeed(t *testing.T) {
	for seed := range uint64(20) {
		p, steps := naive.Generate(seed)
		q, again := naive.Generate(seed)
		if !reflect.DeepEqual(p, q) || !reflect.DeepEqual(steps, again) {
			t.Fatalf("Generate(%d) twice gave two scenarios", seed)
		}
	}
}

// TestPolicyTestIsReadBackAsItWasWritten also runs the model twice on each scenario, on the structs and on the text.
func TestPolicyTestIsReadBackAsItWasWritten(t *testing.T) {
	for seed := range uint64(40) {
		p, steps, seen := naive.Scenario(seed)
		if again := naive.New(p).Run(steps); !reflect.DeepEqual(again, seen) {
			t.Fatalf("Scenario(%d) saw other things than a model that runs its steps", seed)
		}
		text := naive.TestYAML(p, steps, seen)
		n := runPolicyTests(t, fmt.Sprint("seed ", seed), []byte(text))
		if n != len(steps) {
			t.Errorf("seed %d: %d steps were read of %d", seed, n, len(steps))
		}
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, text)
			return
		}
	}
}

// TestGenerateMeetsEverything holds the generator to what it is there for: each thing happens in so many scenarios of
// a hundred at least, or in one at least where 0 is asked for.
func TestGenerateMeetsEverything(t *testing.T) {
	want := map[string]int{
		"trip": 75, "recovery": 45, "probe_failed": 25, "probes_inconclusive": 3, "granted": 50, "refused": 50,
		"degraded": 5, "stale": 40, "while_open": 50, "neutral": 40, "duplicate": 20, "late": 5, "disabled": 10,
		"counted": 95, "not enforced": 5, "forced_open": 3, "forced_closed": 3, "disable": 3, "forgotten": 3,
		"override ended by itself": 3, "opened with no cause": 2, "implicit probe": 10, "closed by a reload": 1,
		"ratio": 20, "count": 5, "consecutive": 5, "immediate": 2, "slow_ratio": 2, "sum": 1,
		"attempt 3": 5, "attempt back to 1": 2, "break cut to its max": 0, "two leases": 5, "degraded over a reload": 0,
	}
	met := map[string]int{}
	for seed := range uint64(seeds) {
		p, steps := naive.Generate(seed)
		for event := range events(p, steps) {
			met[event]++
		}
	}
	for event, percent := range want {
		if met[event]*100 < percent*seeds || met[event] == 0 {
			t.Errorf("%q was met in %d of %d scenarios, want %d %%", event, met[event], seeds, percent)
		}
	}
	t.Logf("met in %d scenarios: %v", seeds, met)
}

// events names what happens in a scenario.
func events(p naive.Policies, steps []naive.Step) map[string]bool {
	met := map[string]bool{}
	before := map[string]naive.Seen{}
	types := map[string]string{}
	learn := func(p naive.Policies) {
		for _, policy := range p.Policies {
			learnRules(types, policy.Rules)
		}
	}
	learn(p)
	model := naive.New(p)
	for _, step := range steps {
		if step.Policy != nil {
			learn(*step.Policy)
		}
		was, seen := before[step.Circuit], model.Step(step)
		before[step.Circuit] = seen
		if seen.Granted != nil {
			met[map[bool]string{true: "granted", false: "refused"}[*seen.Granted]] = true
		}
		if seen.Counted != nil && *seen.Counted {
			met["counted"] = true
		}
		if seen.Rule != "" && seen.Epoch != was.Epoch {
			met["trip"], met[seen.Rule], met[types[seen.Rule]] = true, true, true
			met["break cut to its max"] = met["break cut to its max"] || *seen.RetryAt-*seen.ChangedAt == 600_000
		}
		met[seen.Why], met[seen.State] = true, true
		changes(met, step, was, seen)
	}
	maps.DeleteFunc(met, func(event string, happened bool) bool { return event == "" || !happened })
	return met
}

func learnRules(types map[string]string, rules []naive.Rule) {
	for _, rule := range rules {
		types[rule.Name] = rule.Type
	}
}

// changes names what is to be seen by what was before the step and what is after it.
func changes(met map[string]bool, step naive.Step, was, seen naive.Seen) {
	for event, happened := range map[string]bool{
		"recovery":                 seen.State == naive.Closed && seen.Epoch > was.Epoch && step.Outcome != nil,
		"implicit probe":           seen.Transitions >= 2 && step.Outcome != nil && step.Outcome.Lease == "",
		"degraded":                 seen.Degraded != "",
		"not enforced":             !seen.Enforced,
		"disable":                  seen.State == naive.Disabled,
		"forgotten":                seen.Epoch < was.Epoch,
		"override ended by itself": was.Until != nil && seen.Override == "" && step.Override == nil,
		"opened with no cause":     seen.State == naive.Open && seen.Rule == "",
		"closed by a reload":       step.Policy != nil && was.State == naive.Open && seen.State == naive.Closed,
		"attempt 3":                seen.Attempt >= 3,
		"attempt back to 1":        seen.Attempt == 1 && was.Attempt > 1,
		"two leases":               len(seen.Leases) >= 2,
		"degraded over a reload":   step.Policy != nil && seen.Degraded != "",
	} {
		met[event] = met[event] || happened
	}
}
