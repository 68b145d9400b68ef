package client

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/puzpuzpuz/xsync/v4"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// LocalGate is a Breaker in one process, without Kafka: the same policies, judged by the same core. It starts no
// goroutine and is safe for many. What it knows ends with it.
type LocalGate struct {
	began    time.Time
	seed     maphash.Seed
	shards   [localShards]localShard
	records  *xsync.Map[string, *localRecord]
	policies atomic.Pointer[breaker.Policies]
	known    atomic.Int64  // Circuits in all shards.
	calls    atomic.Uint64 // That came to a ramp: by their number it chooses.
	closed   atomic.Bool
	watchers watchers

	reloading sync.Mutex // One Reload at a time.
}

// localShard is a part of the circuits.
type localShard struct {
	mu        sync.Mutex // Guards what follows, and the order of the circuits' records.
	partition *processor.Partition
	outcome   schemas.Outcome // Of the step at hand: here it need not be allocated.
	offset    int64           // Of the newest input.
	sweep     time.Time       // When to look for idle circuits again.
}

// localRecord is the newest record of a circuit. It never changes.
type localRecord struct {
	schemas.State
	admits bool // Whatever the time: see State.AdmitsAlways.
}

const (
	localShards = 32
	localRouter = "local" // The holder of all leases.

	// LocalCircuits is how many circuits a LocalGate knows at once. Further ones are admitted and not judged, and
	// Report says so.
	LocalCircuits = 100_000

	sweepEvery = time.Minute
	sweepLimit = 1000 // Circuits that one sweep of a shard forgets.
)

// Local returns a Breaker for one process that judges by these policies; nil is the built-in one, failure-ratio.
func Local(policies *breaker.Policies) *LocalGate {
	policies = cmp.Or(policies, breaker.Builtin())
	g := &LocalGate{
		began: time.Now(), seed: maphash.MakeSeed(), records: xsync.NewMap[string, *localRecord](),
	}
	g.policies.Store(policies)
	for i := range g.shards {
		g.shards[i].partition = processor.New(policies)
	}
	return g
}

// Enter admits a call to a circuit, or returns a *RefusedError. It never waits: where a probe is due, the first call
// has its lease at once.
func (g *LocalGate) Enter(_ context.Context, circuit string) (Lease, error) {
	if g.closed.Load() {
		return Lease{}, ErrClosed
	}
	r, ok := g.records.Load(circuit)
	if !ok {
		if err := schemas.CheckCircuit(circuit); err != nil {
			return Lease{}, err
		}
		return Lease{circuit: circuit, sink: g}, nil
	}
	if r.admits {
		return Lease{circuit: circuit, epoch: r.Epoch, sink: g}, nil
	}
	at := g.now()
	s := r.At(at)
	switch admission, retry := s.Admission(at, localRouter, g.calls.Add(1)); admission {
	case schemas.Admits:
		g.settle(r, s)
		return Lease{circuit: circuit, epoch: s.Epoch, sink: g}, nil
	case schemas.Refuses:
		return Lease{}, refused(&s, at, retry)
	default:
		return g.claim(circuit)
	}
}

// settle puts what a record has come to in its place, where all calls are admitted from now on: a ramp is over.
func (g *LocalGate) settle(r *localRecord, now schemas.State) {
	if !now.AdmitsAlways() {
		return
	}
	g.records.Compute(r.Circuit, func(newest *localRecord, _ bool) (*localRecord, xsync.ComputeOp) {
		if newest != r {
			return newest, xsync.CancelOp
		}
		return newLocalRecord(now), xsync.UpdateOp
	})
}

// claim asks for the lease of a probe. Of several callers at once one gets it; the others find the circuit tested by
// then.
func (g *LocalGate) claim(circuit string) (Lease, error) {
	shard := g.shard(circuit)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	at := g.now()
	s, _ := shard.partition.State(circuit, at)
	claim := schemas.Signal{
		Type: schemas.Claim, Circuit: circuit, Holder: localRouter, Lease: ulid.Make().String(),
		Epoch: s.Epoch, HasEpoch: true,
	}
	result := g.step(shard, at, processor.Input{Signal: &claim})
	s, _ = shard.partition.State(circuit, at)
	if l := leaseOf(&s, claim.Lease); result.Granted && l != nil {
		right := &probe{id: l.ID, deadline: l.ExpiresAt}
		return Lease{circuit: circuit, epoch: s.Epoch, sink: g, probe: right}, nil
	}
	admission, retry := s.Admission(at, localRouter, g.calls.Add(1))
	if admission == schemas.Admits {
		return Lease{circuit: circuit, epoch: s.Epoch, sink: g}, nil
	}
	if retry.IsZero() && s.State != schemas.ForcedOpen {
		retry = at.Add(g.policies.Load().For(circuit).HalfOpen.Lease)
	}
	return Lease{}, refused(&s, at, retry)
}

// State returns a circuit as it is now. It has no side effect: who asks claims nothing.
func (g *LocalGate) State(circuit string) State {
	r, ok := g.records.Load(circuit)
	if !ok {
		return State{State: schemas.State{Circuit: circuit, Enforced: true}}
	}
	at := g.now()
	s := r.At(at)
	return State{State: s, Known: true, RetryAfter: retryAfter(&s, at)}
}

