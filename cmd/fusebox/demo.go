package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/client"
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

// runDemo simulates producers and routers, each with a gate of its own, until the context ends, and tells what happens,
// a line an event.
func runDemo(ctx context.Context, out io.Writer, topics kafka.Topics, opts []kgo.Opt) error {
	fmt.Fprintf(out, "%d routers make %d calls a second; Ctrl-C stops it\n\n",
		len(demoRouters), time.Duration(len(demoRouters))*time.Second/demoCallEvery)
	story, script := newStory(out), newScript(time.Now())
	var routers []*demoRouter
	for _, name := range demoRouters {
		gate, err := client.Open(ctx, client.Config{
			Router: name, Kafka: opts, Log: slog.New(slog.DiscardHandler),
			Topics: client.Topics{Outcomes: topics.Outcomes, Signals: topics.Signals, State: topics.State},
		})
		if err != nil {
			return fmt.Errorf("open the gate of %s: %w", name, err)
		}
		defer gate.Close()
		routers = append(routers, &demoRouter{name: name, gate: gate, story: story, script: script})
	}
	gate := routers[0].gate
	for gate.Routes() == nil && ctx.Err() == nil { // Until a processor has published its policies.
		pause(ctx, 20*time.Millisecond)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { tellChanges(ctx, gate, story, script) })
	for _, r := range routers {
		wg.Go(func() { r.run(ctx) })
	}
	story.run(ctx, gate, script)
	return context.Cause(ctx)
}

// tellChanges tells the story of every record of the primary.
func tellChanges(ctx context.Context, gate *client.Gate, story *story, script *script) {
	before := gate.State(demoPrimary).State
	for after := range gate.Changes(ctx) {
		if script.heed(time.Now(), &after) {
			story.tell(&before, &after, demoFallback(gate))
			before = after
		}
	}
}
