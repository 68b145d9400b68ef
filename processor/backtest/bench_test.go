package backtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// steady returns a step of a thousand circuits in steady use: one answer in ten is bad, each window is full.
func steady(tb testing.TB) func() {
	run := backtest.New(read(tb, lately), backtest.Options{})
	outcomes := make([]schemas.Outcome, 1000)
	for i := range outcomes {
		outcomes[i] = schemas.Outcome{
			ID: fmt.Sprint("id", i), Circuit: fmt.Sprintf("submission-extraction:gpt-%03d:v4", i), Count: 1,
		}
	}
	at, n := t0, 0
	step := func() {
		o := &outcomes[n%1000]
		o.Kind = schemas.Accepted
		if n/1000%10 == 0 {
			o.Kind = schemas.MissingEvidence
		}
		o.ID = outcomes[(n/1000)%1000].ID
		o.Time = at
		n++
		at = at.Add(time.Millisecond)
		if step := run.Step(o); step.Trip != nil {
			tb.Fatalf("a trip: %+v", step.Trip)
		}
	}
	for range 200_000 {
		step()
	}
	return step
}

// BenchmarkStep judges outcomes of a thousand circuits.
func BenchmarkStep(b *testing.B) {
	step := steady(b)
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}

// TestStepDoesNotAllocate looks at what most outcomes are: counted, and no trip.
func TestStepDoesNotAllocate(t *testing.T) {
	step := steady(t)
	if n := testing.AllocsPerRun(20_000, step); n > 0 {
		t.Errorf("Step allocates %v times an outcome, want none", n)
	}
}
