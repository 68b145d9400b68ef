//go:build synctests

package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestPitfall12HungOutcomes leaves a transaction of a producer open in the outcomes of a partition that runs: it is not
// ready, says who holds it and how much lies behind both marks, and goes on when it ends.
func TestPitfall12HungOutcomes(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		rogue := w.Client(t, kgo.TransactionalID("rogue"), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
		if err := rogue.BeginTransaction(); err != nil {
			t.Fatalf("BeginTransaction: %v", err)
		}
		hung := outcome("case:route:v1", "accepted", "x")
		if err := rogue.ProduceSync(context.Background(), hung).FirstErr(); err != nil {
			t.Fatalf("ProduceSync: %v", err)
		}
		for i := range 4 {
			w.Produce(t, outcome("case:route:v1", "missing_evidence", fmt.Sprint(i)))
		}
		w.until("named", func() bool { return strings.Contains(fmt.Sprint(r.Ready().Missing), `"rogue"`) })
		behind := value(t, r.metrics.lagRecords.WithLabelValues("0"))
		if open := value(t, r.metrics.unstable.WithLabelValues("0")); behind != 5 || open != 5 {
			t.Errorf("%v outcomes behind, %v of them not to be read, want 5 and 5", behind, open)
		}
		if s := value(t, r.metrics.unstableSeconds.WithLabelValues("0")); s < 30 || s > 40 {
			t.Errorf("named when outcomes could not be read for %v s, want 30 to 40", s)
		}
		if r.Ready().Ready {
			t.Error("Ready with a backlog that cannot be read, want not ready")
		}
		if err := rogue.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
			t.Fatalf("EndTransaction: %v", err)
		}
		w.ready(r)
		w.caughtUp()
		w.until("no lag", func() bool {
			return value(t, r.metrics.lagRecords.WithLabelValues("0")) == 0 &&
				value(t, r.metrics.unstable.WithLabelValues("0")) == 0 &&
				value(t, r.metrics.unstableSeconds.WithLabelValues("0")) == 0
		})
		w.end(r)
		w.check()
	})
}

// TestPitfall12HungSignals leaves a transaction open in the signals: an operator's word cannot be read, and the
// partition says who is in its way.
func TestPitfall12HungSignals(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		rogue := w.Client(t, kgo.TransactionalID("rogue"), kgo.TransactionTimeout(15*time.Minute))
		if err := rogue.BeginTransaction(); err != nil {
			t.Fatalf("BeginTransaction: %v", err)
		}
		const circuit = "case:route:v1"
		hung := signal(schemas.Signal{Type: schemas.Claim, Circuit: circuit, Holder: "r", Lease: "L"})
		if err := rogue.ProduceSync(context.Background(), hung).FirstErr(); err != nil {
			t.Fatalf("ProduceSync: %v", err)
		}
		w.Produce(t, signal(schemas.Signal{
			Type: schemas.Override, Circuit: circuit, Mode: schemas.ForceOpen, Actor: "me", Reason: "a test",
		}))
		const want = `signals from offset 0 on cannot be read: an open transaction is held by`
		w.until("named", func() bool {
			missing := fmt.Sprint(r.Ready().Missing)
			return strings.Contains(missing, want) && strings.Contains(missing, `"rogue"`)
		})
		if err := rogue.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
			t.Fatalf("EndTransaction: %v", err)
		}
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.ForcedOpen })
		w.ready(r)
		w.end(r)
		w.check()
	})
}

// TestOneEndNotTold lets a broker refuse to tell where one partition ends: what is behind in the others is known.
func TestOneEndNotTold(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		refused := w.fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: topics.Outcomes, Partitions: []int32{0}, Count: -1,
			Err: kerr.KafkaStorageError,
		})
		rogue := w.Client(t, kgo.TransactionalID("rogue"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err := rogue.BeginTransaction(); err != nil {
			t.Fatalf("BeginTransaction: %v", err)
		}
		hung := outcome("case:route:v1", "accepted", "x")
		hung.Partition = 1
		if err := rogue.ProduceSync(context.Background(), hung).FirstErr(); err != nil {
			t.Fatalf("ProduceSync: %v", err)
		}
		w.until("named", func() bool { return strings.Contains(fmt.Sprint(r.Ready().Missing), `"rogue"`) })
		if refused.Hits() == 0 {
			t.Error("no end was asked for, want one refused")
		}
		refused.Remove()
		if err := rogue.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
			t.Fatalf("EndTransaction: %v", err)
		}
		w.ready(r)
		w.end(r)
	})
}

// TestLagFromBefore leaves outcomes waiting over a restart: they have waited since then.
func TestLagFromBefore(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		w.Produce(t, outcome("case:route:v1", "accepted", "x"))
		w.caughtUp()
		w.end(r)
		rogue := w.Client(t, kgo.TransactionalID("rogue"), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
		if err := rogue.BeginTransaction(); err != nil {
			t.Fatalf("BeginTransaction: %v", err)
		}
		waits := outcome("case:route:v1", "accepted", "y")
		if err := rogue.ProduceSync(context.Background(), waits).FirstErr(); err != nil {
			t.Fatalf("ProduceSync: %v", err)
		}
		r = w.start(nil, nil)
		lag := func() float64 { return value(t, r.metrics.lagSeconds.WithLabelValues("0")) }
		w.until("lag", func() bool { return lag() > 20 })
		if err := rogue.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
			t.Fatalf("EndTransaction: %v", err)
		}
		w.until("no lag", func() bool { return lag() == 0 })
		w.end(r)
		w.check()
	})
}

// TestAuditOfOutcomesHeldUp has an outcome that nobody can read while a signal of another circuit moves the clock on:
// it is late when it comes, and what is published tells an audit why.
func TestAuditOfOutcomesHeldUp(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		for i := range 3 {
			w.Produce(t, outcome("case:route:v1", "missing_evidence", fmt.Sprint("early", i)))
		}
		w.caughtUp()
		rogue := w.Client(t, kgo.TransactionalID("rogue"), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
			kgo.TransactionTimeout(10*time.Minute))
		if err := rogue.BeginTransaction(); err != nil {
			t.Fatalf("BeginTransaction: %v", err)
		}
		held := outcome("case:route:v1", "accepted", "held")
		if err := rogue.ProduceSync(context.Background(), held).FirstErr(); err != nil {
			t.Fatalf("ProduceSync: %v", err)
		}
		time.Sleep(5 * time.Minute)
		w.Produce(t, signal(schemas.Signal{Type: schemas.Claim, Circuit: "case:other:v1", Holder: "r", Lease: "L"}))
		w.until("it is handled", func() bool {
			return value(t, r.metrics.records.WithLabelValues(topics.Signals, "handled")) == 1
		})
		if err := rogue.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
			t.Fatalf("EndTransaction: %v", err)
		}
		for i := range 20 {
			w.Produce(t, outcome("case:route:v1", "missing_evidence", fmt.Sprint(i)))
		}
		w.caughtUp()
		w.end(r)
		l := w.published()
		l.Backlog = time.Hour
		if want := w.checkLog(l); want.Outcomes[processor.Late] != 1 {
			t.Errorf("outcomes came to %v, want one late", want.Outcomes)
		}
	})
}
