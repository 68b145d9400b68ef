//go:build synctests

package kafka

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// The rows of the table of known traps that concern the client and the group, each by its number.

// TestPitfall03AnyRefusedRecord lets a broker refuse one record of a transaction, in each topic that it goes to:
// nothing of the transaction is seen, and all of it comes again.
func TestPitfall03AnyRefusedRecord(t *testing.T) {
	for _, topic := range []string{topics.Transitions, topics.State, topics.Changelog} {
		t.Run(topic, func(t *testing.T) {
			inWorld(t, 2, func(t *testing.T, w *world) {
				r := w.start(nil, nil)
				w.ready(r)
				w.produceAll(0, 5, waves)
				w.caughtUp()
				fault := w.fake.FailProduce(topic, kerr.MessageTooLarge, 1)
				for round := range 8 {
					w.produceAll(round+1, 5, waves)
				}
				w.ready(r)
				w.caughtUp()
				aborted := value(t, r.metrics.transactions.WithLabelValues(abortedResult))
				if fault.Hits() != 1 || aborted != 1 {
					t.Errorf("%d records refused and %v transactions aborted, want 1 and 1", fault.Hits(), aborted)
				}
				w.end(r)
				w.check()
			})
		})
	}
}

// TestPitfall04NoLinger measures transactions where nothing else takes time: they wait for nobody's linger.
func TestPitfall04NoLinger(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		for i := range 20 {
			w.Produce(t, outcome("case:route-0:v1", schemas.MissingEvidence, fmt.Sprint(i)))
			w.ProduceTo(t, w.abroad("case:route-0:v1", fmt.Sprint("m", i)))
			time.Sleep(time.Second)
		}
		w.settled()
		var out dto.Metric
		if err := r.metrics.commit.Write(&out); err != nil {
			t.Fatalf("Write: %v", err)
		}
		n, sum := out.Histogram.GetSampleCount(), out.Histogram.GetSampleSum()
		if n < 40 || sum/float64(n) > 0.001 {
			t.Errorf("%d transactions took %v s, want 40 or more of less than a millisecond", n, sum)
		}
		w.end(r)
	})
}

// TestPitfall07RestoreOutsideTheRebalance lets a restore stand still while another process joins: the group goes on
// without it at once.
func TestPitfall07RestoreOutsideTheRebalance(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		z := w.zombie()
		z.writesProgress()
		first := w.start(nil, nil)
		w.until("one restores, one runs", func() bool {
			p := first.Ready().Partitions
			return len(p) == 2 && p[0].Phase == restoring.String() && p[1].Phase == running.String()
		})
		began := time.Now()
		second := w.start(func(c *Config) { c.Instance, c.DataDir = "b", t.TempDir() }, nil)
		w.until("shared", func() bool {
			return len(first.Ready().Partitions) == 1 && len(second.Ready().Partitions) == 1
		})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the group took %v to share the partitions, want a few heartbeats", took)
		}
		z.ends(kgo.TryAbort)
		w.ready(first)
		w.ready(second)
		w.end(second)
		w.end(first)
	})
}

// TestPitfall09Limits looks at what the clients ask of the brokers: for no more than some megabytes, within half a
// second, and for transactions that end by themselves soon.
func TestPitfall09Limits(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		var mu sync.Mutex
		fetches, transactions := 0, 0
		look := func(k kmsg.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			switch r := k.(type) {
			case *kmsg.FetchRequest:
				fetches++
				all, each := int32(1<<20), int32(512<<10)
				if r.SessionEpoch < 0 { // A restore's, of one partition.
					all, each = 2<<20, 2<<20
				}
				if r.MaxWaitMillis < 200 || r.MaxWaitMillis > 500 || r.MaxBytes > all {
					t.Errorf("a fetch waits for %d ms and %d bytes", r.MaxWaitMillis, r.MaxBytes)
				}
				for _, topic := range r.Topics {
					for _, p := range topic.Partitions {
						if p.PartitionMaxBytes > each {
							t.Errorf("a fetch asks one partition for %d bytes", p.PartitionMaxBytes)
						}
					}
				}
			case *kmsg.InitProducerIDRequest:
				if r.TransactionalID == nil {
					return false
				}
				transactions++
				if r.TransactionTimeoutMillis != 10_000 {
					t.Errorf("a transaction may last %d ms", r.TransactionTimeoutMillis)
				}
			}
			return false
		}
		keys := []kmsg.Key{kmsg.Fetch, kmsg.InitProducerID}
		w.fake.Fault(kfake.Fault{Keys: keys, When: look, Observe: true, Count: -1})
		r := w.start(nil, nil)
		w.ready(r)
		time.Sleep(10 * time.Second)
		w.end(r)
		mu.Lock()
		defer mu.Unlock()
		if fetches < 10 || transactions != 1 {
			t.Errorf("%d fetches and %d transactional ids were seen, want 10 or more and 1", fetches, transactions)
		}
	})
}

