//go:build synctests

package kafka

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestAbortIsOne aborts a transaction whose partitions the client does not know, as it may be for a moment behind its
// first records (here it was told to forget them), of brokers with transaction.version 1: the client would say that it
// is done and ask nobody, and what comes next would be in the same transaction.
func TestAbortIsOne(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.lowerTransactions()
		client := w.Client(t, kgo.TransactionalID("aborts"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		one := &worker{client: client}
		one.publisher.reset()
		if err := one.beginTransaction(); err != nil {
			t.Fatal(err)
		}
		client.Produce(t.Context(), &kgo.Record{Topic: topics.Changelog, Key: []byte("aborted")}, one.publisher.promise)
		if err := one.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		client.PurgeTopicsFromClient(topics.Changelog)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := one.endAbort(ctx); err != nil {
			return // The session begins anew.
		}
		if err := one.beginTransaction(); err != nil {
			t.Fatal(err)
		}
		next := &kgo.Record{Topic: topics.Changelog, Key: []byte("next")}
		if err := client.ProduceSync(t.Context(), next).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := client.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		for _, r := range w.ReadCommitted(t, topics.Changelog) {
			t.Errorf("%s is committed", r.Key)
		}
	})
}

// TestEpochWithinATransaction has a broker forget the producer of a quiet partition, as it says, behind offsets that
// were taken: the client takes a new epoch by itself, which aborts what the transaction had so far, and would commit
// the records without the offsets.
func TestEpochWithinATransaction(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "w"))
		w.caughtUp()
		var armed, taken, done atomic.Bool
		w.fake.ControlKey(int16(kmsg.TxnOffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.fake.KeepControl()
			if len(r.(*kmsg.TxnOffsetCommitRequest).Topics) == 2 && armed.Load() {
				taken.Store(true)
			}
			return nil, nil, false
		})
		w.fake.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.fake.KeepControl()
			request := r.(*kmsg.ProduceRequest)
			if request.TransactionID == nil || !armed.Load() || done.Swap(true) {
				return nil, nil, false
			}
			w.fake.SleepControl(func() {
				for !taken.Load() {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(10 * time.Millisecond)
			})
			response := request.ResponseKind().(*kmsg.ProduceResponse)
			for _, asked := range request.Topics {
				topic := kmsg.NewProduceResponseTopic()
				topic.Topic, topic.TopicID = asked.Topic, asked.TopicID
				for _, p := range asked.Partitions {
					partition := kmsg.NewProduceResponseTopicPartition()
					partition.Partition, partition.ErrorCode = p.Partition, kerr.UnknownProducerID.Code
					partition.LogStartOffset = 1 << 30
					topic.Partitions = append(topic.Partitions, partition)
				}
				response.Topics = append(response.Topics, topic)
			}
			return response, nil, true
		})
		armed.Store(true)
		w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "x"))
		w.until("refused", done.Load)
		time.Sleep(300 * time.Millisecond)
		repair := w.openRepair()
		for _, s := range w.standings(repair) {
			if s.Relation != Agrees {
				t.Errorf("partition %d %s: %s", s.Partition, s.Relation, s.Says)
			}
		}
		w.caughtUp()
		w.end(r)
		w.check()
	})
}
