//go:build synctests

package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/fusebox-project/fusebox/schemas"
	"github.com/fusebox-project/fusebox/state"
)

// ghost is a circuit that stands in a store and nowhere else, as one does of which a tombstone came and went while its
// process was away.
const ghost = "case:ghost:v1"

// TestPitfall20OldStore comes back to a store that has a ghost in it, after a while in which the changelog may not have
// lost a tombstone, and in each way in which it may: the ghost stays in the first case and goes in the others, and what
// is known otherwise stays.
func TestPitfall20OldStore(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stays bool
		away  func(w *world)
		why   string // What the log must say.
	}{
		{"soon", true, func(*world) { time.Sleep(11 * time.Hour) }, "partition restored"},
		{"after half the time that tombstones are kept", false,
			func(*world) { time.Sleep(13 * time.Hour) }, "tombstones are kept for 24h"},
		{"below the start of the changelog", false, (*world).outrun, "below the start of the changelog"},
		{"beyond the end of the changelog", false, (*world).advanceStore, "beyond the end of the changelog"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				first := w.start(nil, nil)
				w.ready(first)
				w.produceAll(0, 5, waves)
				w.caughtUp()
				id := state.Identity{
					ClusterID: first.cluster.id, TopicID: first.cluster.topicIDs[topics.Changelog],
				}
				w.end(first)
				w.inStore(id, haunt)
				tt.away(w)
				second := w.start(nil, nil)
				w.ready(second)
				if _, found, err := second.store.Load(0, ghost); found != tt.stays || err != nil {
					t.Errorf("the ghost is there: %v, %v; want %v", found, err, tt.stays)
				}
				if want := int64(5 + index(tt.stays)); second.known.Load() != want {
					t.Errorf("%d circuits known, want %d", second.known.Load(), want)
				}
				if !strings.Contains(w.log.String(), tt.why) {
					t.Errorf("the log does not say %q", tt.why)
				}
				w.end(second)
			})
		})
	}
}

// inStore changes the store of a process that is away.
func (w *world) inStore(id state.Identity, change func(*state.Store, state.Position, []byte)) {
	w.t.Helper()
	store, err := state.Open(w.dir, id, state.Options{})
	if err != nil {
		w.t.Fatalf("Open: %v", err)
	}
	at, _, err := store.Position(0)
	if err != nil {
		w.t.Fatalf("Position: %v", err)
	}
	value, known, err := store.Load(0, "case:route-0:v1")
	if err != nil || !known {
		w.t.Fatalf("Load: %v, %v", known, err)
	}
	change(store, at, value)
	if err := store.Close(); err != nil {
		w.t.Fatalf("Close: %v", err)
	}
}

// haunt puts the ghost there.
func haunt(s *state.Store, at state.Position, value []byte) {
	s.Save(0, []state.Change{{Circuit: ghost, Value: value}}, at)
}

// advanceStore leaves the store further than the changelog goes.
func (w *world) advanceStore() {
	k, err := connect(context.Background(), topics, "", w.Opts(), func(error) {})
	if err != nil {
		w.t.Fatalf("connect: %v", err)
	}
	defer k.client.Close()
	id := state.Identity{ClusterID: k.id, TopicID: k.topicIDs[topics.Changelog]}
	w.inStore(id, func(s *state.Store, at state.Position, _ []byte) {
		at.Offset += 1000
		s.Save(0, nil, at)
	})
}

// outrun lets another process touch all circuits, and deletes all of the changelog that the store has read.
func (w *world) outrun() {
	w.t.Helper()
	end := int64(len(w.ReadCommitted(w.t, topics.Changelog)))
	w.outgrow()
	w.deleteTo(topics.Changelog, end+5)
}

