package kafka

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/oracle"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestOrder lets a partition see its inputs bit by bit, with any timestamps, go back and start anew at any time, and
// change its policies: what it publishes tells in which order it handled them, an audit of all finds no difference, and
// one from somewhere on neither, and both find a record that is altered.
func TestOrder(t *testing.T) {
	all := []*breaker.Policies{policies(t, besidePolicies), policies(t, plainPolicies)}
	for seed := range uint64(100) {
		o := newOrder(t, seed, all)
		o.play(150)
		o.judge()
		if t.Failed() {
			t.Fatalf("seed %d, timestamps of kind %d", seed, o.stamps)
		}
	}
}

const (
	besidePolicies = `version: 1
defaults: {window: 5s, minimum_throughput: 2, break: {duration: 2s, backoff: 1, jitter: 0}}
policies:
- name: all
  match: ["*"]
  rules: [{name: ratio, type: ratio, threshold: 0.6}, {name: row, type: consecutive, threshold: 3}]
- {name: beside, shadows: all, rules: [{name: lately, type: ratio, threshold: 0.5, last: 2}]}
`
	plainPolicies = `version: 1
defaults: {window: 3s, minimum_throughput: 1, break: {duration: 1s, backoff: 2, jitter: 0}}
policies:
- {name: off, match: ["a*"], enabled: false, rules: [{name: ratio, type: ratio, threshold: 0.9}]}
- {name: all, match: ["*"], rules: [{name: ratio, type: ratio, threshold: 0.9}]}
`
)

// order is a partition whose pair is real, and all around it is memory.
type order struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Time
	stamps int           // How timestamps come about: see stamp.
	skew   time.Duration // Of the brokers' clocks.

	pair     *pair
	appended map[*feed][]*kgo.Record
	values   map[string][]byte // Of the circuits, as committed.
	turn     int               // Which policies are in force.
	handled  []audit.Place     // Since the last commit.
	order    []audit.Place     // All that was committed.
	log      oracle.Log
}

func newOrder(t *testing.T, seed uint64, all []*breaker.Policies) *order {
	rng := rand.New(rand.NewPCG(seed, 0))
	o := &order{
		t: t, rng: rng, now: time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC), stamps: rng.IntN(4),
		skew: time.Duration(rng.IntN(2000)) * time.Millisecond, pair: newPair(0, TopicsWithPrefix("o."), nil),
		values: map[string][]byte{}, log: oracle.Log{Group: "g", Cluster: "c", Partitions: 1, Policies: all},
	}
	o.appended = map[*feed][]*kgo.Record{&o.pair.outcomes: nil, &o.pair.signals: nil}
	o.pair.regimes = []processor.Regime{{Number: 0, Policies: all[0]}}
	o.start()
	return o
}

// play does so many things, one of them at a time, and then handles all that is left.
func (o *order) play(things int) {
	for range things {
		o.now = o.now.Add(time.Duration(o.rng.IntN(300)) * time.Millisecond)
		f := o.feed()
		switch n := o.rng.IntN(40); {
		case n < 18:
			o.append(f)
		case n < 26:
			o.poll(f)
		case n < 33:
			o.handle()
		case n < 37:
			o.commit()
		case n < 38:
			o.back()
			o.pair.rollback()
		case n < 39:
			o.back()
			o.start()
		case o.pair.out.switched == nil:
			o.pair.switches = true
		}
	}
	for o.left(&o.pair.outcomes) > 0 || o.left(&o.pair.signals) > 0 || o.pair.signals.head() != nil {
		o.poll(&o.pair.outcomes)
		o.poll(&o.pair.signals)
		o.handle()
	}
	o.commit()
}

func (o *order) feed() *feed {
	if o.rng.IntN(2) == 0 {
		return &o.pair.signals
	}
	return &o.pair.outcomes
}

// stamp returns a timestamp, and its type: of one broker, of brokers whose clocks differ or step, or of producers.
func (o *order) stamp(f *feed) (at time.Time, kind int8) {
	at, kind = o.now, logAppendTime
	switch o.stamps {
	case 1:
		if f == &o.pair.signals {
			at = at.Add(o.skew)
		}
	case 2:
		at = at.Add(time.Duration(o.rng.IntN(2000)-1000) * time.Millisecond)
	case 3:
		at, kind = at.Add(time.Duration(o.rng.IntN(8000)-6000)*time.Millisecond), 0
	}
	return at, kind
}

