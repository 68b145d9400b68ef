//go:build synctests

package kafka

import (
	"testing"
	"time"
)

// TestKilledInTransaction ends a process in the middle of a transaction: the next one of its name does not wait until
// the broker gives the transaction up, which it would have to before it could read the changelog.
func TestKilledInTransaction(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(nil, crashAt("before end", 3))
		for round := range 4 {
			w.produceAll(round, 5, waves)
		}
		w.crashes(first)
		began := time.Now()
		second := w.start(nil, nil)
		w.ready(second)
		if took := time.Since(began); took > transactionTimeout/2 {
			t.Errorf("ready after %v, want the transaction of before to be ended at once", took)
		}
		w.caughtUp()
		w.end(second)
		w.check()
	})
}
