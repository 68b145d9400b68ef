package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestHungTransaction leaves transactions open that keep records from being read. Fusebox must say who holds what since
// when, and go on by itself once an operator has ended them.
func TestHungTransaction(t *testing.T) {
	t.Parallel()
	k := kafkatest.Start(t)
	f := install(t, k, "hung", loadPolicies)
	a := f.run("a", 2)
	a.awaitReady("")
	l := newLoad(f, rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)))
	testHungOutcomes(t, f, a, l)
	testHungStart(t, f, a)
	f.Produce(t, l.more(100)...)
	f.awaitCaughtUp()
	a.stop()
	l.compare(t, f.check())
}

// testHungOutcomes kills a lone broker right after it has said that a transaction of a producer is committed. One that
// starts again then does not always write the markers that are missing, or only after a while: what still hangs has to
// be named. Then a producer leaves a transaction open for certain.
func testHungOutcomes(t *testing.T, f *installation, a *runner, l *load) {
	killed := f.hangByKill(l)
	f.Produce(t, l.more(300)...)
	t.Logf("open after the broker was killed: %+v, named %d", killed, a.awaitHolders(killed))
	for _, o := range killed {
		if f.isOpen(o) {
			f.EndOpen(t, o, true)
		}
	}
	f.transaction(l, func(*kgo.Client) error { return nil })
	left := f.hanging()
	if len(left) == 0 {
		t.Fatal("a producer left a transaction open, and none is")
	}
	f.Produce(t, l.more(300)...)
	if named := a.awaitHolders(left); named != len(left) {
		t.Errorf("%d of %d open transactions named", named, len(left))
	}
	for _, o := range left {
		f.EndOpen(t, o, true)
	}
	a.awaitReady("")
}

// awaitHolders waits until each transaction is named or has ended by itself, and returns how many were named.
func (r *runner) awaitHolders(hung []kafkatest.OpenTransaction) (named int) {
	for _, o := range hung {
		report := fmt.Sprintf(`outcomes from offset %d on cannot be read: an open transaction is held by `+
			`transactional id %q \(\w+\), producer %d since offset %d, which it last wrote to at 20`,
			o.From, hangingID, o.ProducerID, o.From)
		ended := func() bool { return !r.f.isOpen(o) }
		if r.awaitHolder(report, "outcomes cannot be read: a transaction is open", ended) {
			named++
		}
	}
	return named
}

// testHungStart leaves a transaction open that a process which starts has to wait for: with offsets of the group, and
// with a record in the changelog, as the process's own would have.
func testHungStart(t *testing.T, f *installation, a *runner) {
	a.stop()
	f.hangMemory()
	a.start()
	for _, topic := range []string{"__consumer_offsets", f.topics.Changelog} {
		hung := f.OpenTransactions(t, topic)
		if len(hung) != 1 {
			t.Fatalf("open transactions of %s: %+v, want 1", topic, hung)
		}
		words := map[string][2]string{
			"__consumer_offsets": {"the group's offsets are not to be had: an open transaction in " +
				fmt.Sprintf("__consumer_offsets/%d", hung[0].Partition), "could change the group's offsets"},
			f.topics.Changelog: {"the changelog cannot be read beyond offset .*: an open transaction",
				"restore stands still: a transaction is open"},
		}[topic]
		never := func() bool { return false }
		a.awaitHolder(words[0]+fmt.Sprintf(` is held by transactional id %q`, hangingID), words[1], never)
		f.EndOpen(t, hung[0], false)
	}
	a.awaitReady("")
}

// hangingID is the transactional id of the producer that holds things up.
const hangingID = "hanging-producer"

// awaitHolder waits until the instance is not ready and its report says who holds what, and its log too. It tells
// whether that came before the transaction ended.
func (r *runner) awaitHolder(report, line string, ended func() bool) (named bool) {
	r.f.t.Helper()
	want := regexp.MustCompile(report)
	r.f.until("the holder named in the report", func() (bool, string) {
		status, body := r.get("/readyz?verbose")
		named = status == http.StatusServiceUnavailable && want.MatchString(body)
		return named || ended(), body + "\nwant " + report
	})
	logged := regexp.MustCompile(regexp.QuoteMeta(line) + `.*held by.*` + hangingID)
	if text := r.text(); named && !logged.MatchString(text) {
		r.f.t.Errorf("the log does not say %q with the holder", line)
	}
	return named
}

// isOpen tells whether a transaction of the outcomes is open.
func (f *installation) isOpen(o kafkatest.OpenTransaction) bool {
	return slices.Contains(f.OpenTransactions(f.t, f.topics.Outcomes), o)
}

// hangMemory leaves a transaction open that has a record in the changelog and offsets of the group, which is empty.
func (f *installation) hangMemory() {
	t := f.t
	t.Helper()
	client := f.Client(t, kgo.TransactionalID(hangingID), kgo.TransactionTimeout(10*time.Minute),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	err := client.BeginTransaction()
	if err == nil {
		err = client.ProduceSync(t.Context(), &kgo.Record{Topic: f.topics.Changelog, Key: []byte("x")}).FirstErr()
	}
	if err != nil {
		t.Fatalf("write to the changelog: %v", err)
	}
	id, epoch, err := client.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = hangingID, id, epoch, f.group
	added, err := add.RequestWith(t.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(added.ErrorCode)
	}
	if err != nil {
		t.Fatalf("add offsets to a transaction: %v", err)
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = hangingID, id, epoch, f.group
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = f.topics.Outcomes
	topic.Partitions = append(topic.Partitions, kmsg.NewTxnOffsetCommitRequestTopicPartition())
	commit.Topics = append(commit.Topics, topic)
	committed, err := commit.RequestWith(t.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(committed.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("commit offsets in a transaction: %v", err)
	}
}

// hangs is how often the broker is killed for a transaction that hangs.
const hangs = 3

// hangByKill kills the broker right behind the end of a transaction, up to a few times, and returns what hangs.
func (f *installation) hangByKill(l *load) []kafkatest.OpenTransaction {
	broker := f.Brokers[0]
	for range hangs {
		kill, err := broker.Killer(f.t)
		if err != nil {
			f.t.Logf("the broker is not killed: %v", err)
			return nil
		}
		f.transaction(l, func(client *kgo.Client) error {
			err := client.EndTransaction(f.t.Context(), kgo.TryCommit)
			kill()
			return err
		})
		broker.Start(f.t)
		f.WaitReady(f.t)
		if hung := f.hanging(); len(hung) > 0 {
			return hung
		}
	}
	return nil
}

// transaction writes outcomes in one transaction, which is to be committed.
func (f *installation) transaction(l *load, end func(*kgo.Client) error) {
	t := f.t
	t.Helper()
	client := f.Client(t, kgo.TransactionalID(hangingID), kgo.TransactionTimeout(10*time.Minute))
	err := client.BeginTransaction()
	if err == nil {
		err = client.ProduceSync(t.Context(), l.more(60)...).FirstErr()
	}
	if err == nil {
		err = end(client)
	}
	if err != nil {
		t.Fatalf("write a transaction: %v", err)
	}
}

// hanging returns the open transactions of the outcomes that are still there after a while.
func (f *installation) hanging() []kafkatest.OpenTransaction {
	first := f.OpenTransactions(f.t, f.topics.Outcomes)
	pause(f.t.Context(), 2*time.Second)
	second := f.OpenTransactions(f.t, f.topics.Outcomes)
	var still []kafkatest.OpenTransaction
	for _, o := range second {
		for _, before := range first {
			if before == o {
				still = append(still, o)
			}
		}
	}
	return still
}
