package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const brokerDirVariable = "FUSEBOX_TEST_BROKER_DIR"

// TestBrokerProcess is no test: it is the broker that TestBrokerOutlivesKills kills.
func TestBrokerProcess(t *testing.T) {
	dir := os.Getenv(brokerDirVariable)
	if dir == "" {
		t.Skip("runs only as the process that TestBrokerOutlivesKills starts")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := startBroker(dir, listener, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("listening on %s\n", b.addr)
	_, _ = io.Copy(io.Discard, os.Stdin) // Until the test ends.
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
}

// brokerProcess starts the broker in a process of its own and returns its address once it listens.
func brokerProcess(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBrokerProcess$")
	cmd.Env = append(os.Environ(), brokerDirVariable+"="+dir)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			return cmd, addr
		}
	}
	t.Fatalf("the broker of %s ended before it listened", dir)
	return nil, ""
}

const (
	killGroup      = "killed"
	killPartitions = 8
)

// TestBrokerOutlivesKills commits transactions that write their number to every partition of two topics and to a
// group's offset, kills the broker in the midst of it, again and again, and finds the same number everywhere.
func TestBrokerOutlivesKills(t *testing.T) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("FUSEBOX_TEST_KILLS")); err == nil {
		kills = n
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	dir := filepath.Join(t.TempDir(), "broker")
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*10*time.Second+time.Minute)
	defer cancel()
	next := 1
	for kill := range kills {
		broker, addr := brokerProcess(t, dir)
		acknowledged, found := next-1, settledNumber(ctx, t, addr, kill == 0)
		if found < acknowledged || found > next {
			t.Fatalf("seed %d, kill %d: %d is committed, want %d, or %d whose end was under way",
				seed, kill, found, acknowledged, next)
		}
		next = found + 1
		life := time.Duration(random.IntN(400)) * time.Millisecond
		next = commitUntilKilled(ctx, t, addr, next, broker, life)
	}
}

// settledNumber returns the number that is committed everywhere, and fails where two places differ.
func settledNumber(ctx context.Context, t *testing.T, addr string, fresh bool) int {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if fresh {
		if _, err := admin.CreateTopics(ctx, killPartitions, 1, nil, "a", "b"); err != nil {
			t.Fatal(err)
		}
		return 0
	}
	offsets, err := admin.FetchOffsets(ctx, killGroup)
	if err != nil {
		t.Fatal(err)
	}
	committed, _ := offsets.Lookup("a", 0)
	number := int(max(committed.At, 0))
	for _, topic := range []string{"a", "b"} {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		for partition := range int32(killPartitions) {
			last := 0
			r := partitionReader{client: client, topic: topic, partition: partition}
			err := r.readTo(ctx, ends[topic][partition].Offset, func(record *kgo.Record) {
				got, _ := strconv.Atoi(string(record.Value))
				if got != last+1 {
					t.Errorf("%s, partition %d: %d follows %d", topic, partition, got, last)
				}
				last = got
			})
			if err != nil {
				t.Fatal(err)
			}
			if last != number {
				t.Errorf("%s, partition %d ends with %d, the group's offset is %d", topic, partition, last, number)
			}
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return number
}

// commitUntilKilled commits one transaction after another until the broker has been killed, and returns the number of
// the one that was not acknowledged.
func commitUntilKilled(
	ctx context.Context, t *testing.T, addr string, next int, broker *exec.Cmd, life time.Duration,
) int {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.TransactionalID("killed"), kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RetryTimeout(time.Second),
		kgo.WithLogger(kgo.BasicLogger(io.Discard, kgo.LogLevelNone, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	topicID := topics["a"].ID
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kill := func() {
		_ = broker.Process.Kill()
		cancel()
		client.Close() // Nothing else makes the client give up what it has sent.
	}
	var timer *time.Timer
	for {
		if err := commitNumber(ctx, client, topicID, next); err != nil {
			if ctx.Err() == nil {
				t.Fatalf("commit %d: %v", next, err)
			}
			_ = broker.Wait() // It was killed.
			return next
		}
		next++
		if timer == nil {
			timer = time.AfterFunc(life, kill)
			defer timer.Stop()
		}
	}
}

// commitNumber writes a number to every partition and to the group's offset, in one transaction.
func commitNumber(ctx context.Context, client *kgo.Client, topicID [16]byte, number int) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	var records []*kgo.Record
	for partition := range int32(killPartitions) {
		for _, topic := range []string{"a", "b"} {
			value := strconv.AppendInt(nil, int64(number), 10)
			records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: value})
		}
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	if err := commitOffset(ctx, client, topicID, number); err != nil {
		return err
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}

// commitOffset makes the group's offset part of the transaction.
func commitOffset(ctx context.Context, client *kgo.Client, topicID [16]byte, number int) error {
	id, epoch, err := client.ProducerID(ctx)
	if err != nil {
		return err
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = "killed", id, epoch, killGroup
	added, err := add.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = "killed", id, epoch, killGroup
	commit.Generation = -1
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Offset = int64(number)
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = "a", topicID, append(topic.Partitions, partition)
	commit.Topics = append(commit.Topics, topic)
	committed, err := commit.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	code := committed.Topics[0].Partitions[0].ErrorCode
	return errors.Join(kerr.ErrorForCode(added.ErrorCode), kerr.ErrorForCode(code))
}
