package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

// router is a program that does as the states tell: it asks for the probe of a circuit that is due, and answers on the
// lease that it sees itself hold, now and then too late or not at all.
type router struct {
	*ledger
	topics kafka.Topics
	name   string
	rng    *rand.Rand
	client *kgo.Client // Follows the states, and writes.

	states  map[string]schemas.State
	asked   map[string]time.Time // When it last asked, by circuit.
	held    map[string]bool      // Leases that it has seen itself hold.
	answers []answer
	number  int

	stop  context.CancelFunc
	ended chan struct{}
}

// answer is the result of a probe, to be written at its time.
type answer struct {
	at      time.Time
	outcome schemas.Outcome
	release bool // The call was never made.
}

// startRouter starts a router, which works until end, or the end of the test.
func startRouter(f *installation, name string, l *ledger, rng *rand.Rand) *router {
	ctx, stop := context.WithCancel(f.t.Context())
	r := &router{
		ledger: l, topics: f.topics, name: name, rng: rng,
		client: f.Client(f.t, kgo.ConsumeTopics(f.topics.State), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.FetchMaxWait(250*time.Millisecond)),
		states: map[string]schemas.State{}, asked: map[string]time.Time{}, held: map[string]bool{},
		stop: stop, ended: make(chan struct{}),
	}
	go r.run(ctx)
	f.t.Cleanup(func() {
		stop()
		<-r.ended
	})
	return r
}

// end stops the router and waits until all that it wrote is acknowledged.
func (r *router) end(f *installation) {
	f.t.Helper()
	r.stop()
	<-r.ended
	if err := r.client.Flush(f.t.Context()); err != nil {
		f.t.Fatalf("flush what %s wrote: %v", r.name, err)
	}
}

func (r *router) run(ctx context.Context) {
	defer close(r.ended)
	for ctx.Err() == nil {
		poll, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		fetches := r.client.PollFetches(poll)
		cancel()
		for record := range fetches.RecordsAll() {
			r.take(record)
		}
		r.act(time.Now().UTC())
	}
}

// take takes in a state, where it is newer than what is known.
func (r *router) take(record *kgo.Record) {
	circuit := string(record.Key)
	if strings.HasPrefix(circuit, "\x00") {
		return
	}
	if record.Value == nil {
		delete(r.states, circuit)
		return
	}
	state, err := schemas.DecodeState(record.Value)
	before, known := r.states[circuit]
	if err != nil || known && !state.Newer(&before) {
		return
	}
	r.states[circuit] = state
	for _, lease := range state.Leases {
		if lease.Holder == r.name && !r.held[lease.ID] {
			r.held[lease.ID] = true
			r.probe(circuit, lease)
		}
	}
}

// probe makes the call of a lease, and decides what comes of it.
func (r *router) probe(circuit string, lease schemas.Lease) {
	r.number++
	a := answer{at: time.Now().Add(time.Duration(r.rng.IntN(400)) * time.Millisecond)}
	a.outcome = schemas.Outcome{
		ID: fmt.Sprintf("%s-%d", r.name, r.number), Circuit: circuit, Kind: schemas.Accepted, Count: 1, Lease: lease.ID,
	}
	switch r.rng.IntN(10) {
	case 0:
		return // It died.
	case 1:
		a.at = lease.ExpiresAt.Add(500 * time.Millisecond)
	case 2:
		a.release = true
	case 3, 4:
		a.outcome.Kind = "transport_failure"
	}
	r.answers = append(r.answers, a)
}

// act writes the answers that are due, and asks for the probes that are.
func (r *router) act(now time.Time) {
	waiting := r.answers[:0]
	for _, a := range r.answers {
		if now.Before(a.at) {
			waiting = append(waiting, a)
			continue
		}
		r.answer(&a)
	}
	r.answers = waiting
	for circuit, state := range r.states {
		s := state.At(now)
		free := s.State == schemas.HalfOpen && len(s.Leases) < s.Probe.Concurrency
		if !s.ProbeDue(now) && !free || now.Sub(r.asked[circuit]) < time.Second {
			continue
		}
		r.asked[circuit] = now
		r.number++
		r.signal(&schemas.Signal{
			Type: schemas.Claim, Circuit: circuit, Holder: r.name, Lease: fmt.Sprintf("%s-%d", r.name, r.number),
			Epoch: s.Epoch, HasEpoch: true,
		})
	}
}

func (r *router) answer(a *answer) {
	if a.release {
		r.signal(&schemas.Signal{
			Type: schemas.Release, Circuit: a.outcome.Circuit, Lease: a.outcome.Lease, Unused: true,
		})
		return
	}
	r.note(a.outcome.ID)
	r.write(r.topics.Outcomes, a.outcome.Circuit, a.outcome.ID, schemas.AppendOutcome(nil, &a.outcome))
}

func (r *router) signal(s *schemas.Signal) {
	r.write(r.topics.Signals, s.Circuit, "", schemas.AppendSignal(nil, s))
}

func (r *router) write(topic, circuit, id string, value []byte) {
	record := &kgo.Record{Topic: topic, Key: []byte(circuit), Value: value}
	r.client.Produce(context.Background(), record, func(_ *kgo.Record, err error) { r.settle(id, err) })
}
