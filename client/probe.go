package client

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/fusebox-project/fusebox/schemas"
)

const (
	claimSpread = 100 * time.Millisecond // Over which routers spread their claims, once a probe is to be had.
	sameClaims  = 8                      // Claims with one id.
	mostAsked   = 16                     // Ids that may still be granted.
	claimRest   = 10 * time.Second       // Most time between claims that nobody answers.
)

// prober is what a gate does to probe one circuit: it claims one lease at a time, and keeps those that were granted
// when nobody waited any more.
type prober struct {
	gate    *Gate
	circuit string

	mu      sync.Mutex    // Guards what follows.
	came    time.Time     // When the newest record came.
	waiting chan struct{} // Of the one call that waits for its claim; nil where none does. A record pokes it.
	ends    time.Time     // When that one gives up.
	rests   time.Time     // No claim before, as nobody answered.
	asked   []string      // The leases that were claimed, the newest last, until it is granted.
	epoch   int64         // Under which they were claimed.
	claims  int           // That were not answered since the newest record.
	spares  []*spare
}

// spare is a lease that was granted, and that no call has taken yet.
type spare struct {
	id   string
	back *time.Timer // Gives it back.
}

// prober returns what probes the circuit.
func (g *Gate) prober(circuit string, s *slot) *prober {
	if p := s.prober.Load(); p != nil {
		return p
	}
	s.prober.CompareAndSwap(nil, &prober{gate: g, circuit: circuit})
	return s.prober.Load()
}

// claim asks for the lease of a probe and waits for it.
func (e *entry) claim(ctx context.Context) (Lease, error) {
	if ctx.Err() != nil {
		return Lease{}, fmt.Errorf("enter %s: %w", e.circuit, context.Cause(ctx))
	}
	g := e.gate
	p := g.prober(e.circuit, e.slot)
	now := time.Now()
	poke, rests := p.begin(now, g.config.ProbeWait)
	if poke == nil {
		return e.answer(Lease{}, refused(&e.state, now, rests))
	}
	lease, err := e.await(ctx, p, poke)
	p.end(time.Now(), g.config.ProbeWait, lease.sink != nil)
	return lease, err
}

// await sends the claim when it is this router's turn, and waits for the answer. It goes by this machine's clock: the
// processor's, where that is ahead, stands still between two heartbeats.
func (e *entry) await(ctx context.Context, p *prober, poke <-chan struct{}) (Lease, error) {
	g, began := e.gate, time.Now()
	end := began.Add(g.config.ProbeWait)
	turn := began.Add(e.turn(p).Sub(e.now))
	timer := time.NewTimer(g.config.ProbeWait)
	defer timer.Stop()
	for sent := false; ; {
		lease, refusal := e.decide()
		if refusal != nil || lease.sink != nil {
			return e.answer(lease, refusal)
		}
		now, next := time.Now(), end
		if !sent && !now.Before(turn) {
			sent = true
			g.sendClaim(p, &e.state)
		}
		if !now.Before(end) {
			return e.answer(Lease{}, refused(&e.state, now, now.Add(g.config.ProbeWait)))
		}
		if !sent && turn.Before(end) {
			next = turn
		}
		timer.Reset(next.Sub(now))
		select {
		case <-poke:
		case <-timer.C:
		case <-ctx.Done():
			return Lease{}, fmt.Errorf("enter %s: %w", e.circuit, context.Cause(ctx))
		case <-g.done:
			return Lease{}, fmt.Errorf("enter %s: %w", e.circuit, ErrClosed)
		}
	}
}

// begin makes the caller the one that claims, unless another does or it is too early: then it returns nil, and when to
// come back.
func (p *prober) begin(now time.Time, wait time.Duration) (poke chan struct{}, rests time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.waiting != nil:
		return nil, p.ends
	case now.Before(p.rests):
		return nil, p.rests
	}
	p.waiting, p.ends = make(chan struct{}, 1), now.Add(wait)
	return p.waiting, p.ends
}

// end lets others claim: at once where there was an answer, and later and later where there was none.
func (p *prober) end(now time.Time, wait time.Duration, granted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = nil
	if p.claims > 0 && !granted {
		rest := min(wait<<min(p.claims-1, 10), claimRest)
		p.rests = now.Add(rest/2 + rand.N(rest/2+1))
	}
}