// append appends a record: mostly one that counts for something, also one that is set aside, or that ends some
// transaction.
func (o *order) append(f *feed) {
	at, kind := o.stamp(f)
	r := &kgo.Record{
		Topic: f.topic, Offset: int64(len(o.appended[f])), Timestamp: at, Value: o.value(f),
		Attrs: kgo.NewRecordAttrs(kgo.RecordAttrsOpts{TimestampType: kind, Control: o.rng.IntN(10) == 0}),
	}
	o.appended[f] = append(o.appended[f], r)
}

func (o *order) value(f *feed) []byte {
	circuit := string(rune('a' + o.rng.IntN(3)))
	switch n := o.rng.IntN(12); {
	case n == 0:
		return []byte("no")
	case f == &o.pair.outcomes:
		kinds := []string{schemas.Accepted, schemas.MissingEvidence, schemas.MissingEvidence}
		return schemas.AppendOutcome(nil, &schemas.Outcome{
			Circuit: circuit, Kind: kinds[n%3], Count: 1, ID: fmt.Sprint(o.rng.IntN(200)),
		})
	case n > 2:
		return schemas.AppendSignal(nil, &schemas.Signal{
			Type: schemas.Claim, Circuit: circuit, Holder: "r", Lease: fmt.Sprint(len(o.appended[f])),
		})
	}
	modes := []schemas.Mode{schemas.ForceOpen, schemas.Reset, schemas.ForceClosed}
	return schemas.AppendSignal(nil, &schemas.Signal{
		Type: schemas.Override, Circuit: circuit, Mode: modes[o.rng.IntN(3)], Actor: "ann", Reason: "drill",
		TTL: time.Second,
	})
}

// left returns how many records of an input were not polled.
func (o *order) left(f *feed) int { return len(o.appended[f]) - int(f.polled) }

// poll shows the pair some of what was appended.
func (o *order) poll(f *feed) {
	n := min(o.left(f), 1+o.rng.IntN(4))
	f.add(slices.Clone(o.appended[f][f.polled : int(f.polled)+n]))
}

// start restores the pair.
func (o *order) start() {
	p := o.pair
	p.out.clear()
	p.switches, p.signalsTo = false, o.rng.Int64N(p.signals.polled+1)
	p.core = processor.Restore(p.regimes)
	p.core.SetClock(p.base.clock())
	p.begin()
}

// back forgets what is not committed.
func (o *order) back() {
	o.handled = nil
	if o.pair.out.switched != nil {
		o.turn--
	}
}

// handle handles what may be handled, as a worker does.
func (o *order) handle() {
	p := o.pair
	if p.waits() && o.rng.IntN(2) == 0 {
		p.end, p.endCovers = p.outcomes.polled, p.signals.polled
	}
	if p.switches {
		o.reload()
	}
	for r, from := p.pick(o.now); r != nil; r, from = p.pick(o.now) {
		if !r.Attrs.IsControl() {
			p.noteOrder(from, r.Timestamp)
			o.handled = append(o.handled, audit.Place{Topic: r.Topic, Offset: r.Offset})
		}
		from.pop()
		if !r.Attrs.IsControl() && string(r.Value) != "no" {
			o.step(r)
		}
	}
}

func (o *order) step(r *kgo.Record) {
	p := o.pair
	in := processor.Input{Trigger: schemas.Trigger{Topic: r.Topic, Offset: r.Offset}, Inputs: p.inputs()}
	var circuit string
	var err error
	if r.Topic == p.signals.topic {
		in.Signal = new(schemas.Signal)
		*in.Signal, err = schemas.DecodeSignal(r.Key, r.Value)
		circuit = in.Signal.Circuit
	} else {
		in.Outcome = new(schemas.Outcome)
		err = schemas.DecodeOutcome(r.Key, r.Value, in.Outcome)
		circuit = in.Outcome.Circuit
	}
	if err != nil {
		o.t.Fatal(err)
	}
	o.load(circuit)
	var at time.Time
	at, in.Clamped = stampOf(r, o.now)
	result := p.core.Step(at, in)
	p.out.states = append(append(p.out.states, result.States...), result.Shadows...)
}

// load brings a circuit into memory.
func (o *order) load(circuit string) {
	if value, known := o.values[circuit]; known && !o.pair.core.Resident(circuit) {
		if err := o.pair.core.Insert(circuit, value); err != nil {
			o.t.Fatal(err)
		}
	}
}

func (o *order) reload() {
	p := o.pair
	for circuit, value := range o.values {
		if processor.NeedsReload(value) {
			o.load(circuit)
		}
	}
	o.turn++
	next := &inForce{o.log.Policies[o.turn%len(o.log.Policies)], o.now}
	p.out.states = append(p.out.states, p.core.Reload(next.Policies, p.inputs())...)
	p.out.switched, p.out.switchedAt, p.switches = next, p.inputs(), false
}
