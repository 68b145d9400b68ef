package kafkatest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

func TestBrokerComesBackAfterKill(t *testing.T) {
	k := kafkatest.Start(t)
	b := k.Brokers[0]
	k.Create(t, 3, nil, "in")
	k.Produce(t, &kgo.Record{Topic: "in", Value: []byte("before")})

	b.Kill(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := k.Client(t).Ping(ctx); err == nil {
		t.Errorf("Ping of a killed broker = nil, want an error")
	}
	b.Start(t)
	k.WaitReady(t)
	k.Produce(t, &kgo.Record{Topic: "in", Value: []byte("after")})
	if got := len(k.ReadCommitted(t, "in")); got != 2 {
		t.Errorf("ReadCommitted returns %d records, want 2", got)
	}

	b.Pause(t)
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := k.Client(t).Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ping of a paused broker = %v, want %v", err, context.DeadlineExceeded)
	}
	b.Unpause(t)
	k.WaitReady(t)
}
