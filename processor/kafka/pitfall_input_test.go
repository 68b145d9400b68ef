//go:build synctests

package kafka

import (
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

// The rows of the table of known traps that concern what is read, each by its number.

// TestPitfall05LogStartMoved deletes outcomes before they are read: between two lives, and while a worker waits for
// them. It goes on behind them, counts how many were lost, and counts all others once.
func TestPitfall05LogStartMoved(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		const circuit = "case:route:v1"
		send := func(n int, kind string) {
			for i := range n {
				w.Produce(t, outcome(circuit, kind, fmt.Sprint(kind, i)))
			}
		}
		lost := func(r *process, want int) {
			w.until("lost and said so", func() bool { return value(t, r.metrics.lost) == float64(want) })
		}
		first := w.start(nil, nil)
		w.ready(first)
		send(1, schemas.Accepted)
		w.caughtUp()
		w.end(first)
		send(3, schemas.InvalidContract)
		w.deleteTo(topics.Outcomes, 3) // Two that nobody has read, beside the one that was handled.
		second := w.start(nil, nil)
		lost(second, 2)
		w.caughtUp()
		blocked := w.fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Fetch}, Topic: topics.Outcomes, Err: kerr.NotLeaderForPartition, Count: -1,
		})
		send(5, schemas.PolicyRejection)
		w.deleteTo(topics.Outcomes, 7)
		blocked.Remove()
		lost(second, 2+3)
		send(2, schemas.MissingEvidence)
		st := w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open })
		if st.Cause.Throughput != 4 {
			t.Errorf("it opened at %d outcomes, want the four that are left", st.Cause.Throughput)
		}
		w.end(second)
	})
}

// deleteTo moves the start of the only partition of a topic.
func (w *world) deleteTo(topic string, offset int64) {
	w.t.Helper()
	if err := w.fake.DeleteRecords(topic, 0, offset); err != nil {
		w.t.Fatalf("DeleteRecords(%s, %d): %v", topic, offset, err)
	}
}

// TestPitfall05LogEndsTooEarly lets a topic end before what was handled of it, as after an election that lost records:
// the partition does not start, in place of counting some of them twice, and says which topic it is.
func TestPitfall05LogEndsTooEarly(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		w.end(first)
		z := w.zombie()
		z.handles(1000)
		z.writesProgress()
		z.ends(kgo.TryCommit)
		second := w.start(nil, nil)
		w.until("refused", func() bool {
			missing := fmt.Sprint(second.Ready().Missing)
			return strings.Contains(missing, topics.Outcomes+"/0 ends at offset 5") &&
				strings.Contains(missing, errLost.Error())
		})
		w.end(second)
	})
}

// TestPitfall06And08OpenOffsets lets a zombie hold offsets of the group in a transaction that is open. A restore waits
// for its end, and reads all that it left in the changelog, written after the restore began.
func TestPitfall06And08OpenOffsets(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		w.end(first)
		again := w.start(nil, nil) // It leaves a store that stands at the very end of the changelog.
		w.ready(again)
		w.end(again)
		w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "by the zombie"))
		z := w.zombie()
		z.handles(z.base.Outcomes.Next + 1)
		second := w.start(nil, nil)
		time.Sleep(5 * time.Second)
		if r := second.Ready(); !r.Joined || r.Ready || r.Partitions[0].Phase != restoring.String() {
			t.Errorf("%+v while offsets of the group are not settled, want it to wait", r)
		}
		z.writesProgress()
		z.ends(kgo.TryCommit)
		w.ready(second)
		w.caughtUp()
		if strings.Contains(w.log.String(), "partition does not start") {
			t.Error("the partition did not start at first: its changelog was not read far enough")
		}
		if got := value(t, second.metrics.records.WithLabelValues(topics.Outcomes, "handled")); got != 0 {
			t.Errorf("%v outcomes were handled again, want none", got)
		}
		w.end(second)
	})
}

