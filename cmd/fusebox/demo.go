package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/kafka"
)

// demoPolicy is what the demo is judged by unless a policy file is named.
//
//go:embed demo_policy.yaml
var demoPolicy []byte

const (
	demoUseCase = "submission-extraction"
	demoPrimary = "submission-extraction:gpt-primary:v4"

	demoCallEvery = 150 * time.Millisecond // Of one router: three of them make 20 calls a second.
)

var demoRouters = []string{"router-1", "router-2", "router-3"}

// runDemo simulates producers and routers, as Kafka clients like any others, until the context ends, and tells what
// happens, a line an event.
func runDemo(ctx context.Context, out io.Writer, topics kafka.Topics, opts []kgo.Opt) error {
	client, err := kgo.NewClient(append(opts, kgo.ProducerLinger(5*time.Millisecond),
		kgo.ConsumeTopics(topics.State), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(250*time.Millisecond))...)
	if err != nil {
		return fmt.Errorf("make the demo's Kafka client: %w", err)
	}
	defer client.Close()
	fmt.Fprintf(out, "%d routers make %d calls a second; Ctrl-C stops it\n\n",
		len(demoRouters), time.Duration(len(demoRouters))*time.Second/demoCallEvery)
	gate, story, script := newDemoGate(), newStory(out), newScript(time.Now())

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { cancel(gate.follow(ctx, client, story, script)) })
	if err := gate.ready(ctx); err != nil {
		return err
	}
	for _, name := range demoRouters {
		r := &demoRouter{name: name, client: client, topics: topics, gate: gate, story: story, script: script}
		wg.Go(func() { r.run(ctx) })
	}
	story.run(ctx, gate, script)
	return context.Cause(ctx)
}
