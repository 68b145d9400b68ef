package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestKeep tells a worker of two generations of the group, of which the client's callbacks told it nothing: it keeps
// the pairs that are still its own alone. Pitfall 11: what the callbacks do not tell is no worker's.
func TestKeep(t *testing.T) {
	names := TopicsWithPrefix("t.")
	l, err := New(Config{
		Group: "g", Instance: "a", Topics: names, Client: []kgo.Opt{kgo.SeedBrokers("nowhere")}, DataDir: t.TempDir(),
	})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	w := l.workers[0]
	if w.client, err = kgo.NewClient(l.config.Client...); err != nil {
		t.Fatalf("NewClient: %v", err)
	}
	defer w.client.Close()
	w.pairs = map[int32]*pair{}
	for id := range int32(4) {
		p := newPair(id, names, l.metrics)
		p.phase, p.stop = running, func() {}
		w.pairs[id] = p
	}
	w.synced(map[string][]int32{names.Outcomes: {0, 1, 3}, names.Signals: {0, 1, 3}})
	w.synced(map[string][]int32{names.Outcomes: {1, 3}, names.Signals: {3}})
	if err := w.heed(); err != nil {
		t.Fatalf("heed: %v", err)
	}
	if len(w.pairs) != 1 || w.pairs[3] == nil {
		t.Errorf("pairs = %v, want the third alone", w.pairs)
	}
}
