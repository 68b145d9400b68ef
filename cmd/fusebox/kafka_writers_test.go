package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// kcat is a kcat that writes what comes on its stdin.
type kcat struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	said   strings.Builder
	ids    []string // Of what it was given.
	failed error
}

// startKcat starts a kcat that tries until each record is acknowledged, however long that takes.
func startKcat(t testing.TB, brokers []string, topic string) *kcat {
	t.Helper()
	c := &kcat{cmd: exec.CommandContext(t.Context(), "kcat", "-P", "-E", "-b", strings.Join(brokers, ","), "-t", topic,
		"-K", "\t", "-X", "partitioner=consistent_random", "-X", "enable.idempotence=true",
		"-X", "message.timeout.ms=0")}
	c.cmd.Stderr = &c.said
	stdin, err := c.cmd.StdinPipe()
	if err == nil {
		c.stdin = stdin
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatalf("start kcat: %v", err)
	}
	return c
}

func (c *kcat) write(n line) {
	c.ids = append(c.ids, n.id)
	text := n.key + "\t" + n.value + "\n"
	if n.key == "" {
		text = n.value + "\n"
	}
	if _, err := io.WriteString(c.stdin, text); err != nil && c.failed == nil {
		c.failed = fmt.Errorf("write to kcat: %w", err)
	}
}

// end waits until all is written. The error is about all that it was given: what of it was written nobody knows.
func (c *kcat) end() error {
	c.stdin.Close()
	err := c.cmd.Wait()
	if err == nil {
		err = c.failed
	}
	if err == nil && strings.Contains(c.said.String(), "Delivery failed") {
		err = errUndelivered
	}
	if err != nil {
		text := c.said.String()
		return fmt.Errorf("%w: %s", err, text[max(0, len(text)-1000):])
	}
	return nil
}

// transaction is a few outcomes that are written together.
type transaction struct {
	lines  []line
	commit bool
}

// writeAtomically lets a few outcomes be written in one transaction, which commits or not, unless one is under way.
func (l *load) writeAtomically() {
	n := transaction{commit: l.rng.IntN(4) > 0}
	for range 4 {
		n.lines = append(n.lines, l.line(l.plain(l.circuit())))
	}
	select {
	case l.transactions <- n:
	default:
	}
}

// runTransactions writes transactions, one at a time. After one that failed nobody knows what the client still holds,
// so another takes its place, which ends what is open.
func (l *load) runTransactions() {
	var client *kgo.Client
	for n := range l.transactions {
		if client == nil {
			client = l.f.Client(l.f.t, kgo.TransactionalID(l.f.group+"-load"), kgo.TransactionTimeout(transactionLimit))
		}
		if n.commit {
			for _, line := range n.lines {
				l.note(line.id)
			}
		}
		err := n.write(client)
		if err != nil {
			client.Close()
			client = nil
		}
		for _, line := range n.lines {
			if n.commit || err != nil {
				l.settle(line.id, err)
			}
		}
	}
}

// transactionLimit is how long a transaction of the load may last.
const transactionLimit = 10 * time.Second

func (n transaction) write(client *kgo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*transactionLimit)
	defer cancel()
	if err := client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	var records []*kgo.Record
	for _, line := range n.lines {
		records = append(records, line.record())
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("produce in a transaction: %w", err)
	}
	if err := client.EndTransaction(ctx, kgo.TransactionEndTry(n.commit)); err != nil {
		return fmt.Errorf("end a transaction: %w", err)
	}
	return nil
}
