package kafkatest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestThree does to a cluster of three all that it is for, and looks whether clients notice.
func TestThree(t *testing.T) {
	k := kafkatest.StartThree(t)
	k.Create(t, 1, nil, "in")
	k.WaitInSync(t)
	leader := leaderOf(t, k)
	b := k.Brokers[leader-1]
	alone := kgo.SeedBrokers(b.Addr)
	ping := func(limit time.Duration) (time.Duration, error) {
		client := k.Client(t, alone)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		began := time.Now()
		err := client.Ping(ctx)
		return time.Since(began), err
	}

	fast := b.Slow(t, 500*time.Millisecond, 0)
	if took, err := ping(30 * time.Second); err != nil || took < 500*time.Millisecond {
		t.Errorf("Ping of a slow broker = %v after %v, want none after 500 ms or more", err, took)
	}
	fast()
	speak := b.Silence(t)
	if _, err := ping(time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ping of a silent broker = %v, want %v", err, context.DeadlineExceeded)
	}
	speak()
	if _, err := ping(30 * time.Second); err != nil {
		t.Errorf("Ping of a broker that is silent no more = %v, want none", err)
	}

	b.CutOff(t)
	if _, err := ping(30 * time.Second); err != nil {
		t.Errorf("Ping of a broker that is cut off from the others = %v, want none", err)
	}
	k.Produce(t, &kgo.Record{Topic: "in", Value: []byte("x")}) // Needs two in sync, so another leads now.
	for began := time.Now(); leaderOf(t, k) == leader; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > time.Minute { // The broker that is cut off knows nothing of it for a while.
			t.Fatalf("broker %d leads still, want another", leader)
		}
	}
	b.Rejoin(t)
	k.WaitInSync(t)

	kill, err := b.Killer(t)
	if err != nil {
		t.Skip(err)
	}
	kill()
	if _, err := ping(time.Second); err == nil {
		t.Errorf("Ping of a killed broker = nil, want an error")
	}
	k.Produce(t, &kgo.Record{Topic: "in", Value: []byte("y")})
	if got := len(k.ReadCommitted(t, "in")); got != 2 {
		t.Errorf("ReadCommitted without a broker returns %d records, want 2", got)
	}
}

// leaderOf returns the node that leads the one partition of the topic, as the brokers see it that are not cut off. One
// that has just started may not know the topic yet.
func leaderOf(t *testing.T, k *kafkatest.Kafka) int32 {
	t.Helper()
	admin := kadm.NewClient(k.Client(t))
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		found, err := admin.Metadata(t.Context(), "in")
		if err == nil && len(found.Topics["in"].Partitions) == 1 {
			return found.Topics["in"].Partitions[0].Leader
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("look for the leader: %v: %v", found.Topics, err)
		}
	}
}
