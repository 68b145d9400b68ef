//go:build synctests

package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestAbortsShow makes transactions fail: the processor is not ready after three in a row, says why, and is ready again
// after a commit.
func TestAbortsShow(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		said := func() bool {
			why := "transactions were aborted: publish to " + topics.Changelog
			return strings.Contains(fmt.Sprint(r.Ready().Missing), why)
		}
		w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "w"))
		w.caughtUp()
		w.fake.FailProduce(topics.Changelog, kerr.MessageTooLarge, abortLimit-1)
		w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "x"))
		w.until("said", said)
		w.ready(r)
		w.caughtUp()
		if strings.Contains(w.log.String(), "session begins anew") {
			t.Error("the session began anew")
		}
		fault := w.fake.FailProduce(topics.Changelog, kerr.MessageTooLarge, -1)
		w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "y"))
		w.until("said", said)
		for range 200 { // New sessions do not hide it.
			time.Sleep(100 * time.Millisecond)
			if !said() || r.Ready().Ready {
				t.Fatalf("Ready = %+v while no transaction commits", r.Ready())
			}
		}
		fault.Remove()
		w.ready(r)
		w.caughtUp()
		w.end(r)
	})
}

// TestAbortsGoWithThePartition makes the transactions of a process fail until the group gives its only partition to
// another one: what has nothing to commit is ready.
func TestAbortsGoWithThePartition(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		fault := w.fake.FailProduce(topics.Changelog, kerr.MessageTooLarge, -1)
		w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "x"))
		w.until("said", func() bool { return strings.Contains(fmt.Sprint(first.Ready().Missing), "does not get on") })
		second := w.start(func(c *Config) { c.Instance, c.DataDir = "b", t.TempDir() }, nil)
		w.until("another member", func() bool { return second.Ready().Joined })
		w.fake.Evict(t, group, "fusebox-a-0")
		w.until("handed over", func() bool { return second.status.pairs() == 1 && first.status.pairs() == 0 })
		fault.Remove()
		w.ready(second)
		w.until("ready", func() bool { return first.Ready().Ready })
		w.caughtUp()
		w.end(second)
		w.end(first)
	})
}

// TestCommitIsNoAbort asks to commit where the client does not know the partition that was written to, as it may be for
// a moment behind its first records: it would abort, and return no error.
func TestCommitIsNoAbort(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		client := w.Client(t, kgo.TransactionalID("commits"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		record := &kgo.Record{Topic: topics.Changelog, Key: []byte("k")}
		all := []written{{topic: topics.Changelog}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := endCommit(ctx, client, all); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("endCommit = %v before the client knows the partition, want that the time is over", err)
		}
		if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := endCommit(t.Context(), client, all); err != nil {
			t.Errorf("endCommit = %v", err)
		}
		if n := len(w.ReadCommitted(t, topics.Changelog)); n != 1 {
			t.Errorf("%d records are committed, want 1", n)
		}
	})
}
