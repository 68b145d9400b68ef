package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestHungTransaction kills a lone broker right after it has said that a transaction of a producer is committed. One
// that starts again then does not always write the markers that are missing, and nobody reads past that transaction.
// Fusebox must say who holds what since when, and go on by itself once an operator has ended it. Where the race does
// not give such a transaction, a producer that does not end its own does.
func TestHungTransaction(t *testing.T) {
	k := kafkatest.Start(t)
	f := install(t, k, "hung", loadPolicies)
	a := f.run("a", 2)
	a.awaitReady("")
	l := newLoad(f, rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)))
	hung := f.hangByKill(l)
	if len(hung) == 0 {
		t.Log("no transaction hangs: a producer leaves its own open")
		hung = f.hang(l)
	}
	t.Logf("hung: %+v", hung)
	f.Produce(t, l.more(300)...)

	for _, o := range hung {
		words := fmt.Sprintf("outcomes from offset %d on cannot be read: an open transaction is held by "+
			"transactional id %q", o.From, "hung-producer")
		f.until("the holder named in the report", func() (bool, string) {
			status, body := a.get("/readyz?verbose")
			return status == 503 && strings.Contains(body, words), body
		})
	}
	f.until("the holder named in the log", func() (bool, string) {
		text := a.text()
		return strings.Contains(text, `outcomes cannot be read: a transaction is open`) &&
			strings.Contains(text, `held by`) && strings.Contains(text, `hung-producer`), text
	})
	for _, o := range hung {
		k.EndOpen(t, o, true)
	}
	a.awaitReady("")
	f.awaitCaughtUp()
	a.stop()
	l.compare(t, f.check())
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
		if hung := f.hangers(); len(hung) > 0 {
			return hung
		}
	}
	return nil
}

// hang leaves a transaction open, for as long as a broker allows.
func (f *installation) hang(l *load) []kafkatest.OpenTransaction {
	f.transaction(l, func(*kgo.Client) error { return nil })
	return f.hangers()
}

// transaction writes outcomes in one transaction, which is to be committed.
func (f *installation) transaction(l *load, end func(*kgo.Client) error) {
	t := f.t
	t.Helper()
	client := f.Client(t, kgo.TransactionalID("hung-producer"), kgo.TransactionTimeout(10*time.Minute))
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

// hangers returns the open transactions of the outcomes that are still there after a while.
func (f *installation) hangers() []kafkatest.OpenTransaction {
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
