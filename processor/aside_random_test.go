package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/naive"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// input puts a step in the words of the core; false where it is none of its records.
func input(s naive.Step) (in processor.Input, ok bool) {
	switch {
	case s.Outcome != nil:
		o := s.Outcome
		w := &schemas.Outcome{
			ID: o.ID, Circuit: s.Circuit, Kind: o.Kind, ReasonCode: o.ReasonCode, LatencyMS: o.LatencyMS,
			InputTokens: o.InputTokens, OutputTokens: o.OutputTokens, CostMicros: o.CostMicros,
			RetryAfterMS: o.RetryAfterMS, FallbackFrom: o.FallbackFrom, Lease: o.Lease, Count: max(o.Count, 1),
		}
		w.Severity, _ = schemas.SeverityOf(o.Severity)
		w.Evaluator.Type, _ = schemas.EvaluatorTypeOf(o.Evaluator)
		if o.Epoch != nil {
			w.HasEpoch, w.Epoch = true, *o.Epoch
		}
		return processor.Input{Outcome: w}, true
	case s.Claim != nil:
		c := &schemas.Signal{Type: schemas.Claim, Circuit: s.Circuit, Holder: s.Claim.Holder, Lease: s.Claim.Lease}
		return processor.Input{Signal: c}, true
	case s.Release != nil:
		c := &schemas.Signal{
			Type: schemas.Release, Circuit: s.Circuit, Lease: s.Release.Lease, Unused: s.Release.Unused,
		}
		return processor.Input{Signal: c}, true
	case s.Override != nil:
		mode, _ := schemas.ModeOf(s.Override.Mode)
		c := &schemas.Signal{Type: schemas.Override, Circuit: s.Circuit, Mode: mode, Actor: "ana", Reason: "drill"}
		if s.Override.TTL != nil {
			c.TTL = time.Duration(*s.Override.TTL) * time.Millisecond
		}
		return processor.Input{Signal: c}, true
	}
	return in, false
}

// TestShadowTouchesNothing runs random outcomes and signals with and without a shadow: the circuits do the same, but
// for records of the shadow alone.
func TestShadowTouchesNothing(t *testing.T) {
	moves := 0
	for seed := range uint64(150) {
		p, steps := naive.Generate(seed)
		beside, without, _ := p.Beside()
		with, bare := newRig(t, beside.YAML()), newRig(t, without.YAML())
		told, toldBare := map[string]string{}, map[string]string{}
		for i, s := range steps {
			for n := range max(s.Repeat, 1) {
				in, ok := input(s)
				if !ok {
					continue
				}
				at := time.UnixMilli(s.At + n*s.Every).Sub(t0)
				got, want := with.do(at, in), bare.do(at, in)
				moves += len(got.Shadows)
				if g, w := plainly(got, told), plainly(want, toldBare); g != w {
					t.Fatalf("seed %d, step %d: with a shadow\n%s\nwant, as without\n%s\n%s",
						seed, i, g, w, beside.YAML())
				}
			}
		}
	}
	if moves < 200 {
		t.Errorf("the shadows moved %d times, too few to tell anything", moves)
	}
}

// plainly writes what a record did to its circuit, with those of the states that tell something of it that was not told
// before. When an idle circuit is forgotten makes no difference to it, and may wait for its shadow.
func plainly(r processor.Result, told map[string]string) string {
	var text strings.Builder
	fmt.Fprintln(&text, r.Why, r.Kind, r.Granted, r.Leases, r.Moves, r.Tripped != nil)
	for i := range r.States {
		s := r.States[i]
		s.Shadow, s.Sequence, s.PolicyVersion = nil, 0, ""
		s.Trigger, s.Inputs, s.Operator = schemas.Trigger{}, schemas.Inputs{}, nil
		for _, cause := range []**schemas.Cause{&s.Cause, &s.Degraded} {
			if *cause != nil {
				c := **cause
				c.PolicyVersion = ""
				*cause = &c
			}
		}
		if now := string(schemas.AppendState(nil, &s)); now != told[r.Circuit] {
			told[r.Circuit] = now
			fmt.Fprintln(&text, now)
		}
	}
	return text.String()
}

// TestShadowIsABacktest runs random outcomes of one circuit, in order, past a shadow, with a stop and a restore between
// any two of them, and through a backtest: both trip at the same outcomes for the same reasons.
func TestShadowIsABacktest(t *testing.T) {
	trips := 0
	for seed := range uint64(120) {
		p, steps := naive.Generate(seed)
		beside, _, alone := p.Beside()
		policies := read(t, beside.YAML())
		core := processor.New(policies)
		run := backtest.New(read(t, alone.YAML()), backtest.Options{})
		var live, recorded []string
		at := time.UnixMilli(0)
		for _, s := range steps {
			s.Circuit = "a:x:v1"
			in, ok := input(s)
			if !ok || in.Outcome == nil {
				continue
			}
			if next := time.UnixMilli(s.At); next.After(at) {
				at = next
			}
			in.Outcome.Time = at.UTC()
			if result := core.Step(at, in); result.WouldTrip != nil {
				live = append(live, told(result))
			}
			if step := run.Step(in.Outcome); step.Trip != nil {
				c := step.Trip
				recorded = append(recorded,
					fmt.Sprintln(c.At, c.Rule, c.Observed, c.Throughput, c.ByKind, c.Epoch, c.RetryAt))
			}
			core = restored(t, core, policies)
		}
		if trips += len(live); !slices.Equal(live, recorded) {
			t.Fatalf("seed %d: live\n%v\nbacktest\n%v\n%s", seed, live, recorded, beside.YAML())
		}
	}
	if trips < 100 {
		t.Errorf("the shadows tripped %d times, too few to tell anything", trips)
	}
}

func told(r processor.Result) string {
	c, s := r.WouldTrip, r.Shadows[len(r.Shadows)-1]
	return fmt.Sprintln(c.At.UTC(), c.Rule, c.Observed, c.Throughput, c.ByKind, s.Epoch, s.RetryAt.UTC())
}

// restored returns a partition that was stopped and restored from its values.
func restored(t *testing.T, p *processor.Partition, policies *breaker.Policies) *processor.Partition {
	t.Helper()
	back := processor.New(policies)
	back.SetClock(p.Clock())
	for name, value := range p.Changes() {
		if err := back.Insert(name, value.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	return back
}
