package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

// demoRouter simulates a program that sends calls by the states it sees, judges the answers, and reports what they
// were. When a probe is due it asks for the lease, and tests the route only if it sees itself hold it.
type demoRouter struct {
	name   string
	client *kgo.Client
	topics kafka.Topics
	gate   *demoGate
	story  *story
	script *script

	lease   string    // The id last asked for, "" where none is.
	claimed time.Time // When.
}

// admission is leave for one call.
type admission struct {
	circuit string
	epoch   int64
	lease   string // Of a probe.
}

// claimPatience is how long a router waits for a lease before it asks again.
const claimPatience = time.Second

// run makes a call every demoCallEvery until the context ends.
func (r *demoRouter) run(ctx context.Context) {
	tick := time.NewTicker(demoCallEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			r.call(ctx, r.enter(ctx, now))
		}
	}
}

// enter finds the route for a call: the primary, or while that refuses its fallback.
func (r *demoRouter) enter(ctx context.Context, now time.Time) admission {
	s := r.gate.state(demoPrimary, now)
	switch {
	case s.State == schemas.Closed || s.State == schemas.ForcedClosed || s.State == schemas.Disabled || !s.Enforced:
		r.lease = ""
		return admission{circuit: demoPrimary, epoch: s.Epoch}
	case r.holds(&s):
		a := admission{demoPrimary, s.Epoch, r.lease}
		r.lease = ""
		return a
	case s.ProbeDue(now) || s.State == schemas.HalfOpen && len(s.Leases) < s.Probe.Concurrency:
		r.claim(ctx, now, s.Epoch)
	}
	instead := r.gate.fallback(demoPrimary)
	return admission{circuit: instead, epoch: r.gate.state(instead, now).Epoch}
}

func (r *demoRouter) holds(s *schemas.State) bool {
	return r.lease != "" && slices.ContainsFunc(s.Leases, func(l schemas.Lease) bool { return l.ID == r.lease })
}

// claim asks for the lease on the signals topic. The answer is a state with the lease's id in it, or with another's.
func (r *demoRouter) claim(ctx context.Context, now time.Time, epoch int64) {
	if now.Sub(r.claimed) < claimPatience {
		return
	}
	r.lease, r.claimed = ulid.Make().String(), now
	claim := schemas.Signal{
		Type: schemas.Claim, Circuit: demoPrimary, Holder: r.name, Lease: r.lease, Epoch: epoch, HasEpoch: true,
	}
	r.story.asked(r.name)
	r.send(ctx, r.topics.Signals, demoPrimary, schemas.AppendSignal(nil, &claim))
}

// call makes one call and reports its outcome. A probe takes its time, so that it can be watched.
func (r *demoRouter) call(ctx context.Context, a admission) {
	if a.circuit == "" {
		return // Nowhere to go: a person would do the work.
	}
	if a.lease != "" {
		pause(ctx, 600*time.Millisecond)
	}
	o := r.script.answer(a)
	o.ID, o.Circuit, o.Source, o.Lease = ulid.Make().String(), a.circuit, r.name, a.lease
	o.Time = time.Now().UTC().Truncate(time.Millisecond)
	o.Epoch, o.HasEpoch = a.epoch, true
	if parts := strings.Split(a.circuit, ":"); len(parts) == 3 {
		o.UseCase, o.Route, o.Version = parts[0], parts[1], parts[2]
	}
	if a.circuit != demoPrimary {
		o.FallbackFrom = demoPrimary
	}
	r.story.answered(&o)
	r.send(ctx, r.topics.Outcomes, a.circuit, schemas.AppendOutcome(nil, &o))
}

// send produces without waiting. What is lost when the demo ends is nobody's.
func (r *demoRouter) send(ctx context.Context, topic, circuit string, value []byte) {
	r.client.Produce(ctx, &kgo.Record{Topic: topic, Key: []byte(circuit), Value: value}, nil)
}
