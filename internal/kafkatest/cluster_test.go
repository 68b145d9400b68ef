//go:build synctests

package kafkatest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// copier is a session that copies topic in to topic out.
type copier struct {
	*kgo.GroupTransactSession
}

func newCopier(t *testing.T, e kafkatest.Endpoint, id string) *copier {
	t.Helper()
	session, err := kgo.NewGroupTransactSession(e.Opts(
		kgo.ClientID(id),
		kgo.TransactionalID(id),
		kgo.TransactionTimeout(10*time.Second),
		kgo.ConsumerGroup("copiers"),
		kgo.ConsumeTopics("in"),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(500*time.Millisecond),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		t.Fatalf("new session %s: %v", id, err)
	}
	t.Cleanup(session.Close)
	return &copier{session}
}

// copyOnce copies what one poll returns in one transaction, and returns the answer of End and how many records it was
// about. It ends the transaction with the context given.
func (c *copier) copyOnce(t *testing.T, ctx context.Context) (committed bool, n int, err error) {
	t.Helper()
	fetches := c.PollFetches(ctx)
	if ctx.Err() != nil {
		t.Fatalf("poll: %v", ctx.Err())
	}
	if err := c.Begin(); err != nil {
		t.Fatalf("begin: %v", err)
	}
	fetches.EachRecord(func(r *kgo.Record) {
		n++
		c.Produce(ctx, &kgo.Record{Topic: "out", Key: r.Key, Value: r.Value}, nil)
	})
	committed, err = c.End(ctx, kgo.TryCommit)
	return committed, n, err
}

// numbered returns records with a key and a value of their number.
func numbered(topic string, n int) []*kgo.Record {
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Key: fmt.Append(nil, i), Value: fmt.Append(nil, i)}
	}
	return records
}

// checkCopied fails the test unless topic out holds the numbers below n once each.
func checkCopied(t *testing.T, e kafkatest.Endpoint, n int) {
	t.Helper()
	times := make(map[string]int)
	for _, r := range e.ReadCommitted(t, "out") {
		times[string(r.Value)]++
	}
	for i := range n {
		if got := times[fmt.Sprint(i)]; got != 1 {
			t.Errorf("record %d is there %d times, want once", i, got)
		}
	}
	if len(times) != n {
		t.Errorf("%d different records are there, want %d", len(times), n)
	}
}

// inBubble runs a test on a cluster with topics in and out.
func inBubble(t *testing.T, test func(t *testing.T, c *kafkatest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := kafkatest.New(t)
		c.Create(t, 3, nil, "in", "out")
		test(t, c)
	})
}

func TestSessionInVirtualTime(t *testing.T) {
	began := time.Now()
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		session := newCopier(t, c.Endpoint, "a")
		for round := range 3 {
			time.Sleep(time.Hour)
			c.Produce(t, numbered("in", 100)...)
			for copied := 0; copied < 100; {
				committed, n, err := session.copyOnce(t, t.Context())
				if !committed || err != nil {
					t.Fatalf("round %d: End(commit) = %v, %v, want true", round, committed, err)
				}
				copied += n
			}
		}
		c.WaitCaughtUp(t, "copiers", "in")
		if got := len(c.ReadCommitted(t, "out")); got != 300 {
			t.Errorf("ReadCommitted returns %d records, want 300", got)
		}
	})
	if took := time.Since(began); took > time.Hour {
		t.Errorf("three hours of virtual time took %v", took)
	}
}

func TestCaughtUpBehindMarker(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		producer := c.Client(t, kgo.TransactionalID("writer"))
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := producer.ProduceSync(t.Context(), numbered("in", 1)...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := producer.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		if _, n, err := newCopier(t, c.Endpoint, "a").copyOnce(t, t.Context()); n != 1 || err != nil {
			t.Fatalf("copied %d records, %v, want 1", n, err)
		}
		c.WaitCaughtUp(t, "copiers", "in")
	})
}

// TestCaughtUpOfNothing: brokers answer -1 for a partition of which the first commit is pending.
func TestCaughtUpOfNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		offsets := kadm.Offsets{}
		offsets.AddOffset("in", 0, -1, -1)
		if err := kadm.NewClient(c.Client(t)).CommitAllOffsets(t.Context(), "copiers", offsets); err != nil {
			t.Fatal(err)
		}
		c.WaitCaughtUp(t, "copiers", "in")
	})
}

func TestUncommittedIsNotRead(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		c.Produce(t, numbered("in", 10)...)
		session := newCopier(t, c.Endpoint, "a")
		fetches := session.PollFetches(t.Context())
		if err := session.Begin(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			session.Produce(t.Context(), &kgo.Record{Topic: "out", Key: r.Key, Value: r.Value}, nil)
		})
		if err := session.Client().Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(c.ReadCommitted(t, "out")); got != 0 {
			t.Errorf("ReadCommitted in an open transaction returns %d records, want none", got)
		}
		if _, err := session.End(t.Context(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
		if got := len(c.ReadCommitted(t, "out")); got != 0 {
			t.Errorf("ReadCommitted after an abort returns %d records, want none", got)
		}
	})
}

