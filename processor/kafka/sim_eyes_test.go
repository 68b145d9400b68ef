//go:build synctests

package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// eyes follow the state topic for the routers.
type eyes struct {
	client *kgo.Client

	mu     sync.Mutex
	states map[string]schemas.State
}

func newEyes(w *world) *eyes {
	return &eyes{states: map[string]schemas.State{}, client: w.Client(w.t,
		kgo.ConsumeTopics(topics.State), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(500*time.Millisecond))}
}

func (y *eyes) state(circuit string) schemas.State {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.states[circuit]
}

// follow reads until the simulation is over. Like any router, it drops a record that is not newer than what it knows.
func (y *eyes) follow(s *simulation) {
	for !s.ended() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		fetches := y.client.PollFetches(ctx)
		cancel()
		fetches.EachRecord(func(r *kgo.Record) { y.see(s, r) })
	}
}

func (y *eyes) see(s *simulation, r *kgo.Record) {
	if len(r.Key) == 0 || r.Key[0] == 0 {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	circuit := string(r.Key)
	if r.Value == nil {
		delete(y.states, circuit)
		return
	}
	st, err := schemas.DecodeState(r.Value)
	if err != nil {
		s.t.Errorf("states/%d offset %d: %v", r.Partition, r.Offset, err)
		return
	}
	if old := y.states[circuit]; st.Born.After(old.Born) || st.Born.Equal(old.Born) && st.Sequence > old.Sequence {
		y.states[circuit] = st
	}
}