// TestPitfall10ExpiredID lets the broker forget the transactional id of an idle worker, as after a week: a new client
// is made, once, and goes on.
func TestPitfall10ExpiredID(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		aborted := r.metrics.transactions.WithLabelValues(abortedResult)
		before := value(t, aborted)
		w.expireIDs()
		for round := range 8 {
			w.produceAll(round+1, 5, waves)
		}
		w.ready(r)
		w.caughtUp()
		if n := strings.Count(w.log.String(), `msg="session begins anew"`); n != 1 {
			t.Errorf("the session began anew %d times, want once", n)
		}
		if got := value(t, aborted) - before; got != 1 {
			t.Errorf("%v transactions were aborted, want one, and no second try", got)
		}
		w.end(r)
		w.check()
	})
}

// expireIDs lets the brokers know nothing of the transactional ids there are, until somebody asks for one from nothing.
func (w *world) expireIDs() {
	expired := true
	unknown := kerr.InvalidProducerIDMapping
	w.fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{
			kmsg.Produce, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn,
			kmsg.InitProducerID,
		},
		Err: unknown, Count: -1,
		When: func(k kmsg.Request) bool {
			switch r := k.(type) {
			case *kmsg.InitProducerIDRequest:
				if r.TransactionalID == nil {
					return false
				}
				expired = expired && r.ProducerID >= 0
			case *kmsg.ProduceRequest:
				return expired && r.TransactionID != nil
			}
			return expired
		},
	})
}

// TestPitfall10FencedAgainAndAgain takes a transactional id over whenever the worker has it back: it takes somebody
// else to be the reason, and stops with a message that says so.
func TestPitfall10FencedAgainAndAgain(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		began := time.Now()
		for i := range fencedLimit {
			w.ready(r)
			time.Sleep(time.Second) // What there was to do at the start is committed.
			w.fake.Fence(t, "fusebox-a-0")
			w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, fmt.Sprint(i)))
			time.Sleep(time.Second)
		}
		err := w.wait(r)
		if !errors.Is(err, ErrTwice) || !strings.Contains(fmt.Sprint(err), "fusebox-a-0: fenced 3 times") {
			t.Errorf("Run = %v, want ErrTwice and why", err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v to stop", took)
		}
	})
}

// TestPitfall11And14PollsThatFail lets every poll of a worker end in an error: it says which, asks now and then, lets a
// second process join all the same, and goes on when the error is gone.
func TestPitfall11And14PollsThatFail(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		fault := w.fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Fetch}, Topic: topics.Outcomes, Err: kerr.TopicAuthorizationFailed, Count: -1,
		})
		named := func() bool {
			r := first.Ready()
			said := fmt.Sprint(r.Missing)
			return !r.Ready && strings.Contains(said, topics.Outcomes+" cannot be read: TOPIC_AUTHORIZATION_FAILED")
		}
		w.until("named", named)
		for range 60 {
			time.Sleep(500 * time.Millisecond)
			if !named() {
				t.Fatalf("%+v while outcomes cannot be read", first.Ready())
			}
		}
		if n := fault.Hits(); n < 4 || n > 40 {
			t.Errorf("the brokers were asked %d times in half a minute, want now and then", n)
		}
		began := time.Now()
		second := w.start(func(c *Config) { c.Instance, c.DataDir = "b", t.TempDir() }, nil)
		w.until("shared", func() bool {
			return len(first.Ready().Partitions) == 1 && len(second.Ready().Partitions) == 1
		})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the group took %v to share the partitions, want a few heartbeats", took)
		}
		w.end(second)
		fault.Remove()
		w.produceAll(0, 5, waves)
		w.ready(first)
		w.caughtUp()
		w.end(first)
		w.check()
	})
}

// TestPitfall11OtherAssignors lets a consumer with Kafka's own assignors, eager and cooperative ones, ask to join the
// group: it is turned away, and the processor keeps its partitions.
func TestPitfall11OtherAssignors(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		for _, b := range []kgo.GroupBalancer{kgo.RangeBalancer(), kgo.CooperativeStickyBalancer()} {
			other := w.Client(t, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topics.Outcomes), kgo.Balancers(b))
			fetches := other.PollFetches(t.Context())
			if err := fetches.Err(); !errors.Is(err, kerr.InconsistentGroupProtocol) {
				t.Errorf("a member with %s: %v, want it turned away", b.ProtocolName(), err)
			}
			other.Close()
		}
		if got := r.Ready(); !got.Ready || len(got.Partitions) != 2 {
			t.Errorf("%+v after others asked to join, want both partitions", got)
		}
		w.end(r)
	})
}
