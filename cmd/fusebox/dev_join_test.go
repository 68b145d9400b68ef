package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestDevIsJoined starts a processor beside that of `fusebox dev`, while outcomes come that wait for the commit
// interval: it gets to work, though the broker gives out no offsets of the group while a transaction is open.
func TestDevIsJoined(t *testing.T) {
	c, faults := readConfig(nil)
	if faults != nil {
		t.Fatal(faults)
	}
	c.Brokers, c.DataDir = kafkatest.NewLoopback(t).ListenAddrs(), filepath.Join(t.TempDir(), "store")
	c.Workers, c.CommitInterval = 1, 2*time.Second
	d := &dev{out: io.Discard, errOut: io.Discard, log: slog.New(slog.DiscardHandler)}
	if err := d.createTopics(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(c.clientOpts()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	second := c
	second.InstanceID, second.DataDir = "second", filepath.Join(t.TempDir(), "store")
	loop, err := kafka.New(second.processor(breaker.Builtin(), d.log, prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		if err := d.work(ctx, c, breaker.Builtin(), web); ctx.Err() == nil {
			t.Errorf("dev ends: %v", err)
		}
	})
	wg.Go(func() { produceOften(ctx, client, c.topics().Outcomes) })
	admin, until := kadm.NewClient(client), time.Now().Add(patience)
	for {
		if offsets, err := admin.FetchOffsets(ctx, c.Group); err == nil && len(offsets) > 0 {
			break // The first works.
		}
		pause(ctx, 10*time.Millisecond)
	}
	wg.Go(func() {
		if err := loop.Run(ctx); err != nil {
			t.Errorf("the second: %v", err)
		}
	})
	for r := loop.Ready(); !r.Ready || len(r.Partitions) == 0; r = loop.Ready() {
		if time.Now().After(until) {
			t.Fatalf("the second has no partition: %v", r.Missing)
		}
		pause(ctx, 10*time.Millisecond)
	}
}

// produceOften writes outcomes of good calls until the context ends.
func produceOften(ctx context.Context, client *kgo.Client, topic string) {
	for n := 0; ctx.Err() == nil; n++ {
		o := schemas.Outcome{Circuit: fmt.Sprintf("case:%d:v1", n%32), Kind: schemas.Accepted, Count: 1}
		client.Produce(ctx, &kgo.Record{
			Topic: topic, Key: []byte(o.Circuit), Value: schemas.AppendOutcome(nil, &o),
		}, nil)
		pause(ctx, 5*time.Millisecond)
	}
}
