package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// demoGate is what a router knows: the newest state of each circuit, and the route chains.
type demoGate struct {
	known chan struct{} // Closed once the policies in force have been seen.

	mu     sync.Mutex // Guards what follows.
	states map[string]schemas.State
	routes []schemas.Route
}

func newDemoGate() *demoGate {
	return &demoGate{known: make(chan struct{}), states: make(map[string]schemas.State)}
}

// ready waits until a processor has published the policies: from then on routers know where to go.
func (g *demoGate) ready(ctx context.Context) error {
	select {
	case <-g.known:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// follow takes in every record of the state topic and tells the story of it. It returns at the context's end, or with
// the first error.
func (g *demoGate) follow(ctx context.Context, client *kgo.Client, story *story, script *script) error {
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("follow %s, partition %d: %w", errs[0].Topic, errs[0].Partition, errs[0].Err)
		}
		for r := range fetches.RecordsAll() {
			before, s, ok := g.take(r)
			if !ok {
				continue
			}
			if script.heed(time.Now(), &s) {
				story.tell(&before, &s, g.fallback(s.Circuit))
			}
		}
	}
}

// take takes one record in. It returns the circuit's state before and after, where the record is a newer one.
func (g *demoGate) take(r *kgo.Record) (before, after schemas.State, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := string(r.Key)
	switch {
	case key == schemas.PoliciesKey:
		p, err := schemas.DecodePolicies(r.Value)
		if err == nil && g.routes == nil {
			close(g.known)
		}
		if err == nil {
			g.routes = append(p.Routes[:0:0], p.Routes...)
			if g.routes == nil {
				g.routes = []schemas.Route{}
			}
		}
		return before, after, false
	case key[0] == 0 || r.Value == nil:
		return before, after, false
	}
	after, err := schemas.DecodeState(r.Value)
	before, seen := g.states[key]
	if err != nil || seen && !after.Newer(&before) {
		return before, after, false
	}
	g.states[key] = after
	return before, after, true
}

// state returns a circuit's state as it is now. One that nobody has heard of is closed at epoch 0.
func (g *demoGate) state(circuit string, now time.Time) schemas.State {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.states[circuit]
	if !ok {
		return schemas.State{Circuit: circuit, Enforced: true}
	}
	return s.At(now)
}

// fallback returns where a call goes while a circuit refuses, "" where there is nothing.
func (g *demoGate) fallback(circuit string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	route := routeOf(g.routes, circuit)
	if route == nil {
		return ""
	}
	s := g.states[circuit]
	s.Circuit = circuit
	if next := fallbackOf(route, &s); len(next) > 0 {
		return next[0]
	}
	return ""
}
