package audit_test

import (
	"math"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

var t0 = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

func read(t *testing.T, text string) *breaker.Policies {
	t.Helper()
	policies, err := breaker.Read("policies.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return policies
}

// strict opens a circuit at two failures in a row, lenient at three.
const (
	strict = `version: 1
defaults: {break: {duration: 10s, backoff: 2, max: 10m, jitter: 0}}
policies:
- {name: strict, match: ["*"], rules: [{name: row, type: consecutive, threshold: 2}]}
`
	lenient = `version: 1
defaults: {break: {duration: 10s, backoff: 2, max: 10m, jitter: 0}}
policies: [{name: lenient, match: ["*"], rules: [{name: row, type: consecutive, threshold: 3}]}]
`
)

// rig is one partition's topics, and a processor that writes what it makes of the inputs a moment after it handled
// them. Times are counted from t0.
type rig struct {
	t         *testing.T
	core      *processor.Partition
	outcomes  []audit.Record
	signals   []audit.Record
	published []audit.Published
	switches  []audit.Switch
	policies  *breaker.Policies // Those of the start.
	at        schemas.Inputs
}

func newRig(t *testing.T, text string) *rig {
	policies := read(t, text)
	return &rig{t: t, core: processor.New(policies), policies: policies}
}

// outcome lets an outcome be written and handled.
func (r *rig) outcome(at time.Duration, circuit, kind, id string) {
	r.stamped(at, at, circuit, kind, id)
}

// stamped is outcome with another timestamp, a producer's: where it lies ahead of the wall clock it is clamped.
func (r *rig) stamped(stamp, now time.Duration, circuit, kind, id string) {
	r.take(stamp, now, schemas.Outcome{Circuit: circuit, Kind: kind, ID: id, Count: 1})
}

// leased is outcome with a lease.
func (r *rig) leased(at time.Duration, circuit, kind, id, lease string) {
	r.take(at, at, schemas.Outcome{Circuit: circuit, Kind: kind, ID: id, Lease: lease, Count: 1})
}

func (r *rig) take(stamp, now time.Duration, o schemas.Outcome) {
	r.outcomes = append(r.outcomes, audit.Record{
		Topic: "outcomes", Offset: r.at.Outcomes, Time: t0.Add(stamp), Value: schemas.AppendOutcome(nil, &o),
		Appended: stamp == now,
	})
	r.at.Outcomes++
	in := processor.Input{
		Outcome: &o, Clamped: stamp > now, Trigger: schemas.Trigger{Topic: "outcomes", Offset: r.at.Outcomes - 1},
	}
	r.step(min(stamp, now), now, in)
}

// outcomesOf lets outcomes of these kinds be written and handled, one each second.
func (r *rig) outcomesOf(from time.Duration, circuit string, kinds ...string) {
	for i, kind := range kinds {
		r.outcome(from+time.Duration(i)*time.Second, circuit, kind, "")
	}
}

func (r *rig) signal(at time.Duration, s schemas.Signal) {
	r.signals = append(r.signals, audit.Record{
		Topic: "signals", Offset: r.at.Signals, Time: t0.Add(at), Value: schemas.AppendSignal(nil, &s), Appended: true,
	})
	r.at.Signals++
	in := processor.Input{Signal: &s, Trigger: schemas.Trigger{Topic: "signals", Offset: r.at.Signals - 1}}
	r.step(at, at, in)
}

func (r *rig) override(at time.Duration, circuit string, mode schemas.Mode) {
	r.signal(at, schemas.Signal{
		Type: schemas.Override, Circuit: circuit, Mode: mode, Actor: "ann", Reason: "drill",
	})
}

func (r *rig) step(at, now time.Duration, in processor.Input) {
	in.Inputs = r.at
	result := r.core.Step(t0.Add(at), in)
	r.publish(now, result.States)
	r.publish(now, result.Shadows)
}

// reload puts other policies in force.
func (r *rig) reload(at time.Duration, text string) {
	policies := read(r.t, text)
	r.switches = append(r.switches, audit.Switch{At: r.at, Version: policies.Version, Policies: policies})
	r.publish(at, r.core.Reload(policies, r.at))
}

// handled says how far the inputs are handled, as a processor does where that is not in the order of their timestamps.
func (r *rig) handled(now time.Duration) {
	r.published = append(r.published, audit.Published{
		Offset: int64(len(r.published)), Time: t0.Add(now), Value: schemas.AppendHandled(nil, &r.at),
	})
}

func (r *rig) publish(now time.Duration, states []schemas.State) {
	for i := range states {
		r.published = append(r.published, audit.Published{
			Offset: int64(len(r.published)), Time: t0.Add(now + 100*time.Millisecond),
			Value: schemas.AppendState(nil, &states[i]),
		})
	}
}

// whole returns the configuration of an audit of all there is.
func (r *rig) whole() audit.Config {
	return audit.Config{
		Site: audit.Site{
			Outcomes: "outcomes", Signals: "signals", Transitions: "transitions", Partitions: 1,
			Home: func(string) int32 { return 0 },
		},
		Policies: r.policies, Switches: r.switches, Whole: true, End: r.at,
	}
}

// since returns the configuration of an audit from these inputs on, by the policies of the start.
func (r *rig) since(from schemas.Inputs) audit.Config {
	c := r.whole()
	c.Whole, c.From = false, from
	return c
}

// audit audits what was published from a record on.
func (r *rig) audit(c audit.Config, first int) audit.Report {
	a := audit.New(c)
	for {
		switch feed := a.Run(); feed {
		case audit.Nothing:
			return a.Report()
		case audit.Transitions:
			a.TakePublished(r.published[first:])
			a.End(feed)
		case audit.Outcomes:
			a.Take(feed, r.outcomes[c.From.Outcomes:], math.MaxInt64)
		default:
			a.Take(feed, r.signals[c.From.Signals:], math.MaxInt64)
		}
	}
}

// alter changes a published record.
func (r *rig) alter(record int, change func(*schemas.State)) {
	s := r.state(record)
	change(&s)
	r.published[record].Value = schemas.AppendState(nil, &s)
}

// state returns what a published record says.
func (r *rig) state(record int) schemas.State {
	r.t.Helper()
	s, err := schemas.DecodeState(r.published[record].Value)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}