// outgrow lets another process touch all circuits, several times over.
func (w *world) outgrow() {
	w.t.Helper()
	other := w.start(func(c *Config) { c.Instance, c.DataDir = "b", w.t.TempDir() }, nil)
	w.ready(other)
	for range 3 {
		w.produceAll(1, 5, waves)
	}
	w.caughtUp()
	w.end(other)
}

// TestPitfall20ChangelogRecreated deletes the changelog and makes it anew between two lives: nothing of the store is
// served, and the partition does not start over in silence, as its inputs are committed already.
func TestPitfall20ChangelogRecreated(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		w.end(first)
		w.deleteTopic(topics.Changelog)
		w.Create(t, 1, map[string]string{"cleanup.policy": "compact"}, topics.Changelog)
		second := w.start(nil, nil)
		w.until("refused", func() bool {
			return strings.Contains(fmt.Sprint(second.Ready().Missing), errDiffer.Error())
		})
		if _, found, err := second.store.Load(0, "case:route-0:v1"); found || err != nil {
			t.Errorf("a circuit of the old changelog is there: %v, %v", found, err)
		}
		w.end(second)
		if _, err := kadm.NewClient(w.Client(t)).DeleteGroups(t.Context(), group); err != nil {
			t.Fatalf("DeleteGroups: %v", err)
		}
		third := w.start(nil, nil)
		w.ready(third)
		w.caughtUp()
		if got := value(t, third.metrics.records.WithLabelValues(topics.Outcomes, "handled")); got != 5 {
			t.Errorf("%v outcomes handled, want all five from the start", got)
		}
		w.end(third)
	})
}

// TestPitfall20LongerChangelog makes the changelog anew between two lives, and lets another process fill it to beyond
// where the store of the first stands: by its offset alone the store would be served.
func TestPitfall20LongerChangelog(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		id := state.Identity{ClusterID: first.cluster.id, TopicID: first.cluster.topicIDs[topics.Changelog]}
		w.end(first)
		w.inStore(id, haunt)
		w.deleteTopic(topics.Changelog)
		w.Create(t, 1, map[string]string{"cleanup.policy": "compact"}, topics.Changelog)
		if _, err := kadm.NewClient(w.Client(t)).DeleteGroups(t.Context(), group); err != nil {
			t.Fatalf("DeleteGroups: %v", err)
		}
		w.outgrow()
		second := w.start(nil, nil)
		w.ready(second)
		if _, found, err := second.store.Load(0, ghost); found || err != nil {
			t.Errorf("a circuit of the old changelog is there: %v, %v", found, err)
		}
		if got := second.known.Load(); got != 5 {
			t.Errorf("%d circuits known, want 5", got)
		}
		w.end(second)
	})
}

// TestPitfall20InputsRecreated deletes the outcomes and makes them anew, while a process works and between two lives:
// the one that works stops and says so, the next one reads them from their start, and keeps its circuits. There is one
// broker: told by the wrong one of two that it does not lead, the client asks again without any pause.
func TestPitfall20InputsRecreated(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		const circuit = "case:route:v1"
		first := w.start(nil, nil)
		w.ready(first)
		for i := range 3 {
			w.Produce(t, outcome(circuit, schemas.MissingEvidence, fmt.Sprint("old", i)))
		}
		w.caughtUp()
		w.deleteTopic(topics.Outcomes)
		w.Create(t, 1, nil, topics.Outcomes)
		if err := w.wait(first); !errors.Is(err, ErrTopics) || !strings.Contains(fmt.Sprint(err), topics.Outcomes) {
			t.Errorf("Run = %v, want ErrTopics that names %s", err, topics.Outcomes)
		}
		w.Produce(t, outcome(circuit, schemas.MissingEvidence, "new"))
		second := w.start(nil, nil)
		st := w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open })
		if st.Cause.Throughput != 4 {
			t.Errorf("it opened at %d outcomes, want three of the old topic and the first of the new one",
				st.Cause.Throughput)
		}
		w.ready(second)
		w.end(second)
	}, kfake.Ports(9092))
}
