package main

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerWaits holds how long requests took from the first byte written to the last byte read, by what they asked for.
// It is a hook of Kafka clients.
type brokerWaits struct {
	mu    sync.Mutex
	began bool
	took  map[kmsg.Key][]time.Duration
}

var _ kgo.HookBrokerE2E = (*brokerWaits)(nil)

// option lets a client tell.
func (w *brokerWaits) option() kgo.Opt { return kgo.WithHooks(w) }

// begin forgets what was before.
func (w *brokerWaits) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began, w.took = true, map[kmsg.Key][]time.Duration{}
}

// OnBrokerE2E is called by a client with every answer.
func (w *brokerWaits) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began && e2e.Err() == nil {
		w.took[kmsg.Key(key)] = append(w.took[kmsg.Key(key)], e2e.DurationE2E())
	}
}

// of returns how long requests of a kind took.
func (w *brokerWaits) of(key kmsg.Key) []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Duration(nil), w.took[key]...)
}