// zombie is a writer of another process that commits offsets of the group and a progress record.
type zombie struct {
	*world
	client *kgo.Client
	base   progress
}

// zombie begins a transaction on top of what is committed.
func (w *world) zombie() *zombie {
	w.t.Helper()
	z := &zombie{world: w, client: w.Client(w.t, kgo.TransactionalID("zombie"), kgo.TransactionTimeout(time.Minute),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))}
	for _, r := range w.ReadCommitted(w.t, topics.Changelog) {
		if string(r.Key) == progressKey {
			var err error
			if z.base, err = readProgress(r.Value); err != nil {
				w.t.Fatalf("readProgress: %v", err)
			}
		}
	}
	if err := z.client.BeginTransaction(); err != nil {
		w.t.Fatalf("BeginTransaction: %v", err)
	}
	return z
}

// handles commits, in the open transaction, that the outcomes are handled up to an offset.
func (z *zombie) handles(outcomes int64) {
	z.t.Helper()
	ctx := z.t.Context()
	z.base.Outcomes.Next, z.base.Number, z.base.Writer = outcomes, z.base.Number+1, "zombie"
	id, epoch, err := z.client.ProducerID(ctx)
	if err != nil {
		z.t.Fatalf("ProducerID: %v", err)
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = "zombie", id, epoch, group
	added, err := add.RequestWith(ctx, z.client)
	if err == nil {
		err = kerr.ErrorForCode(added.ErrorCode)
	}
	if err != nil {
		z.t.Fatalf("AddOffsetsToTxn: %v", err)
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = "zombie", id, epoch, group
	commit.Topics = z.offsets()
	done, err := commit.RequestWith(ctx, z.client)
	if err != nil {
		z.t.Fatalf("TxnOffsetCommit: %v", err)
	}
	for _, topic := range done.Topics {
		if err := kerr.ErrorForCode(topic.Partitions[0].ErrorCode); err != nil {
			z.t.Fatalf("TxnOffsetCommit: %v", err)
		}
	}
}

// offsets is what a worker would commit.
func (z *zombie) offsets() []kmsg.TxnOffsetCommitRequestTopic {
	z.t.Helper()
	found, err := kadm.NewClient(z.client).Metadata(z.t.Context(), topics.Outcomes, topics.Signals)
	if err != nil {
		z.t.Fatalf("Metadata: %v", err)
	}
	ids := map[string]kadm.TopicID{}
	for name, topic := range found.Topics {
		ids[name] = topic.ID
	}
	k := &cluster{topics: topics, layout: layout{rawIDs: ids}}
	w := &worker{loop: &Loop{config: Config{Topics: topics}, cluster: k}}
	return w.offsetsOf([]publication{{pair: &pair{}, next: z.base}})
}

func (z *zombie) writesProgress() {
	z.t.Helper()
	r := &kgo.Record{Topic: topics.Changelog, Key: []byte(progressKey), Value: z.base.append(nil)}
	if err := z.client.ProduceSync(z.t.Context(), r).FirstErr(); err != nil {
		z.t.Fatalf("ProduceSync: %v", err)
	}
}

func (z *zombie) ends(how kgo.TransactionEndTry) {
	z.t.Helper()
	if err := z.client.EndTransaction(z.t.Context(), how); err != nil {
		z.t.Fatalf("EndTransaction: %v", err)
	}
}

// TestPitfall08AbortedAtTheEnd restores from a changelog that ends with records of an aborted transaction: they are not
// read, and the restore does not wait for a record of its last offset, which nobody is shown.
func TestPitfall08AbortedAtTheEnd(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		w.end(first)
		z := w.zombie()
		z.base.Outcomes.Next = 2
		z.writesProgress()
		z.ends(kgo.TryAbort)
		w.dir = t.TempDir()
		began := time.Now()
		second := w.start(nil, nil)
		w.ready(second)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v to restore", took)
		}
		w.produceAll(1, 5, waves)
		w.caughtUp()
		w.end(second)
		w.check()
	})
}
