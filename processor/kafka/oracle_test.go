package kafka

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// expected tells what must have been published, by the pure core over the inputs as they lie in the log.
func (w *world) expected() map[int32][]string {
	w.t.Helper()
	feeds := map[int32]*[2][]*kgo.Record{}
	for i := range w.partitions {
		feeds[i] = &[2][]*kgo.Record{}
	}
	for n, topic := range []string{topics.Outcomes, topics.Signals} {
		for _, r := range w.ReadCommitted(w.t, topic) {
			feeds[r.Partition][n] = append(feeds[r.Partition][n], r)
		}
	}
	states := map[int32][]string{}
	for i, feed := range feeds {
		states[i] = w.replay(i, feed[0], feed[1])
	}
	return states
}

// replay is the core over one partition, outcomes first on a tie.
func (w *world) replay(partition int32, outcomes, signals []*kgo.Record) []string {
	core, states := processor.New(w.policies), []string(nil)
	highest := map[string]int64{}
	var at schemas.Inputs
	for len(outcomes)+len(signals) > 0 {
		var r *kgo.Record
		if len(signals) == 0 || len(outcomes) > 0 && !signals[0].Timestamp.Before(outcomes[0].Timestamp) {
			r, outcomes = outcomes[0], outcomes[1:]
			at.Outcomes = r.Offset + 1
		} else {
			r, signals = signals[0], signals[1:]
			at.Signals = r.Offset + 1
		}
		in := processor.Input{Inputs: at}
		in.Trigger = schemas.Trigger{Topic: r.Topic, Partition: partition, Offset: r.Offset}
		if !w.read(r, partition, highest, &in) {
			continue
		}
		for _, st := range core.Step(r.Timestamp, in).States {
			states = append(states, string(schemas.AppendState(nil, &st)))
		}
	}
	return states
}

// read decodes a record for the replay, and tells whether it is handled in its partition.
func (w *world) read(r *kgo.Record, partition int32, highest map[string]int64, in *processor.Input) bool {
	var circuit string
	if r.Topic == topics.Signals {
		s, err := schemas.DecodeSignal(r.Key, r.Value)
		if err != nil {
			return false
		}
		in.Signal, circuit = &s, s.Circuit
	} else {
		in.Outcome = &schemas.Outcome{}
		if err := schemas.DecodeOutcome(r.Key, r.Value, in.Outcome); err != nil {
			return false
		}
		circuit = in.Outcome.Circuit
	}
	for _, h := range r.Headers {
		f, err := readForwarded(string(h.Value))
		if h.Key != forwardHeader || err != nil {
			continue
		}
		from := fmt.Sprint(f.topicID, f.partition)
		if last, any := highest[from]; any && f.offset <= last {
			return false
		}
		highest[from] = f.offset
		if in.Outcome != nil && in.Outcome.Time.IsZero() {
			in.Outcome.Time = f.at
		}
	}
	return w.home(circuit) == partition
}

// check compares what was published with what must have been: nothing twice, nothing missing, in order.
func (w *world) check() {
	w.t.Helper()
	want := w.expected()
	got := map[int32][]string{}
	last := map[string]string{}
	for _, r := range w.ReadCommitted(w.t, topics.Transitions) {
		if string(r.Key) == schemas.PoliciesKey {
			continue
		}
		got[r.Partition] = append(got[r.Partition], string(r.Value))
		last[string(r.Key)] = string(r.Value)
	}
	total := 0
	for i := range w.partitions {
		total += len(want[i])
		for n := range max(len(got[i]), len(want[i])) {
			if n >= len(got[i]) || n >= len(want[i]) || got[i][n] != want[i][n] {
				w.t.Fatalf("partition %d, transition %d of %d:\n got %s\nwant %s",
					i, n, len(want[i]), nth(got[i], n), nth(want[i], n))
			}
		}
	}
	if total == 0 {
		w.t.Fatal("nothing was to be published: the test tests nothing")
	}
	w.checkStates(last)
}

// checkStates looks whether the state topic ends with the last transition of each circuit.
func (w *world) checkStates(want map[string]string) {
	w.t.Helper()
	got := map[string]string{}
	for _, r := range w.ReadCommitted(w.t, topics.State) {
		if !strings.HasPrefix(string(r.Key), "\u0000") {
			got[string(r.Key)] = string(r.Value)
		}
	}
	for circuit, value := range want {
		if got[circuit] != value {
			w.t.Errorf("state of %s:\n got %s\nwant %s", circuit, got[circuit], value)
		}
	}
}

func nth(list []string, n int) string {
	if n >= len(list) {
		return "(nothing)"
	}
	return list[n]
}
