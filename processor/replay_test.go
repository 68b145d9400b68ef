package processor_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/naive"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/policytest"
	"github.com/fusebox-project/fusebox/schemas"
)

// log is a partition's input: records, and switches of policies between them.
type log []entry

type entry struct {
	at     time.Time
	input  processor.Input
	reload *breaker.Policies
}

// randomLog returns the policies and the log of a random policy test.
func randomLog(t *testing.T, seed uint64) (*breaker.Policies, log) {
	t.Helper()
	policies, steps := naive.Generate(seed)
	text := naive.TestYAML(policies, steps, naive.New(policies).Run(steps))
	none := func(string) ([]byte, error) { return nil, errors.New("no files") }
	f, err := policytest.Read("random.yaml", []byte(text), none)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var l log
	for _, s := range f.Tests[0].Steps {
		for i := range s.Repeat {
			e := entry{at: time.UnixMilli(0).Add(s.At + time.Duration(i)*s.Every), reload: s.Reload}
			n := int64(len(l))
			e.input = processor.Input{
				Outcome: s.Outcome, Signal: s.Signal,
				Trigger: schemas.Trigger{Topic: "outcomes", Partition: 3, Offset: n},
				Inputs:  schemas.Inputs{Outcomes: n + 1, Signals: 2 * n},
			}
			l = append(l, e)
		}
	}
	return f.Tests[0].Policies, l
}

// replay is one way to run a log through partitions.
type replay struct {
	current *processor.Partition
	memory  map[string][]byte // What a changelog would hold.
	clock   time.Time
	out     []byte // The records published.
	whys    []processor.Why
}

func newReplay(p *breaker.Policies) *replay {
	return &replay{current: processor.New(p), memory: map[string][]byte{}}
}

func (r *replay) step(t *testing.T, e entry) {
	t.Helper()
	var states []schemas.State
	switch {
	case e.reload != nil:
		r.current.Advance(e.at)
		for name, value := range r.memory {
			if processor.NeedsReload(value) {
				r.load(t, name)
			}
		}
		states = r.current.Reload(e.reload, e.input.Inputs)
	case e.input.Outcome == nil && e.input.Signal == nil:
		r.current.Advance(e.at)
	default:
		r.load(t, circuitOf(e.input))
		result := r.current.Step(e.at, e.input)
		states = result.States
		r.whys = append(r.whys, result.Why)
	}
	for i := range states {
		r.out = append(schemas.AppendState(r.out, &states[i]), '\n')
	}
}

func circuitOf(in processor.Input) string {
	if in.Outcome != nil {
		return in.Outcome.Circuit
	}
	return in.Signal.Circuit
}

// load puts a circuit into memory where it is known but not there.
func (r *replay) load(t *testing.T, name string) {
	t.Helper()
	value, known := r.memory[name]
	if !known || r.current.Resident(name) {
		return
	}
	if err := r.current.Insert(name, value); err != nil {
		t.Fatalf("Insert(%q): %v", name, err)
	}
}

func (r *replay) commit() {
	for name, value := range r.current.Changes() {
		if r.memory[name] = value.Append(nil); value.Forgotten() {
			delete(r.memory, name)
		}
	}
	r.current.Commit()
	r.clock = r.current.Clock()
}

// restart leaves nothing but what the changelog holds.
func (r *replay) restart() {
	r.current = processor.Restore(r.current.Regimes())
	r.current.SetClock(r.clock)
}

// TestTheSameRecordsHoweverTheLogIsCut runs random logs in one go, in small transactions some of which are aborted and
// done again, with circuits leaving memory, and with a stop and a restore between any two records.
func TestTheSameRecordsHoweverTheLogIsCut(t *testing.T) {
	for seed := range uint64(150) {
		policies, l := randomLog(t, 1_000_000+seed)
		whole := newReplay(policies)
		for _, e := range l {
			whole.step(t, e)
		}
		pieces, stops := newReplay(policies), newReplay(policies)
		rng := rand.New(rand.NewPCG(seed, 0))
		for i := 0; i < len(l); {
			n := min(1+rng.IntN(5), len(l)-i)
			if !reloads(l[i : i+n]) {
				aborted(t, pieces, l[i:i+n])
			}
			for _, e := range l[i : i+n] {
				pieces.step(t, e)
			}
			pieces.commit()
			pieces.current.Evict(rng.IntN(3))
			i += n
		}
		for _, e := range l {
			stops.step(t, e)
			stops.commit()
			stops.restart()
		}
		same(t, seed, "in small transactions", whole, pieces)
		same(t, seed, "with a restore between any two", whole, stops)
	}
}

func reloads(l log) bool {
	for _, e := range l {
		if e.reload != nil {
			return true
		}
	}
	return false
}

// aborted does records in a transaction that comes to nothing.
func aborted(t *testing.T, r *replay, l log) {
	t.Helper()
	out, whys := len(r.out), len(r.whys)
	for _, e := range l {
		r.step(t, e)
	}
	r.current.Rollback()
	r.out, r.whys = r.out[:out], r.whys[:whys]
}

func same(t *testing.T, seed uint64, how string, want, got *replay) {
	t.Helper()
	for i, why := range want.whys {
		if got.whys[i] != why {
			t.Fatalf("seed %d %s: record %d became %v, want %v", seed, how, i, got.whys[i], why)
		}
	}
	if !bytes.Equal(want.out, got.out) {
		t.Fatalf("seed %d %s: records differ: got\n%s\nwant\n%s", seed, how, got.out, want.out)
	}
}

// TestSequenceHasNoGap checks that each record of a life is numbered one more than the one before.
func TestSequenceHasNoGap(t *testing.T) {
	for seed := range uint64(100) {
		policies, l := randomLog(t, 2_000_000+seed)
		r := newReplay(policies)
		for _, e := range l {
			r.step(t, e)
		}
		newest := map[string]schemas.State{}
		for _, line := range bytes.Split(bytes.TrimSpace(r.out), []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			s, err := schemas.DecodeState(line)
			if err != nil {
				t.Fatalf("seed %d: %v in %s", seed, err, line)
			}
			before, known := newest[s.Circuit]
			if known && before.Born.Equal(s.Born) && s.Sequence != before.Sequence+1 || !known && s.Sequence != 1 {
				t.Fatalf("seed %d: %s has sequence %d after %d", seed, s.Circuit, s.Sequence, before.Sequence)
			}
			newest[s.Circuit] = s
		}
	}
}
