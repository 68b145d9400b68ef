//go:build synctests

package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// simRouter is one router of the fifty.
type simRouter struct {
	*fifty
	name string
	gate *client.Gate
	line *kafkatest.Line
	rng  *rand.Rand
}

// route is the life of a router, and of those that come in the place of one that died.
func (f *fifty) route(n int) {
	rng := f.rng(uint64(n))
	for life := 0; !f.over.Load(); life++ {
		r := &simRouter{fifty: f, name: fmt.Sprintf("r%d-%d", n, life), rng: rng, line: f.Line()}
		if r.gate = f.join(r.name, r.line); r.gate == nil {
			return
		}
		for !f.over.Load() && r.call() {
			time.Sleep(time.Duration(100+rng.IntN(700)) * time.Millisecond)
		}
		if !f.over.Load() {
			f.mu.Lock()
			f.gates = slices.DeleteFunc(f.gates, func(g *client.Gate) bool { return g == r.gate })
			f.mu.Unlock()
			r.gate.Close()
			f.took("a router died")
		}
	}
}

// call enters a circuit and makes its call, and tells whether the router lives on.
func (r *simRouter) call() bool {
	healing := time.Since(r.began) > simLength
	if !healing && r.rng.IntN(150) == 0 {
		r.loseBrokers()
	}
	c := r.rng.IntN(simCircuits)
	before := r.gate.State(circuitName(c))
	lease, err := r.gate.Enter(context.Background(), circuitName(c))
	at := time.Now()
	after := r.gate.State(circuitName(c))
	r.consistent(before, after, &lease, err)
	if err != nil {
		return true
	}
	a := admission{
		router: r.name, circuit: lease.Circuit(), lease: lease.ID(), epoch: lease.Epoch(),
		at: at, until: lease.Deadline(),
	}
	alive := true
	if lease.ID() == "" || healing {
		r.answers(c, &lease, time.Duration(10+r.rng.IntN(400))*time.Millisecond)
	} else {
		alive = r.probes(c, &lease)
	}
	if now := time.Now(); now.Before(a.until) && alive {
		a.until = now
	}
	r.holds(a)
	return alive
}

func (r *simRouter) holds(a admission) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.admissions = append(r.admissions, a)
}

// consistent compares what a call was told with what its gate knew right before and after.
func (r *simRouter) consistent(before, after client.State, l *client.Lease, err error) {
	var refused *client.RefusedError
	switch {
	case err != nil && !errors.As(err, &refused):
		r.t.Errorf("Enter of %s = %v, want a lease or a refusal", r.name, err)
	case err != nil && refused.RetryAfter < 0:
		r.t.Errorf("Enter of %s = retry after %v", r.name, refused.RetryAfter)
	case err != nil:
		r.took("a call was refused")
	case l.Epoch() < before.Epoch || l.Epoch() > after.Epoch:
		r.t.Errorf("%s is admitted to %s at epoch %d, when its gate knew %d and then %d",
			r.name, l.Circuit(), l.Epoch(), before.Epoch, after.Epoch)
	case l.ID() == "" && before.Sequence == after.Sequence && before.State.State != schemas.Closed:
		r.t.Errorf("%s is let through %s, which its gate knew to be %v", r.name, l.Circuit(), before.State.State)
	}
}

// answers makes a call of that length, and reports.
func (r *simRouter) answers(circuit int, l *client.Lease, length time.Duration) {
	time.Sleep(length)
	o := client.Outcome{Kind: client.Accepted, Latency: length}
	if !r.good(circuit) {
		o.Kind = client.MissingEvidence
	}
	if err := l.Report(o); err != nil && !errors.Is(err, client.ErrQueueFull) {
		r.t.Errorf("Report of %s: %v", r.name, err)
	}
}

// probes makes the call that tests a route, or fails to, and tells whether the router lives on.
func (r *simRouter) probes(circuit int, l *client.Lease) bool {
	if again, err := r.gate.Enter(context.Background(), l.Circuit()); err == nil {
		r.holds(admission{
			router: r.name, circuit: again.Circuit(), lease: again.ID(), epoch: again.Epoch(),
			at: time.Now(), until: time.Now(),
		})
		_ = again.Unused()
	}
	switch r.rng.IntN(10) {
	case 0:
		r.line.Cut()
		return false
	case 1:
		r.took("a prober hung")
		r.answers(circuit, l, 2*simLease)
	case 2:
		r.took("a prober answered late")
		r.answers(circuit, l, simLease-50*time.Millisecond+time.Duration(r.rng.IntN(100))*time.Millisecond)
	case 3:
		r.took("a prober claimed twice")
		r.claim(l, r.name, l.ID())
		r.claim(l, "somebody", l.ID())
		r.claim(l, r.name, l.ID()+"-again")
		r.answers(circuit, l, time.Second)
	case 4:
		r.took("a probe was given back")
		if err := []func() error{l.Release, l.Unused}[r.rng.IntN(2)](); err != nil {
			r.t.Errorf("give back: %v", err)
		}
	default:
		r.took("a prober answered")
		r.answers(circuit, l, time.Duration(10+r.rng.IntN(1000))*time.Millisecond)
	}
	return true
}

// claim sends a claim beside the gate.
func (r *simRouter) claim(l *client.Lease, holder, id string) {
	s := schemas.Signal{
		Type: schemas.Claim, Circuit: l.Circuit(), Holder: holder, Lease: id, Epoch: l.Epoch(), HasEpoch: true,
	}
	r.Produce(r.t, &kgo.Record{
		Topic: topics.Signals, Key: []byte(l.Circuit()), Value: schemas.AppendSignal(nil, &s),
	})
}

// loseBrokers takes the brokers away from a router for a while. It goes on meanwhile.
func (r *simRouter) loseBrokers() {
	r.took("a router lost the brokers")
	from, length := time.Now(), time.Duration(1+r.rng.IntN(20))*time.Second
	line := r.line
	line.Hold()
	r.routers.Go(func() {
		time.Sleep(length)
		line.Release()
		line.Reset()
		time.Sleep(6 * time.Second)
		r.trouble(r.name, from)
	})
}
