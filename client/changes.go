package client

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/fusebox-project/fusebox/schemas"
)

// changesKept is how many records wait for one who ranges over Changes.
const changesKept = 1024

// Changes returns the circuits' records from now on, as they would stand in the transitions topic: those of one circuit
// in the order of their sequence. Whoever is so slow that 1,024 of them wait loses the next ones, which a gap in the
// sequence tells. It ends with the context, or when the gate is closed; a range over it may be broken off. It can be
// ranged over once.
func (g *LocalGate) Changes(ctx context.Context) iter.Seq[schemas.State] {
	return g.watchers.changes(ctx)
}

// Changes returns the records of circuits that the gate comes to know from now on, each when calls go by it: those of
// one circuit in the order of their sequence, and not all of them where several came at once. Tombstones are none.
// Whoever is so slow that 1,024 of them wait loses the next ones. It ends with the context, or when the gate is closed;
// a range over it may be broken off. It can be ranged over once.
func (g *Gate) Changes(ctx context.Context) iter.Seq[schemas.State] { return g.watchers.changes(ctx) }

func (w *watchers) changes(ctx context.Context) iter.Seq[schemas.State] {
	records, stop := w.add()
	ended := context.AfterFunc(ctx, stop)
	return func(yield func(schemas.State) bool) {
		defer stop()
		defer ended()
		for {
			select {
			case s, open := <-records:
				if !open || !yield(s) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// watchers are those who follow a gate. Nobody waits for one of them.
type watchers struct {
	mu     sync.Mutex // Guards what follows.
	all    []chan schemas.State
	closed bool
}

// add returns a channel of what is told from now on, and what closes it.
func (w *watchers) add() (<-chan schemas.State, func()) {
	records := make(chan schemas.State, changesKept)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(records)
		return records, func() {}
	}
	w.all = append(w.all, records)
	return records, func() { w.remove(records) }
}

func (w *watchers) remove(records chan schemas.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.all, records); i >= 0 {
		w.all = slices.Delete(w.all, i, i+1)
		close(records)
	}
}

func (w *watchers) tell(s schemas.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, records := range w.all {
		select {
		case records <- s:
		default:
		}
	}
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, records := range w.all {
		close(records)
	}
	w.all, w.closed = nil, true
}
