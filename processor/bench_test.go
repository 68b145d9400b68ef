package processor_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

var t0 = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

const oneRule = `
version: 1
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.9}]}]`

const fiveRules = `
version: 1
policies:
- name: p
  match: ["*"]
  rules:
  - {name: invented, type: immediate, kinds: [contradictory_evidence], severity: critical}
  - {name: failures, type: ratio, threshold: 0.9}
  - {name: lately, type: ratio, threshold: 0.9, last: 30}
  - {name: down, type: consecutive, kinds: [transport_failure], threshold: 50}
  - {name: spend, type: sum, of: cost_usd, threshold: 2500000, window: 1h}`

func read(t testing.TB, text string) *breaker.Policies {
	t.Helper()
	p, err := breaker.Read("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// BenchmarkStep counts outcomes of one circuit in memory whose window holds 128 cells; one in ten is a failure. The
// overlay is committed every 1,000 outcomes, as a loop would.
func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct{ name, policy string }{{"one rule", oneRule}, {"five rules", fiveRules}} {
		b.Run(bench.name, func(b *testing.B) {
			p := processor.New(read(b, bench.policy))
			outcomes := [2]schemas.Outcome{
				{Circuit: "submission-extraction:gpt-primary:v4", Kind: schemas.Accepted, Count: 1, CostMicros: 15_300},
				{
					Circuit: "submission-extraction:gpt-primary:v4", Kind: schemas.MissingEvidence, Count: 1,
					ReasonCode: "no_citation",
				},
			}
			at, n := t0, int64(0)
			ids := make([]string, 1000)
			for i := range ids {
				ids[i] = fmt.Sprintf("01J%023d", i)
			}
			step := func() {
				o := &outcomes[0]
				if n%10 == 0 {
					o = &outcomes[1]
				}
				o.ID = ids[n%1000]
				n++
				at = at.Add(470 * time.Millisecond)
				in := processor.Input{Outcome: o, Trigger: schemas.Trigger{Offset: n}}
				if r := p.Step(at, in); r.Why != processor.Counted {
					b.Fatalf("Step = %v, want counted", r.Why)
				}
				if n%1000 == 0 {
					p.Commit()
				}
			}
			for range 5000 {
				step()
			}
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}

// TestMemoryOfACircuit holds a resident circuit with one rule and 20 cells to 2 KiB.
func TestMemoryOfACircuit(t *testing.T) {
	const circuits, cells = 10_000, 20
	p := processor.New(read(t, oneRule))
	before := heap()
	for i := range cells {
		for c := range circuits {
			o := schemas.Outcome{
				ID: fmt.Sprintf("01J%012d%012d", c, i), Circuit: fmt.Sprintf("submission-extraction:gpt-%06d:v4", c),
				Kind: schemas.Accepted, Count: 1,
			}
			if (i+c)%10 == 0 {
				o.Kind, o.ReasonCode = schemas.MissingEvidence, "no_citation"
			}
			p.Step(t0.Add(time.Duration(i)*time.Second), processor.Input{Outcome: &o})
			if c%500 == 499 {
				p.Commit()
			}
		}
	}
	each := (heap() - before) / circuits
	t.Logf("a resident circuit takes %d bytes", each)
	if each > 2048 {
		t.Errorf("a resident circuit takes %d bytes, want at most 2048", each)
	}
	runtime.KeepAlive(p)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSizeOfAValue holds a circuit's value in the changelog to 700 bytes: one rule, 60 cells of two kinds.
func TestSizeOfAValue(t *testing.T) {
	for _, ids := range []bool{false, true} {
		p := processor.New(read(t, oneRule))
		for i := range 120 {
			o := schemas.Outcome{Circuit: "submission-extraction:gpt-primary:v4", Kind: schemas.Accepted, Count: 1}
			if i%2 == 0 {
				o.Kind, o.ReasonCode = schemas.MissingEvidence, "no_citation"
			}
			if ids {
				o.ID = fmt.Sprintf("01J%023d", i)
			}
			at := t0.Add(time.Duration(i/2) * time.Second)
			p.Step(at, processor.Input{Outcome: &o, Trigger: schemas.Trigger{Offset: 1_000_000 + int64(i)}})
		}
		for _, value := range p.Changes() {
			size := len(value.Append(nil))
			t.Logf("a value takes %d bytes, with ids: %v", size, ids)
			if !ids && size > 700 {
				t.Errorf("a value takes %d bytes, want at most 700", size)
			}
		}
	}
}
