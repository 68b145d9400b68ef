package oracle_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/oracle"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	partitions = 2
	circuit    = "case:route:v1"
	outcomes   = "outcomes"
	signals    = "signals"
)

var t0 = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

const text = `version: 1
defaults: {window: 1m, minimum_throughput: 2, break: {duration: 1s, jitter: 0}}
policies: [{name: all, match: ["*"], rules: [{name: failure-ratio, type: ratio, threshold: %s}]}]
`

func policies(t *testing.T, threshold string) *breaker.Policies {
	t.Helper()
	p, err := breaker.Read("policies.yaml", fmt.Appendf(nil, text, threshold))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// home is the partition of the circuit.
var home = int32(kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(&kgo.Record{Key: []byte(circuit)}, partitions))

// writer makes the log of a processor that did all as it must.
type writer struct {
	oracle.Log
	t     *testing.T
	core  *processor.Partition
	at    schemas.Inputs
	other int64 // Next offset of the outcomes in the partition that is not the circuit's.
}

func newWriter(t *testing.T) *writer {
	w := &writer{t: t, Log: oracle.Log{
		Group: "g", Cluster: "c", TopicIDs: map[string]string{outcomes: "o", signals: "s"}, Partitions: partitions,
		Policies: []*breaker.Policies{policies(t, "0.5"), policies(t, "0.9")},
	}}
	w.core = processor.New(w.Policies[0])
	return w
}

// outcome writes an outcome and what it causes.
func (w *writer) outcome(at time.Duration, kind, id string, headers ...kgo.RecordHeader) {
	o := schemas.Outcome{Circuit: circuit, Kind: kind, ID: id, Count: 1}
	r := &kgo.Record{Topic: outcomes, Partition: home, Offset: w.at.Outcomes, Key: []byte(circuit),
		Value: schemas.AppendOutcome(nil, &o), Timestamp: t0.Add(at), Headers: headers}
	w.Outcomes = append(w.Outcomes, r)
	w.at.Outcomes++
	w.step(r, processor.Input{Outcome: &o})
}

func (w *writer) claim(at time.Duration, id string) {
	s := schemas.Signal{Type: schemas.Claim, Circuit: circuit, Holder: "r", Lease: id}
	r := &kgo.Record{Topic: signals, Partition: home, Offset: w.at.Signals, Key: []byte(circuit),
		Value: schemas.AppendSignal(nil, &s), Timestamp: t0.Add(at)}
	w.Signals = append(w.Signals, r)
	w.at.Signals++
	w.step(r, processor.Input{Signal: &s})
}

func (w *writer) step(r *kgo.Record, in processor.Input) {
	in.Inputs = w.at
	in.Trigger = schemas.Trigger{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	for _, state := range w.core.Step(r.Timestamp, in).States {
		value := schemas.AppendState(nil, &state)
		w.publish(&w.Transitions, circuit, value)
		w.publish(&w.States, circuit, value)
	}
}

// commit writes what changed to the changelog.
func (w *writer) commit() {
	for name, value := range w.core.Changes() {
		w.publish(&w.Changelog, name, value.Append(nil))
	}
	w.core.Commit()
}

func (w *writer) publish(topic *[]*kgo.Record, key string, value []byte) {
	*topic = append(*topic, &kgo.Record{
		Partition: home, Offset: int64(len(*topic)), Key: []byte(key), Value: value,
	})
}

// elsewhere writes a record to the other partition.
func (w *writer) elsewhere(at time.Duration, value []byte) *kgo.Record {
	r := &kgo.Record{Topic: outcomes, Partition: 1 - home, Offset: w.other, Value: value, Timestamp: t0.Add(at)}
	w.other++
	w.Outcomes = append(w.Outcomes, r)
	return r
}

// unreadable writes a record that cannot be read, and its dead letter.
func (w *writer) unreadable(at time.Duration) {
	r := w.elsewhere(at, []byte("no"))
	letter := schemas.DeadLetter{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Problem: "is not JSON"}
	dead := &kgo.Record{Partition: home}
	for _, h := range letter.Headers() {
		dead.Headers = append(dead.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	w.DeadLetters = append(w.DeadLetters, dead)
}

// misrouted writes an outcome to the other partition, and forwards it so many times.
func (w *writer) misrouted(at time.Duration, kind, id string, times int) {
	o := schemas.Outcome{Circuit: circuit, Kind: kind, ID: id, Count: 1}
	r := w.elsewhere(at, schemas.AppendOutcome(nil, &o))
	for i := range times {
		header := kgo.RecordHeader{Key: "fusebox-forward",
			Value: fmt.Appendf(nil, "g/c/o/%d/%d/%d", r.Partition, r.Offset, r.Timestamp.UnixMilli())}
		copied := &kgo.Record{Topic: outcomes, Partition: home, Offset: w.at.Outcomes, Value: r.Value,
			Timestamp: t0.Add(at), Headers: []kgo.RecordHeader{header}}
		w.Outcomes = append(w.Outcomes, copied)
		w.at.Outcomes++
		if i == 0 {
			timed := o
			timed.Time = r.Timestamp
			w.step(copied, processor.Input{Outcome: &timed})
		}
	}
}

// switchPolicies puts the other policies in force.
func (w *writer) switchPolicies() {
	w.core.Reload(w.Policies[1], w.at)
	now := schemas.PoliciesInForce{Version: w.Policies[1].Version, Text: w.Policies[1].Text, Instance: "a", Since: t0}
	w.publish(&w.Transitions, schemas.PoliciesKey, schemas.AppendSwitch(nil, &schemas.PolicySwitch{
		Policies: now, Inputs: w.at,
	}))
}

// life is a circuit that goes bad, is probed, and recovers, under two policies.
func life(t *testing.T) *writer {
	const bad = schemas.MissingEvidence
	w := newWriter(t)
	w.outcome(0, bad, "1")
	w.unreadable(time.Millisecond)
	w.misrouted(2*time.Millisecond, bad, "2", 2)
	w.outcome(3*time.Millisecond, bad, "2") // Meets the open circuit.
	w.outcome(1500*time.Millisecond, schemas.Accepted, "3")
	w.claim(1400*time.Millisecond, "L1") // Later than its time, as the records tell.
	w.claim(1600*time.Millisecond, "L2")
	w.switchPolicies()
	for i := range 20 {
		kind := bad
		if i%8 == 0 {
			kind = schemas.Accepted
		}
		w.outcome(4*time.Second+time.Duration(i)*time.Millisecond, kind, fmt.Sprint("a", i))
	}
	for name, value := range w.core.Changes() {
		w.publish(&w.Changelog, name, value.Append(nil))
	}
	return w
}

func TestCheck(t *testing.T) {
	w := life(t)
	want, err := oracle.Check(&w.Log)
	if err != nil {
		t.Fatalf("Check = %v, want nil", err)
	}
	if len(want.Forwarded) != 1 || want.Dropped != 1 || len(want.Letters) != 1 || want.Handled["2"] != 2 {
		t.Errorf("forwarded %v, dropped %d, letters %v, outcome 2 handled %d times, want 1, 1, 1 and 2",
			want.Forwarded, want.Dropped, want.Letters, want.Handled["2"])
	}
	if final, any := want.Final(circuit); !any || final.Sequence != int64(want.Count()) || want.Count() < 3 {
		t.Errorf("Final = %+v, %v, after %d transitions", final, any, want.Count())
	}
}

// TestCheckByTheChangelog has a claim that was handled, and changed nothing but the clock, before an outcome that was
// written earlier and shown later. That outcome was late then, which the published records do not tell.
func TestCheckByTheChangelog(t *testing.T) {
	const bad = schemas.MissingEvidence
	w := newWriter(t)
	w.outcome(30*time.Second, bad, "1")
	w.claim(90500*time.Millisecond, "L")
	w.commit()
	w.outcome(30200*time.Millisecond, bad, "2")
	w.outcome(90600*time.Millisecond, bad, "3")
	w.outcome(90700*time.Millisecond, bad, "4")
	w.commit()
	if want, err := oracle.Check(&w.Log); err != nil || want.Outcomes[processor.Late] != 1 {
		t.Errorf("Check = %v with %v, want nil with one that is late", err, want.Outcomes)
	}
	w.Changelog = nil
	if _, err := oracle.Check(&w.Log); err == nil {
		t.Error("Check without the changelog = nil, want faults: it cannot know")
	}
}

// TestCheckBesideARepeat has a claim that changed nothing but the circuit's offsets, handled behind a repeat of a
// forward that was dropped and is younger. By their times the claim came first; but what is dropped makes no value.
func TestCheckBesideARepeat(t *testing.T) {
	w := newWriter(t)
	w.outcome(0, schemas.Accepted, "1")
	w.commit()
	w.misrouted(2*time.Millisecond, schemas.Accepted, "2", 2)
	w.claim(time.Millisecond, "L")
	w.commit()
	if want, err := oracle.Check(&w.Log); err != nil || want.Dropped != 1 {
		t.Errorf("Check = %v with %v dropped, want nil with one", err, want.Dropped)
	}
}

func TestCheckFindsFaults(t *testing.T) {
	tests := []struct {
		name string
		harm func(w *writer)
		want string
	}{
		{"a transition twice", func(w *writer) { w.Transitions = slices.Insert(w.Transitions, 1, w.Transitions[1]) },
			"transition 2"},
		{"a transition is missing", func(w *writer) { w.Transitions = slices.Delete(w.Transitions, 1, 2) },
			"transition 1"},
		{"the last transition is missing", func(w *writer) { w.Transitions = w.Transitions[:len(w.Transitions)-1] },
			"(nothing)"},
		{"two transitions changed places", func(w *writer) {
			w.Transitions[0], w.Transitions[1] = w.Transitions[1], w.Transitions[0]
		}, "come after"},
		{"a transition says something else", func(w *writer) {
			r := w.Transitions[1]
			r.Value = bytes.Replace(r.Value, []byte(`"attempt":1`), []byte(`"attempt":2`), 1)
		}, `"attempt":2`},
		{"a circuit's newest state is missing", func(w *writer) { w.States = w.States[:len(w.States)-1] }, "state of"},
		{"a circuit's state went back", func(w *writer) { w.States = append(w.States, w.States[0]) }, "comes after"},
		{"a circuit is gone", func(w *writer) { w.publish(&w.States, circuit, nil) }, "state of"},
		{"a circuit that nobody named", func(w *writer) { w.publish(&w.States, "other", w.States[0].Value) },
			`"other"`},
		{"a dead letter is missing", func(w *writer) { w.DeadLetters = nil }, "0 dead letters"},
		{"a dead letter twice", func(w *writer) { w.DeadLetters = append(w.DeadLetters, w.DeadLetters[0]) },
			"2 dead letters"},
		{"a record was not forwarded", func(w *writer) { w.misrouted(9*time.Second, schemas.Accepted, "z", 0) },
			"was not forwarded"},
		{"a forward of a record that never was", func(w *writer) {
			w.misrouted(9*time.Second, schemas.MissingEvidence, "z", 1)
			w.Outcomes = slices.DeleteFunc(w.Outcomes, func(r *kgo.Record) bool {
				return r.Partition != home && r.Timestamp.Equal(t0.Add(9*time.Second))
			})
		}, "nothing there was to be"},
		{"the changelog has lost a circuit", func(w *writer) { w.Changelog[0].Key = []byte("\x00p") },
			"has nothing of"},
		{"the changelog has lost what a circuit counted", func(w *writer) {
			value := w.Changelog[0].Value
			value[len(value)-1] ^= 1
		}, "last value of"},
		{"the changelog knows one that nobody named", func(w *writer) {
			w.publish(&w.Changelog, "other", w.Changelog[0].Value)
		}, `"other"`},
		{"policies that nobody knows", func(w *writer) { w.Policies = w.Policies[:1] }, "nobody knows"},
		{"a signal that did not wait", func(w *writer) {
			for _, r := range w.Outcomes {
				r.Attrs = kgo.NewRecordAttrs(kgo.RecordAttrsOpts{TimestampType: 1})
			}
			w.Signals[1].Timestamp = t0.Add(time.Minute)
		}, "was handled before"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := life(t)
			tt.harm(w)
			if _, err := oracle.Check(&w.Log); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check = %v, want a fault that says %q", err, tt.want)
			}
		})
	}
}
