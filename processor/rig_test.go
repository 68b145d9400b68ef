package processor_test

import (
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// rig is a partition under test whose records concern circuit c, unless they say otherwise, at times counted from t0.
type rig struct {
	*processor.Partition
	offset int64
}

func newRig(t testing.TB, policy string) *rig {
	t.Helper()
	return &rig{Partition: processor.New(read(t, policy))}
}

func (r *rig) do(at time.Duration, in processor.Input) processor.Result {
	in.Trigger = schemas.Trigger{Topic: "outcomes", Partition: 3, Offset: r.offset}
	r.offset++
	in.Inputs = schemas.Inputs{Outcomes: r.offset, Signals: 1}
	return r.Step(t0.Add(at), in)
}

func (r *rig) outcome(at time.Duration, o schemas.Outcome) processor.Result {
	if o.Circuit == "" {
		o.Circuit = "c"
	}
	o.Count = max(o.Count, 1)
	return r.do(at, processor.Input{Outcome: &o})
}

// outcomes handles outcomes of these kinds, all at one time, and returns what the last did.
func (r *rig) outcomes(at time.Duration, kinds ...string) processor.Result {
	var result processor.Result
	for _, kind := range kinds {
		result = r.outcome(at, schemas.Outcome{Kind: kind})
	}
	return result
}

func (r *rig) claim(at time.Duration, lease string) processor.Result {
	s := schemas.Signal{Type: schemas.Claim, Circuit: "c", Holder: "h", Lease: lease}
	return r.do(at, processor.Input{Signal: &s})
}

func (r *rig) release(at time.Duration, lease string) processor.Result {
	return r.do(at, processor.Input{Signal: &schemas.Signal{Type: schemas.Release, Circuit: "c", Lease: lease}})
}

func (r *rig) override(at time.Duration, mode schemas.Mode, ttl time.Duration) processor.Result {
	s := schemas.Signal{Type: schemas.Override, Circuit: "c", Mode: mode, Actor: "ana", Reason: "drill", TTL: ttl}
	return r.do(at, processor.Input{Signal: &s})
}

// state returns circuit c as it is at a time.
func (r *rig) state(t testing.TB, at time.Duration) schemas.State {
	t.Helper()
	s, ok := r.State("c", t0.Add(at))
	if !ok {
		t.Fatal("circuit c is not in memory")
	}
	return s
}

// values returns what a commit would write to the changelog.
func (r *rig) values() map[string][]byte {
	values := map[string][]byte{}
	for name, value := range r.Changes() {
		values[name] = nil
		if !value.Forgotten() {
			values[name] = value.Append(nil)
		}
	}
	return values
}

// commit commits, and returns what it writes to the changelog.
func (r *rig) commit() map[string][]byte {
	values := r.values()
	r.Commit()
	return values
}

func inputOf(s *schemas.Signal) processor.Input { return processor.Input{Signal: s} }
