//go:build synctests

package kafka

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

const shortText = `version: 1
defaults: {idle_after: 1h}
policies:
- {name: quick, match: ["*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}
`

// TestForgotten lets circuits fall idle, in memory and out of it, while another one lives on: tombstones of them end in
// the changelog and in the state topic, and nothing is known of them any more.
func TestForgotten(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.policies = policies(t, shortText)
		r := w.start(func(c *Config) { c.MaxResident = 10 }, nil)
		w.ready(r)
		var records []*kgo.Record
		for i := range 40 {
			records = append(records, outcome(fmt.Sprintf("idle-%d", i), schemas.Accepted, fmt.Sprint(i)))
		}
		w.Produce(t, records...)
		for range 20 {
			time.Sleep(5 * time.Minute)
			w.Produce(t, outcome("alive", schemas.Accepted, ""))
		}
		w.until("forgotten", func() bool { return r.known.Load() == 1 })
		if n, _ := r.count(t, "idle-1"); n != 0 {
			t.Errorf("a forgotten circuit has %d series", n)
		}
		w.end(r)
		for _, topic := range []string{topics.Changelog, topics.State} {
			last := map[string]bool{}
			for _, record := range w.ReadCommitted(t, topic) {
				last[string(record.Key)] = record.Value != nil
			}
			for i := range 40 {
				if alive, any := last[fmt.Sprint("idle-", i)]; alive || !any {
					t.Errorf("%s: circuit idle-%d has no tombstone", topic, i)
				}
			}
			if !last["alive"] {
				t.Errorf("%s: the circuit that lives on has a tombstone", topic)
			}
		}
		again := w.start(nil, nil)
		w.ready(again)
		if got := again.known.Load(); got != 1 {
			t.Errorf("%d circuits known after a restart, want 1", got)
		}
		w.end(again)
	})
}

// TestCircuitsGone deletes records of the changelog that are still needed: who restores says how many circuits are
// gone.
func TestCircuitsGone(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		const circuit = "case:route:v1"
		w.Produce(t, outcome(circuit, schemas.Accepted, "a"))
		w.caughtUp()
		time.Sleep(time.Minute)
		w.end(r)
		admin, last := kadm.NewClient(w.Client(t)), kadm.Offsets{}
		ends, err := admin.ListEndOffsets(t.Context(), topics.Changelog)
		if err != nil || ends.Error() != nil {
			t.Fatalf("ListEndOffsets: %v, %v", err, ends.Error())
		}
		end, _ := ends.Lookup(topics.Changelog, 0)
		last.AddOffset(topics.Changelog, 0, end.Offset-3, -1) // A progress record and its marker are left.
		if _, err := admin.DeleteRecords(t.Context(), last); err != nil {
			t.Fatalf("DeleteRecords: %v", err)
		}
		w.dir = t.TempDir()
		r = w.start(nil, nil)
		w.ready(r)
		w.end(r)
		if log := w.log.String(); !strings.Contains(log, "circuits are gone from the changelog") ||
			!strings.Contains(log, "gone=1") {
			t.Errorf("the log does not say that one circuit is gone:\n%s", log)
		}
	})
}

// TestMorePartitions gives a topic more partitions while the processor works: circuits would move, so it stops.
func TestMorePartitions(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		w.addPartitions(topics.Outcomes, 1)
		if err := w.wait(r); err == nil {
			t.Error("Run = nil, want ErrTopics")
		}
	})
}

func (w *world) addPartitions(topic string, n int) {
	w.t.Helper()
	added, err := kadm.NewClient(w.Client(w.t)).CreatePartitions(w.t.Context(), n, topic)
	if err == nil {
		err = added.Error()
	}
	if err != nil {
		w.t.Fatalf("CreatePartitions: %v", err)
	}
}