// Routes returns the routes of the policies in force.
func (g *LocalGate) Routes() []schemas.Route { return g.policies.Load().Routes }

// Policies returns the policies in force.
func (g *LocalGate) Policies() *breaker.Policies { return g.policies.Load() }

// Reload puts other policies in force; nil is the built-in one. States, epochs and leases stay, and so does what a rule
// has counted that is the same in both.
func (g *LocalGate) Reload(policies *breaker.Policies) {
	policies = cmp.Or(policies, breaker.Builtin())
	g.reloading.Lock()
	defer g.reloading.Unlock()
	g.policies.Store(policies)
	for i := range g.shards {
		g.reload(&g.shards[i], policies)
	}
}

func (g *LocalGate) reload(shard *localShard, policies *breaker.Policies) {
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.partition.Advance(g.now())
	moved := shard.partition.Reload(policies, schemas.Inputs{})
	for name := range shard.partition.Changes() { // Whether it is enforced may be another word now, without a record.
		if s, ok := shard.partition.State(name, time.Time{}); ok {
			g.records.Store(name, newLocalRecord(s))
		}
	}
	shard.partition.Commit()
	g.publish(moved)
}

// Override puts an operator's word in force at once: schemas.ForceOpen, ForceClosed or Disable until the ttl is over,
// where it is not 0, or until Clear; Reset closes the circuit and forgets how often it opened. Actor and reason are
// wanted; they are shown to whoever is refused.
func (g *LocalGate) Override(circuit string, mode schemas.Mode, actor, reason string, ttl time.Duration) error {
	word := schemas.Signal{
		Type: schemas.Override, Circuit: circuit, Mode: mode, Actor: actor, Reason: reason, TTL: ttl,
	}
	word, err := schemas.DecodeSignal(nil, schemas.AppendSignal(nil, &word)) // As strict as on the wire.
	if err != nil {
		return err
	}
	shard := g.shard(circuit)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	g.step(shard, g.now(), processor.Input{Signal: &word})
	return nil
}

// Close ends what Changes yields. Leases are dead afterwards, and nothing is admitted any more.
func (g *LocalGate) Close() error {
	g.closed.Store(true)
	g.watchers.close()
	return nil
}

func (g *LocalGate) report(l Lease, o Outcome) error {
	if g.closed.Load() {
		return ErrClosed
	}
	record, err := o.record(&l)
	if err != nil {
		g.back(l, false)
		return err
	}
	shard := g.shard(l.circuit)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.outcome = record
	if g.step(shard, g.now(), processor.Input{Outcome: &shard.outcome}).Why == processor.OverLimit {
		return fmt.Errorf("circuit %s is not judged: %d are known, the most there may be", l.circuit, LocalCircuits)
	}
	return knows(g.policies.Load(), record.Kind)
}

func (g *LocalGate) release(l Lease, unused bool) error {
	if g.closed.Load() {
		return ErrClosed
	}
	g.back(l, unused)
	return nil
}

// back takes the lease of a probe back. Nobody knows of a call through a closed circuit.
func (g *LocalGate) back(l Lease, unused bool) {
	if l.probe == nil {
		return
	}
	signal := schemas.Signal{Type: schemas.Release, Circuit: l.circuit, Lease: l.probe.id, Unused: unused}
	shard := g.shard(l.circuit)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	g.step(shard, g.now(), processor.Input{Signal: &signal})
}

// step lets the core handle one input. Its caller holds the shard.
func (g *LocalGate) step(shard *localShard, at time.Time, in processor.Input) processor.Result {
	shard.offset++
	in.Trigger = schemas.Trigger{Topic: localRouter, Offset: shard.offset}
	in.Full = g.known.Load() >= LocalCircuits
	result := shard.partition.Step(at, in)
	g.known.Add(int64(result.Known))
	if result.Known < 0 {
		g.records.Delete(result.Circuit)
	}
	g.publish(result.States)
	if !at.Before(shard.sweep) {
		shard.sweep = at.Add(sweepEvery)
		for _, name := range shard.partition.Sweep(sweepLimit) {
			g.known.Add(-1)
			g.records.Delete(name)
		}
	}
	shard.partition.Commit()
	return result
}

// publish makes records those that Enter reads. Its caller holds the shard of their circuits.
func (g *LocalGate) publish(states []schemas.State) {
	for _, s := range states {
		g.records.Store(s.Circuit, newLocalRecord(s))
		g.watchers.tell(s)
	}
}

// now returns the time. It goes on as the process does, and does not jump where somebody sets the clock.
func (g *LocalGate) now() time.Time {
	return g.began.Round(0).UTC().Add(time.Since(g.began)).Truncate(time.Millisecond)
}

func (g *LocalGate) shard(circuit string) *localShard {
	return &g.shards[maphash.String(g.seed, circuit)%localShards]
}

func newLocalRecord(s schemas.State) *localRecord { return &localRecord{s, s.AdmitsAlways()} }
