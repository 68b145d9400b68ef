//go:build synctests

package kafka

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/naive"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestShadowIsABacktest runs random outcomes past a random policy that judges beside, through crashes and sweeps: it
// trips when a backtest of what stands on the topic trips, for the same reason.
func TestShadowIsABacktest(t *testing.T) {
	trips := 0
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inWorld(t, 2, func(t *testing.T, w *world) { trips += liveAndRecorded(t, w, seed) })
		})
	}
	t.Logf("%d trips", trips)
	if trips < 30 && !t.Failed() {
		t.Errorf("the shadows tripped %d times, too few to tell anything", trips)
	}
}

func liveAndRecorded(t *testing.T, w *world, seed uint64) (trips int) {
	file, _ := naive.Generate(seed)
	beside, _, alone := file.Beside()
	w.policies = policies(t, beside.YAML())
	rng := rand.New(rand.NewPCG(seed, 5))
	r := w.start(nil, crashAt("before store", 20+rng.IntN(20)))
	crashed := false
	for i := range 50 {
		var records []*kgo.Record
		for range rng.IntN(12) {
			records = append(records, anyOutcome(rng, i))
		}
		w.Produce(t, records...)
		select {
		case err := <-r.ended:
			r.ended <- err
			crashed = true
			r = w.start(nil, nil)
		default:
		}
		time.Sleep([]time.Duration{0, time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second}[rng.IntN(5)])
		if i == 35 {
			time.Sleep(11 * time.Minute) // All that is closed is idle now.
		}
	}
	w.caughtUp()
	w.end(r)
	w.check()
	if !crashed {
		t.Error("the processor did not crash")
	}
	want, rows := w.recorded(alone.YAML())
	got := w.shadows()
	if !slices.Equal(got, want) {
		t.Errorf("seed %d: the shadow's trips\n%v\nwant those of the backtest\n%v\n%s", seed, got, want, beside.YAML())
	}
	for circuit, st := range w.statesNow() {
		row := rows[circuit]
		if open := len(row.Open) > 0 && !row.Open[len(row.Open)-1].Ends; (st.Shadow.State != schemas.Closed) != open {
			t.Errorf("seed %d: the state of %s shows the shadow %+v, the backtest has it open: %v",
				seed, circuit, st.Shadow, open)
		}
	}
	return len(want)
}

// anyOutcome returns an outcome of one of three circuits, mostly a bad one now and then.
func anyOutcome(rng *rand.Rand, round int) *kgo.Record {
	kinds := []string{
		schemas.Accepted, schemas.Accepted, schemas.MissingEvidence, schemas.TransportFailure, schemas.PolicyRejection,
		schemas.Cancelled, "tool_misuse",
	}
	o := schemas.Outcome{
		Circuit: fmt.Sprintf("%c:route:v1", 'a'+rng.IntN(3)), Kind: kinds[rng.IntN(len(kinds))],
		Count: 1 + rng.Int64N(2), Severity: schemas.Severity(rng.IntN(4)),
		LatencyMS: rng.Int64N(2) * rng.Int64N(4000), CostMicros: rng.Int64N(500_000), InputTokens: rng.Int64N(2000),
		HasEpoch: rng.IntN(3) == 0, Epoch: rng.Int64N(3),
	}
	if round/10%2 == 1 {
		o.Kind = kinds[2+rng.IntN(2)]
	}
	if rng.IntN(2) == 0 {
		o.ID = fmt.Sprint(round, rng.IntN(10))
	}
	if rng.IntN(5) == 0 {
		o.Lease = "foreign"
	}
	return &kgo.Record{Topic: topics.Outcomes, Key: []byte(o.Circuit), Value: schemas.AppendOutcome(nil, &o)}
}

