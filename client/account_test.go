package client

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/naive"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/policytest"
	"github.com/fusebox-project/fusebox/schemas"
)

const accounted = "a:x:v1" // Of the circuits of internal/naive.

// nobody is where the leases of these tests come from.
type nobody struct{}

func (nobody) report(Lease, Outcome) error { return nil }
func (nobody) release(Lease, bool) error   { return nil }

// twins are two partitions, of which one gets the sums of an account, and the other one by one what is in them.
type twins struct {
	t        *testing.T
	rng      *rand.Rand
	policies *breaker.Policies
	at       time.Time
	account  account
	due      time.Time     // Of what is being added up.
	bad      bool          // Most answers fail now.
	view     schemas.State // What the gate knows, which may be a little old.
	viewed   time.Time
	marks    []time.Time // Of earlier reports.

	sums, singles *processor.Partition
	reported      []schemas.Outcome // Not sent so far.
	next          int               // Of what is new.

	added  int // Outcomes that came in sums of several.
	seen   []change
	differ string // What differs first, or nothing.
}

// change is what has to be the same of a published record.
type change struct {
	state, previous        schemas.Phase
	epoch, sequence        int64
	rule, kind, degraded   string
	observed               float64
	throughput             int64
	changedAt, retryAt     time.Time
	successes, failures    int
	inconclusive, attempts int
}

func changeOf(s *schemas.State) change {
	c := change{
		state: s.State, previous: s.Previous, epoch: s.Epoch, sequence: s.Sequence, changedAt: s.ChangedAt,
		retryAt: s.RetryAt, successes: s.Probe.Successes, failures: s.Probe.Failures,
		inconclusive: s.Probe.Inconclusive, attempts: s.Attempt,
	}
	if s.Cause != nil {
		c.rule, c.kind, c.observed, c.throughput = s.Cause.Rule, s.Cause.Kind, s.Cause.Observed, s.Cause.Throughput
	}
	if s.Degraded != nil {
		c.degraded = s.Degraded.Rule
	}
	return c
}

func newTwins(t *testing.T, seed uint64, mode Combine) *twins {
	t.Helper()
	drawn, steps, seen := naive.Scenario(seed)
	none := func(string) ([]byte, error) { return nil, errors.New("no files") }
	f, err := policytest.Read("random.yaml", []byte(naive.TestYAML(drawn, steps[:1], seen[:1])), none)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	policies := f.Tests[0].Policies
	return &twins{
		t: t, rng: rand.New(rand.NewPCG(seed, 6)), policies: policies, at: time.UnixMilli(1_000_000).UTC(),
		account: account{circuit: accounted, mode: mode},
		sums:    processor.New(policies), singles: processor.New(policies),
	}
}

// step lets some time pass, and a call be reported, an operator speak, or nothing happen.
func (w *twins) step() {
	w.pass(w.wait())
	if w.rng.IntN(25) == 0 {
		w.bad = !w.bad
	}
	if w.rng.IntN(150) == 0 {
		w.signal(schemas.Signal{
			Type: schemas.Override, Circuit: accounted, Mode: w.mode(), Actor: "ana", Reason: "drill",
			TTL: time.Duration(w.pick(0, 1000, 5000)) * time.Millisecond,
		})
		return
	}
	state := w.look()
	l := Lease{circuit: accounted, epoch: state.Epoch, plain: state.State == schemas.Closed, sink: nobody{}}
	switch admission, _ := state.Admission(w.at, "r", 0); admission {
	case schemas.Refuses:
		return
	case schemas.Probes:
		w.next++
		id := fmt.Sprint("L", w.next)
		w.signal(schemas.Signal{
			Type: schemas.Claim, Circuit: accounted, Holder: "r", Lease: id, Epoch: state.Epoch, HasEpoch: true,
		})
		l.probe = &probe{id: id}
	}
	o := w.outcome()
	for range 1 + w.rng.IntN(4) + w.rng.IntN(2)*w.rng.IntN(12) {
		w.report(l, o)
		if l.probe != nil {
			return
		}
	}
}

// wait returns how many milliseconds are to pass: not many, or until something leaves a window.
func (w *twins) wait() int64 {
	if w.rng.IntN(15) > 0 || len(w.marks) == 0 {
		long := 1000 * w.rng.Int64N(2) * (1 + w.rng.Int64N(20)/19*60)
		return w.pick(0, 0, 1, 3, 10, 10, 30, 30, 50, 90, 200, long)
	}
	mark := w.marks[w.rng.IntN(len(w.marks))].UnixMilli()
	w.marks = w.marks[max(0, len(w.marks)-30):]
	return max(mark+w.pick(1000, 5000, 10_000, 60_000)+w.pick(-200, -90, -1, 0, 1, 30)-w.at.UnixMilli(), 0)
}

// look returns the circuit's state as the gate knows it, at most 300 ms old.
func (w *twins) look() schemas.State {
	if w.rng.IntN(3) > 0 || w.at.Sub(w.viewed) > 300*time.Millisecond {
		w.view, _ = w.sums.State(accounted, w.at)
		w.viewed = w.at
		if w.view.Circuit == "" {
			w.view.Enforced = true
		}
	}
	return w.view.At(w.at)
}

func (w *twins) pick(from ...int64) int64 { return from[w.rng.IntN(len(from))] }

func (w *twins) mode() schemas.Mode {
	modes := []schemas.Mode{schemas.ForceOpen, schemas.ForceClosed, schemas.Disable, schemas.Reset, schemas.Clear}
	return modes[w.rng.IntN(len(modes))]
}

