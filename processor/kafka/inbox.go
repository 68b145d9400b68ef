package kafka

import (
	"context"
	"sync"
)

// What others tell a worker. Each is taken by the worker's own goroutine between two polls.
type (
	// membership says which partitions are the worker's in a generation of the group, and no others.
	membership struct{ partitions map[string][]int32 }
	// assignment says which partitions the worker was given, and as which member of the group.
	assignment struct {
		member     string
		partitions map[string][]int32
	}
	// revocation says which it has no longer.
	revocation struct{ partitions map[string][]int32 }
	// restoration says how the restore of a pair ended.
	restoration struct {
		pair   *pair
		result restored
		err    error
	}
	// reload says that there are other policies.
	reload struct{}
)

// inbox holds what others tell a worker, in order, and wakes it from its poll. It is bounded by what can happen: a few
// words for each rebalance and each partition, and the looks that wait for an answer.
type inbox struct {
	mu     sync.Mutex
	events []any
	wake   context.CancelFunc // Ends the poll that is under way.
}

func (b *inbox) put(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
	if b.wake != nil {
		b.wake()
	}
}

// take returns what came, and empties the inbox.
func (b *inbox) take() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events, b.wake = nil, nil
	return events
}

// wakes lets the next event end the poll that is about to begin, or one that waits already.
func (b *inbox) wakes(cancel context.CancelFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = cancel
	if len(b.events) > 0 {
		cancel()
	}
}
