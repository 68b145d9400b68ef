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
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestIdleEvicted takes an idle member out of its group while it is about to commit nothing but heartbeats: that
// transaction carries offsets too, and is refused. Pitfall 1: a transaction without an offset commit fences nobody.
func TestIdleEvicted(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		evictions := 0
		r := w.start(nil, func(l *Loop) {
			l.crash = func(point string) error {
				if point == "before begin" && l.metrics != nil && time.Since(epoch) > time.Minute && evictions == 0 {
					evictions++
					w.fake.Evict(t, group, "fusebox-a-0")
				}
				return nil
			}
		})
		w.ready(r)
		time.Sleep(time.Until(epoch.Add(90 * time.Second)))
		w.ready(r)
		if got := value(t, r.metrics.transactions.WithLabelValues(abortedResult)); evictions != 1 || got == 0 {
			t.Errorf("%d evictions, and %v transactions that were aborted; want 1 and some", evictions, got)
		}
		w.end(r)
	})
}

// epoch is when virtual time begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestHungTransaction leaves a transaction of somebody else open in the changelog: a restore says who holds it, and
// goes on when it ends. Pitfall 8: it reads to the high watermark. Pitfall 12: it names the producer.
func TestHungTransaction(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		rogue := w.Client(t, kgo.TransactionalID("rogue"), kgo.TransactionTimeout(2*time.Minute))
		if err := rogue.BeginTransaction(); err != nil {
			t.Fatalf("BeginTransaction: %v", err)
		}
		hung := &kgo.Record{Topic: topics.Changelog, Key: []byte("x"), Value: []byte("y")}
		if err := rogue.ProduceSync(context.Background(), hung).FirstErr(); err != nil {
			t.Fatalf("ProduceSync: %v", err)
		}
		r := w.start(nil, nil)
		w.until("named", func() bool { return strings.Contains(fmt.Sprint(r.Ready().Missing), `"rogue"`) })
		if err := rogue.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
			t.Fatalf("EndTransaction: %v", err)
		}
		w.produceAll(0, 5, waves)
		w.ready(r)
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

// TestDeletedTopic deletes the transitions between two transactions: the processor stops within bounded time and says
// which topic is gone. Pitfall 14: nothing waits for ever.
func TestDeletedTopic(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		admin := kadm.NewClient(w.Client(t))
		if _, err := admin.DeleteTopics(context.Background(), topics.Transitions); err != nil {
			t.Fatalf("DeleteTopics: %v", err)
		}
		w.Produce(t, outcome("case:new:v1", schemas.Accepted, "x"))
		began := time.Now()
		if err := w.wait(r); !errors.Is(err, ErrTopics) || !strings.Contains(err.Error(), topics.Transitions) {
			t.Errorf("Run = %v, want ErrTopics that names %s", err, topics.Transitions)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v to stop", took)
		}
	})
}

// TestClaimOnIdle measures how long a claim takes on a partition where nothing else happens.
func TestClaimOnIdle(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		const circuit = "case:route:v1"
		for i := range 4 {
			w.Produce(t, outcome(circuit, schemas.MissingEvidence, fmt.Sprint(i)))
		}
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open })
		time.Sleep(time.Minute)
		began := time.Now()
		w.Produce(t, signal(schemas.Signal{Type: schemas.Claim, Circuit: circuit, Holder: "r", Lease: "L"}))
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.HalfOpen })
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Errorf("the claim took %v", took)
		}
		w.end(r)
		w.check()
	})
}

// TestEndWhileForwardsAreRefused ends a processor whose last commit fails, as a broker refuses what it forwards. What
// was not committed is handled by the next one, and nothing is wrong with this one.
func TestEndWhileForwardsAreRefused(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		const circuit = "case:route-0:v1"
		slow := func(c *Config) { c.CommitInterval = time.Minute }
		r := w.start(slow, nil)
		w.ready(r)
		refused := w.fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Produce}, Topic: topics.Outcomes, Err: kerr.InvalidRecord, Count: -1, When: isForward,
		})
		w.ProduceTo(t, w.abroad(circuit, "m"))
		time.Sleep(5 * time.Second)
		w.end(r)
		if refused.Hits() == 0 {
			t.Error("nothing was forwarded at the end")
		}
		refused.Remove()
		r = w.start(nil, nil)
		w.settled()
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "handled")); got != 1 {
			t.Errorf("%v outcomes were handled once forwards are taken, want 1", got)
		}
		w.end(r)
	})
}