func TestEndTakesEffectAndIsAnsweredWithAnError(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		c.Produce(t, numbered("in", 1)...)
		spoiled := c.FailEnd(t, kafkatest.EndFault{TxnID: "a", Err: kerr.UnknownServerError})
		session := newCopier(t, c.Endpoint, "a")
		if committed, _, _ := session.copyOnce(t, t.Context()); committed {
			t.Errorf("End(commit) = true, want a commit that the client does not know of")
		}
		if got := spoiled(); got != 1 {
			t.Errorf("spoiled %d requests, want 1", got)
		}
		checkCopied(t, c.Endpoint, 1)
		c.WaitCaughtUp(t, "copiers", "in")
	})
}

func TestEndRefusedTakesNoEffect(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		c.Produce(t, numbered("in", 1)...)
		c.FailEnd(t, kafkatest.EndFault{Lost: true, Err: kerr.UnknownServerError})
		session := newCopier(t, c.Endpoint, "a")
		if committed, _, _ := session.copyOnce(t, t.Context()); committed {
			t.Errorf("End(commit) = true, want false")
		}
		if got := len(c.ReadCommitted(t, "out")); got != 0 {
			t.Errorf("ReadCommitted returns %d records, want none", got)
		}
	})
}

func TestEndOnBrokenConnectionIsAskedAgain(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("request lost %v", lost), func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
				session := newCopier(t, c.Endpoint, "a")
				for n := range 2 {
					// The client takes a connection that breaks at its first request for a refused login,
					// and does not ask again: so the first commit is a good one.
					spoiled := func() int { return n }
					if n == 1 {
						spoiled = c.FailEnd(t, kafkatest.EndFault{Lost: lost})
					}
					c.Produce(t, &kgo.Record{Topic: "in", Value: fmt.Append(nil, n)})
					if committed, _, err := session.copyOnce(t, t.Context()); !committed || err != nil {
						t.Errorf("End(commit) %d = %v, %v, want true", n, committed, err)
					}
					if got := spoiled(); got != n {
						t.Errorf("spoiled %d requests, want %d", got, n)
					}
				}
				checkCopied(t, c.Endpoint, 2)
			})
		})
	}
}

func TestEndOnConnectionsThatBreakTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		c.Produce(t, numbered("in", 1)...)
		spoiled := c.FailEnd(t, kafkatest.EndFault{Times: 2})
		session := newCopier(t, c.Endpoint, "a")
		if committed, _, _ := session.copyOnce(t, t.Context()); committed {
			t.Errorf("End(commit) = true, want a commit that the client does not know of")
		}
		if got := spoiled(); got != 2 {
			t.Errorf("spoiled %d requests, want 2", got)
		}
		checkCopied(t, c.Endpoint, 1)
	})
}

func TestProduceFails(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		fault := c.FailProduce("out", kerr.MessageTooLarge, 1)
		client := c.Client(t)
		err := client.ProduceSync(t.Context(), numbered("out", 1)...).FirstErr()
		if !errors.Is(err, kerr.MessageTooLarge) {
			t.Errorf("produce = %v, want %v", err, kerr.MessageTooLarge)
		}
		if got := fault.Hits(); got != 1 {
			t.Errorf("hits %d, want 1", got)
		}
		c.Produce(t, numbered("out", 1)...)
		checkCopied(t, c.Endpoint, 1)
	})
}

func TestEvictedMemberDoesNotCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		c.Produce(t, numbered("in", 1)...)
		session := newCopier(t, c.Endpoint, "a")
		fetches := session.PollFetches(t.Context())
		if err := session.Begin(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			session.Produce(t.Context(), &kgo.Record{Topic: "out", Key: r.Key, Value: r.Value}, nil)
		})
		c.Evict(t, "copiers", "a")
		if committed, err := session.End(t.Context(), kgo.TryCommit); committed {
			t.Errorf("End(commit) of an evicted member = %v, %v, want false", committed, err)
		}
		for copied := 0; copied < 1; {
			committed, n, err := session.copyOnce(t, t.Context())
			if err != nil {
				t.Fatalf("End(commit) after it joined again: %v", err)
			}
			if committed {
				copied += n
			}
		}
		checkCopied(t, c.Endpoint, 1)
	})
}

func TestFencedProducerCannotCommit(t *testing.T) {
	inBubble(t, func(t *testing.T, c *kafkatest.Cluster) {
		c.Produce(t, numbered("in", 1)...)
		session := newCopier(t, c.Endpoint, "a")
		fetches := session.PollFetches(t.Context())
		if err := session.Begin(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			session.Produce(t.Context(), &kgo.Record{Topic: "out", Key: r.Key, Value: r.Value}, nil)
		})
		if err := session.Client().Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Fence(t, "a")
		if committed, err := session.End(t.Context(), kgo.TryCommit); committed {
			t.Errorf("End(commit) of a fenced producer = true, %v, want false", err)
		}
		if got := len(c.ReadCommitted(t, "out")); got != 0 {
			t.Errorf("ReadCommitted returns %d records, want none", got)
		}
	})
}
