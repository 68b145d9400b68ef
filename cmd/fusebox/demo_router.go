package main

import (
	"context"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// demoRouter simulates a program that asks its gate before each call, judges the answers, and reports what they were.
type demoRouter struct {
	name   string
	gate   *client.Gate
	story  *story
	script *script
}

// run makes a call every demoCallEvery until the context ends.
func (r *demoRouter) run(ctx context.Context) {
	tick := time.NewTicker(demoCallEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			r.call(ctx, now)
		}
	}
}

// call makes one call through the primary, or while that refuses through its fallback. A probe takes its time, so that
// it can be watched.
func (r *demoRouter) call(ctx context.Context, now time.Time) {
	if state := r.gate.State(demoPrimary); state.ProbeDue(now) {
		r.story.asked(r.name)
	}
	lease, err := r.gate.Enter(ctx, demoPrimary)
	from := ""
	if err != nil {
		from = demoPrimary
		if lease, err = r.gate.Enter(ctx, demoFallback(r.gate)); err != nil {
			return // Nowhere to go: a person would do the work.
		}
	}
	probe := lease.ID() != ""
	if probe {
		pause(ctx, 600*time.Millisecond)
	}
	o := r.script.answer(lease.Circuit(), probe)
	o.FallbackFrom = from
	r.story.answered(lease.Circuit(), probe, &o)
	_ = lease.Report(o) // What is lost when the demo ends is nobody's.
}

// demoFallback returns where a call goes while the primary refuses, "" where there is nothing.
func demoFallback(gate *client.Gate) string {
	route := schemas.RouteOf(gate.Routes(), demoPrimary)
	if route == nil {
		return ""
	}
	state := gate.State(demoPrimary)
	if next := route.Next(&state.State); len(next) > 0 {
		return next[0]
	}
	return ""
}
