package main

import (
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/fusebox-project/fusebox/internal/oracle"
)

// ledger is which outcomes were sent, and which of them were acknowledged: those must have been handled. One that was
// not may be there or not.
type ledger struct {
	mu     sync.Mutex     // Guards what follows.
	sent   map[string]int // How often an outcome was sent that can be read, by its id.
	acked  map[string]int
	failed error // The last reason why something was not acknowledged.
	lost   int   // How many were not.
}

var errUndelivered = errors.New("some of it was not delivered")

func newLedger() *ledger { return &ledger{sent: map[string]int{}, acked: map[string]int{}} }

// note takes down what is about to be sent. What has no id cannot be told apart later.
func (l *ledger) note(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != "" {
		l.sent[id]++
	}
}

// settle takes down what became of it.
func (l *ledger) settle(id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.failed = err
		l.lost++
	case id != "":
		l.acked[id]++
	}
}

// totals returns how many outcomes were sent and how many of them were acknowledged.
func (l *ledger) totals() (sent, acked int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range maps.Values(l.sent) {
		sent += n
	}
	for n := range maps.Values(l.acked) {
		acked += n
	}
	return sent, acked
}

// compare looks whether every outcome was handled as often as it was acknowledged, and never more often than it was
// sent.
func (l *ledger) compare(t testing.TB, want *oracle.Expected) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	wrong := 0
	for id, times := range l.sent {
		if got := want.Handled[id]; got < l.acked[id] || got > times {
			if wrong++; wrong < 10 {
				t.Errorf("outcome %s was sent %d times, acknowledged %d times and handled %d times",
					id, times, l.acked[id], got)
			}
		}
	}
	for id := range want.Handled {
		if l.sent[id] == 0 {
			t.Errorf("outcome %s was handled and never sent", id)
		}
	}
}
