//go:build synctests

package kafka

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestCommitUnknown spoils the end of a transaction in each way: it took effect or not, and the answer was an error or
// none. Whatever the client is told, every outcome counts once. Pitfall 2: an End without a commit is no proof of an
// abort.
func TestCommitUnknown(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault kafkatest.EndFault
		found string // What the log must say.
	}{
		{"committed, answered with an error", kafkatest.EndFault{Err: kerr.UnknownServerError}, "was not confirmed"},
		{"not committed, answered with an error",
			kafkatest.EndFault{Err: kerr.UnknownServerError, Lost: true}, "aborted"},
		{"committed, not answered", kafkatest.EndFault{}, ""},
		{"not committed, not answered", kafkatest.EndFault{Lost: true}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, func(t *testing.T, w *world) {
				r := w.start(nil, nil)
				w.ready(r)
				for round := range 12 {
					if round == 4 {
						tt.fault.TxnID = "fusebox-a-0"
						spoiled := w.fake.FailEnd(t, tt.fault)
						defer func() {
							if spoiled() != 1 {
								t.Errorf("%d ends were spoiled, want 1", spoiled())
							}
						}()
					}
					w.produceAll(round, 5, waves)
				}
				w.ready(r)
				w.caughtUp()
				w.end(r)
				w.check()
				if !strings.Contains(w.log.String(), tt.found) {
					t.Errorf("the log does not say %q", tt.found)
				}
			})
		})
	}
}

// TestStopAfterEndWasNotAnswered stops a process when it is about to begin a transaction after one whose offsets were
// never answered: the client is still in that one. This is no failure of the process, what it held comes again.
func TestStopAfterEndWasNotAnswered(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		var silent atomic.Bool
		begins, reached, stopped := 0, make(chan struct{}), make(chan struct{})
		r := w.start(nil, func(l *Loop) {
			l.crash = func(point string) error {
				if point != "before begin" || !silent.Load() {
					return nil
				}
				if begins++; begins == 2 {
					close(reached)
					<-stopped
				}
				return nil
			}
		})
		w.ready(r)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		silent.Store(true)
		w.fake.ControlKey(int16(kmsg.TxnOffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
			if silent.Load() {
				w.fake.KeepControl()
			}
			return nil, nil, silent.Load()
		})
		w.Produce(t, outcome("case:route-0:v1", schemas.MissingEvidence, "last"))
		<-reached
		r.stop()
		close(stopped)
		w.end(r)
		silent.Store(false)
		r = w.start(nil, nil)
		w.ready(r)
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

// TestRebalance lets a second process join while the first works, and takes a member out of the group between the
// produce of a transaction and its end. Pitfall 1: the member that was taken out commits nothing. Pitfall 7: it ends
// nothing inside the rebalance.
func TestRebalance(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		var evict atomic.Bool
		first := w.start(nil, func(l *Loop) {
			l.crash = func(point string) error {
				if point == "before end" && evict.CompareAndSwap(true, false) {
					w.fake.Evict(t, group, "fusebox-a-0")
				}
				return nil
			}
		})
		w.ready(first)
		var second *process
		for round := range 16 {
			switch round {
			case 4:
				second = w.start(func(c *Config) { c.Instance, c.DataDir = "b", t.TempDir() }, nil)
				w.ready(second)
			case 8:
				evict.Store(true)
			case 12:
				w.end(second)
			}
			w.produceAll(round, 9, waves)
		}
		if evict.Load() {
			t.Error("no transaction was under way to take the member out")
		}
		w.ready(first)
		w.caughtUp()
		w.end(first)
		w.check()
	})
}

// TestWorkers lets two workers of one process share the partitions and the store, and gives them more to do than stays
// in memory.
func TestWorkers(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		few := func(c *Config) { c.Workers, c.MaxResident = 2, 6 }
		r := w.start(few, nil)
		for round := range 12 {
			w.produceAll(round, 30, waves)
		}
		w.ready(r)
		w.caughtUp()
		// A worker that has just committed leaves the others to take their share at their next commit.
		w.until("few resident", func() bool { return r.resident.Load() <= 6 })
		if known, resident := r.known.Load(), r.resident.Load(); known != 30 || resident == 0 {
			t.Errorf("%d circuits known and %d resident, want 30 and 1 to 6", known, resident)
		}
		w.end(r)
		w.check()
	})
}