// recorded returns the trips that a backtest of the outcomes on the topic finds, and what it says of each circuit.
func (w *world) recorded(policy string) (trips []string, rows map[string]*backtest.Circuit) {
	run := backtest.New(policies(w.t, policy), backtest.Options{})
	for _, r := range w.ReadCommitted(w.t, topics.Outcomes) {
		var o schemas.Outcome
		if err := schemas.DecodeOutcome(r.Key, r.Value, &o); err != nil {
			w.t.Fatal(err)
		}
		o.Time = r.Timestamp
		if step := run.Step(&o); step.Trip != nil {
			trip := step.Trip
			trips = append(trips, fmt.Sprintln(step.Circuit, trip.At.UnixMilli(), trip.Rule, trip.Observed,
				trip.Throughput, trip.ByKind, trip.Epoch, trip.RetryAt.UnixMilli()))
		}
	}
	report, err := run.Report()
	if err != nil {
		w.t.Fatal(err)
	}
	rows = map[string]*backtest.Circuit{}
	for _, c := range report.Circuits {
		rows[c.Circuit] = c
	}
	return trips, rows
}

// shadows returns the trips of shadows that were published. None may stand in the state topic.
func (w *world) shadows() (trips []string) {
	for _, r := range w.ReadCommitted(w.t, topics.Transitions) {
		if kind, _ := schemas.TransitionKind(r.Value); kind != schemas.ShadowRecord {
			continue
		}
		st, err := schemas.DecodeState(r.Value)
		if err != nil || st.Enforced || st.Policy != "p1" {
			w.t.Errorf("a shadow's transition is %s", r.Value)
		}
		if c := st.Cause; st.State == schemas.Open {
			trips = append(trips, fmt.Sprintln(st.Circuit, c.At.UnixMilli(), c.Rule, c.Observed, c.Throughput,
				c.ByKind, st.Epoch, st.RetryAt.UnixMilli()))
		}
	}
	return trips
}

// statesNow returns the newest state of each circuit that is not forgotten.
func (w *world) statesNow() map[string]schemas.State {
	states := map[string]schemas.State{}
	for _, r := range w.ReadCommitted(w.t, topics.State) {
		st, err := schemas.DecodeState(r.Value)
		if err == nil {
			states[st.Circuit] = st
		}
		if st.IsShadow {
			w.t.Errorf("the state topic has a shadow's transition: %s", r.Value)
		}
		if r.Value == nil {
			delete(states, string(r.Key))
		}
	}
	return states
}

// TestShadowIsNobodysTrip counts what a shadow would have done under enforced="false" and nowhere else.
func TestShadowIsNobodysTrip(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.policies = policies(t, policyText+
			"- {name: careful, shadows: quick, rules: [{name: two, type: consecutive, threshold: 2}]}\n")
		r := w.start(nil, nil)
		w.ready(r)
		const circuit, bad = "case:route:v1", schemas.MissingEvidence
		w.Produce(t, outcome(circuit, bad, "a"), outcome(circuit, bad, "b"), outcome(circuit, bad, "c"))
		st := w.await(circuit, func(st schemas.State) bool { return st.Shadow != nil && st.Shadow.Trips == 1 })
		if st.State != schemas.Closed || st.Policy != "quick" || st.Sequence != 2 {
			t.Errorf("the circuit's state is %+v, want it closed, by its second record", st)
		}
		synctest.Wait()
		m := r.metrics
		if got := value(t, m.trips.WithLabelValues(circuit, "two", "false")); got != 1 {
			t.Errorf("fusebox_trips_total of the shadow = %v, want 1", got)
		}
		moved := value(t, m.transitions.WithLabelValues(circuit, "closed", "open"))
		if open := value(t, m.state.WithLabelValues(circuit, "open")); open != 0 || moved != 0 {
			t.Errorf("the metrics have the circuit open: %v, after %v transitions", open, moved)
		}
		w.Produce(t, outcome(circuit, bad, "d"))
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open })
		synctest.Wait() // It is counted once its commit is answered, which may be after it is seen.
		if got := value(t, m.trips.WithLabelValues(circuit, "failure-ratio", "true")); got != 1 {
			t.Errorf("fusebox_trips_total of the circuit = %v, want 1", got)
		}
		w.end(r)
		w.check()
	})
}
