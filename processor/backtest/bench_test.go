package backtest_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
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

// forgetful is a store for circuits of which no more comes.
type forgetful struct{ backtest.Store }

func (forgetful) Put(int, []byte) error { return nil }

// TestRowsAreSmall wants circuits that never opened to take little memory once they are put away: there may be a
// million of them.
func TestRowsAreSmall(t *testing.T) {
	const circuits, most = 20_000, 320 // Bytes of each, with its name.
	run := backtest.New(breaker.Builtin(), backtest.Options{Resident: 1, Store: forgetful{}})
	before := liveBytes()
	for i := range circuits {
		run.Step(&schemas.Outcome{
			Circuit: fmt.Sprintf("submission-extraction:gpt-%05d:v4", i), Kind: schemas.Accepted, Count: 1, Time: t0,
		})
	}
	report, err := run.Report()
	if err != nil {
		t.Fatal(err)
	}
	if each := (liveBytes() - before) / circuits; each > most {
		t.Errorf("a circuit takes %d bytes, want at most %d", each, most)
	} else {
		t.Logf("a circuit takes %d bytes", each)
	}
	runtime.KeepAlive(run)
	runtime.KeepAlive(report)
}

// liveBytes returns how much of the heap is in use.
func liveBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
