package client

import (
	"context"
	"fmt"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// Enter admits a call, or returns a *RefusedError. Where every call goes through it only reads memory. Where a probe is
// due and nobody else of this process asks for it, it waits for the lease, Config.ProbeWait or as long as the context
// allows, and returns the context's cause where that ends first.
func (g *Gate) Enter(ctx context.Context, circuit string) (Lease, error) {
	s, word := g.known.Load().circuits.load(circuit), unknown
	if s != nil {
		word = s.word.Load()
	} else if err := schemas.CheckCircuit(circuit); err != nil {
		return Lease{}, fmt.Errorf("enter: %w", err)
	}
	if word == mustLook || g.careful.Load() {
		return g.look(ctx, circuit, s)
	}
	return Lease{circuit: circuit, epoch: word >> 1, plain: word&1 == 1, slot: s, sink: g}, nil
}

// look decides by the circuit's state and the clock.
func (g *Gate) look(ctx context.Context, circuit string, s *slot) (Lease, error) {
	if g.isClosed() {
		return Lease{}, fmt.Errorf("enter %s: %w", circuit, ErrClosed)
	}
	e := entry{gate: g, circuit: circuit, slot: s, call: g.calls.Add(1)}
	lease, refusal := e.decide()
	if refusal == nil && lease.sink == nil {
		return e.claim(ctx)
	}
	return e.answer(lease, refusal)
}

// entry is one call that asks.
type entry struct {
	gate    *Gate
	circuit string
	slot    *slot // Nil where the circuit is unknown.
	call    uint64

	now   time.Time     // At the newest decision.
	state schemas.State // Then.
}

// decide admits the call, refuses it, or does neither: then a probe is to be had.
func (e *entry) decide() (Lease, *RefusedError) {
	g, t := e.gate, e.gate.known.Load()
	home := t.home(e.circuit, e.slot)
	e.now = home.now()
	derived, seen := e.slot.at(e.circuit, e.now)
	e.state = derived
	if g.config.OnSilence != Keep && g.silent(t, home) {
		if g.config.OnSilence == AllowAll {
			return e.admitted(), nil
		}
		return Lease{}, &RefusedError{Circuit: e.circuit, State: derived.State, Silence: true}
	}
	admission, back := e.state.Admission(e.now, g.config.Router, e.call)
	if admission == schemas.Admits {
		if seen != nil {
			e.slot.settle(seen, &derived)
		}
		return e.admitted(), nil
	}
	if lease, ok := e.granted(); ok {
		return lease, nil
	}
	if admission == schemas.Refuses {
		return Lease{}, refused(&e.state, e.now, back)
	}
	return Lease{}, nil
}

func (e *entry) admitted() Lease {
	blind := !e.gate.isReady()
	return Lease{
		circuit: e.circuit, epoch: e.state.Epoch, plain: e.state.State == schemas.Closed && !blind, blind: blind,
		slot: e.slot, sink: e.gate,
	}
}

// answer returns what was decided.
func (e *entry) answer(lease Lease, refusal *RefusedError) (Lease, error) {
	if refusal != nil {
		e.gate.counts.refused.Add(1)
		return Lease{}, refusal
	}
	return lease, nil
}