// turn returns when this router may claim: a little after a probe came to be had, by a record, the end of the break or
// that of a lease, each router at another time.
func (e *entry) turn(p *prober) time.Time {
	p.mu.Lock()
	since := p.came
	p.mu.Unlock()
	s := &e.state
	if since.Before(s.RetryAt) {
		since = s.RetryAt
	}
	if seen := e.slot.state.Load(); seen != nil {
		for _, l := range seen.Leases {
			if since.Before(l.ExpiresAt) && !e.now.Before(l.ExpiresAt) {
				since = l.ExpiresAt
			}
		}
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%d\x00%d", e.gate.config.Router, s.Circuit, s.Epoch, s.Sequence)
	return since.Add(time.Duration(h.Sum64() % uint64(claimSpread)))
}

// ask returns the id of the lease to claim. It is the same one while nobody answers, so that claims that are all
// answered in the end are granted one lease; a new one now and then, should an answer have been lost. Whichever of
// them is granted is this router's.
func (p *prober) ask(epoch int64) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoch != epoch {
		p.asked, p.epoch = nil, epoch
	}
	if len(p.asked) == 0 || p.claims > 0 && p.claims%sameClaims == 0 {
		p.asked = append(p.asked[max(0, len(p.asked)-mostAsked+1):], ulid.Make().String())
	}
	p.claims++
	return p.asked[len(p.asked)-1]
}

// arrived takes a new record of the circuit in. A lease that was claimed and stands in it waits for a call.
func (p *prober) arrived(s *schemas.State, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.came, p.claims, p.rests = now, 0, time.Time{}
	p.spares = slices.DeleteFunc(p.spares, func(one *spare) bool {
		dead := leaseOf(s, one.id) == nil
		if dead {
			one.back.Stop()
		}
		return dead
	})
	p.asked = slices.DeleteFunc(p.asked, func(id string) bool {
		l := leaseOf(s, id)
		if l != nil {
			p.gate.counts.leases.Add(1)
			p.spares = append(p.spares, p.spare(l, now))
		}
		return l != nil
	})
	if p.waiting != nil {
		select {
		case p.waiting <- struct{}{}:
		default:
		}
	}
}

// spare keeps a lease for the next call, for a while: others may have one.
func (p *prober) spare(l *schemas.Lease, now time.Time) *spare {
	keep := min(2*p.gate.config.ProbeWait, until(now, l.ExpiresAt)/2)
	return &spare{id: l.ID, back: time.AfterFunc(keep, func() { p.giveBack(l.ID) })}
}

// granted takes a lease that is live.
func (e *entry) granted() (Lease, bool) {
	p := e.slot.prober.Load()
	if p == nil {
		return Lease{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.spares {
		if l := leaseOf(&e.state, one.id); l != nil {
			one.back.Stop()
			p.spares = slices.Delete(p.spares, i, i+1)
			right := &probe{id: l.ID, deadline: l.ExpiresAt}
			return Lease{circuit: e.circuit, epoch: e.state.Epoch, sink: e.gate, probe: right}, true
		}
	}
	return Lease{}, false
}

// leaseOf returns a live lease of a circuit, nil where there is none of that id.
func leaseOf(s *schemas.State, id string) *schemas.Lease {
	i := slices.IndexFunc(s.Leases, func(l schemas.Lease) bool { return id != "" && l.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Leases[i]
}

// giveBack returns a lease that no call has come for.
func (p *prober) giveBack(id string) {
	p.mu.Lock()
	n := len(p.spares)
	p.spares = slices.DeleteFunc(p.spares, func(one *spare) bool { return one.id == id })
	taken := len(p.spares) == n
	p.mu.Unlock()
	if taken {
		return
	}
	p.gate.counts.givenBack.Add(1)
	_ = p.gate.free(p.circuit, id, true) // What cannot be sent is counted.
}

// giveBackAll returns the leases that no call has come for, and those that may still be granted.
func (g *Gate) giveBackAll() {
	for s := range g.known.Load().circuits.all() {
		p := s.prober.Load()
		if p == nil {
			continue
		}
		p.mu.Lock()
		var ids []string
		for _, one := range p.spares {
			one.back.Stop()
			ids = append(ids, one.id)
		}
		asked := slices.Clone(p.asked)
		p.mu.Unlock()
		for _, id := range ids {
			p.giveBack(id)
		}
		for _, id := range asked {
			_ = g.free(p.circuit, id, true)
		}
	}
}