// pass lets time pass, and what is due be sent.
func (w *twins) pass(ms int64) {
	then := w.at.Add(time.Duration(ms) * time.Millisecond)
	if w.account.sum.record.Count > 0 && !w.due.After(then) {
		w.at = w.due
		w.send(w.account.take(w.at))
	}
	w.at = then
}

func (w *twins) outcome() Outcome {
	o := Outcome{Kind: Accepted}
	if w.rng.IntN(100) < map[bool]int{false: 6, true: 70}[w.bad] {
		kinds := []string{
			MissingEvidence, TransportFailure, ContradictoryEvidence, PolicyRejection, Cancelled, "odd_tone",
		}
		o.Kind = kinds[w.rng.IntN(len(kinds))]
	}
	if w.rng.IntN(2) == 0 {
		o.Latency = time.Duration(w.pick(1, 99, 100, 101, 1000, 1001)) * time.Millisecond
	}
	if w.rng.IntN(2) == 0 {
		o.CostUSD = float64(w.pick(0, 1, 100_000)) / 1e6
		o.InputTokens, o.OutputTokens = w.pick(0, 10, 50), w.pick(0, 10)
	}
	if w.rng.IntN(8) == 0 {
		o.Severity = Severity(w.rng.IntN(4))
		o.Evaluator.Type = schemas.EvaluatorType(w.rng.IntN(3))
		o.FallbackFrom = []string{"", "b:y"}[w.rng.IntN(2)]
		o.ReasonCode = []string{"", "rc1"}[w.rng.IntN(2)]
	}
	if w.rng.IntN(40) == 0 {
		o.RetryAfter = time.Second
	}
	return o
}

// report does what a reporter does.
func (w *twins) report(l Lease, o Outcome) {
	record, err := o.record(&l)
	if err != nil {
		w.t.Fatalf("record: %v", err)
	}
	w.reported = append(w.reported, record)
	w.marks = append(w.marks, w.at)
	if l.plain && w.account.add(l.epoch, &o) {
		return
	}
	for _, p := range w.account.put(nil, w.at, &l, &o, parcel{record: record}, w.policies) {
		w.send(p)
	}
	w.due = w.at.Add(sumFor)
}

// send hands a record to the one twin, and what it stands for to the other.
func (w *twins) send(p parcel) {
	n := p.record.Count
	if n > 1 {
		w.added += int(n)
	}
	w.next++
	p.record.ID = fmt.Sprint("s", w.next)
	one := w.changes(w.sums, processor.Input{Outcome: &p.record})
	var all []change
	cost := p.record.CostMicros
	for _, o := range w.reported[:n] {
		w.next++
		o.ID, o.Time = fmt.Sprint("o", w.next), p.record.Time
		cost -= o.CostMicros
		all = append(all, w.changes(w.singles, processor.Input{Outcome: &o})...)
	}
	if cost != 0 {
		w.t.Fatalf("a sum of %d is %d micros off", n, cost)
	}
	w.reported = w.reported[n:]
	w.compare(one, all)
}

func (w *twins) signal(s schemas.Signal) {
	w.compare(w.changes(w.sums, processor.Input{Signal: &s}), w.changes(w.singles, processor.Input{Signal: &s}))
}

func (w *twins) changes(p *processor.Partition, in processor.Input) (found []change) {
	for _, s := range p.Step(w.at, in).States {
		found = append(found, changeOf(&s))
	}
	return found
}

func (w *twins) compare(sums, singles []change) {
	w.seen = append(w.seen, singles...)
	if got, want := fmt.Sprintf("%+v", sums), fmt.Sprintf("%+v", singles); got != want && w.differ == "" {
		w.differ = fmt.Sprintf("at %v:\n%s, one by one\n%s", w.at, got, want)
	}
}

// play plays a random policy and random reports, and returns what was the same and what was not.
func play(t *testing.T, seed uint64, mode Combine) *twins {
	t.Helper()
	w := newTwins(t, seed, mode)
	for range 400 {
		if w.step(); w.differ != "" {
			break
		}
	}
	w.pass(1000)
	return w
}

// TestCombinedAndUncombined holds CombineSame to its promise, and to adding something up.
func TestCombinedAndUncombined(t *testing.T) {
	const seeds = 200
	added, changes, rules := 0, 0, map[string]int{}
	for seed := range uint64(seeds) {
		w := play(t, seed, CombineSame)
		if w.differ != "" {
			t.Fatalf("seed %d, under\n%s\n%s", seed, w.policies.Text, w.differ)
		}
		added += w.added
		if w.added == 0 {
			continue
		}
		changes += len(w.seen)
		for _, c := range w.seen {
			rules[w.ruleTypes()[c.rule]]++
		}
	}
	t.Logf("%d outcomes in sums, %d changes of such circuits, by %v", added, changes, rules)
	for _, kind := range []string{"ratio", "count", "consecutive", "slow_ratio", "sum"} {
		if rules[kind] < 10 {
			t.Errorf("%d changes by %s, want more: the test tries too little", rules[kind], kind)
		}
	}
	if added < 100*seeds {
		t.Errorf("%d outcomes in sums, want more", added)
	}
}

// ruleTypes returns the types of the circuit's rules by their names.
func (w *twins) ruleTypes() map[string]string {
	types := map[string]string{}
	for _, r := range w.policies.For(accounted).Rules {
		types[r.Name] = r.Type.String()
	}
	return types
}

// TestCombineAlwaysMayDiffer shows that the twins can differ: what is added up without a look at the rules makes them.
func TestCombineAlwaysMayDiffer(t *testing.T) {
	for seed := range uint64(400) {
		if play(t, seed, CombineAlways).differ != "" {
			return
		}
	}
	t.Error("no seed differs")
}
