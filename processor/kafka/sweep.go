package kafka

import (
	"errors"
	"time"

	"github.com/fusebox-project/fusebox/processor"
)

const (
	sweepEvery   = time.Minute
	sweepAgain   = time.Second      // After a slice that was full.
	searchEvery  = 10 * time.Minute // The store, for circuits that are not in memory.
	searchSpread = 8                // Minutes over which the partitions of a start spread their searches.
	searchSlice  = 2_000            // Circuits of the store looked at in one go: some 2 ms.
	sweepSlice   = 500
)

var errFull = errors.New("slice is full")

// sweep forgets circuits that have been idle for long, a slice at a time. It decides nothing: the next record of such
// a circuit begins a new life in any case.
func (w *worker) sweep(p *pair, now time.Time) {
	if now.Before(p.sweeps) || p.phase != running {
		return
	}
	p.sweeps = now.Add(sweepEvery)
	if !now.Before(p.searches) {
		w.search(p)
		if p.searched != "" { // There is more.
			p.sweeps = now.Add(sweepAgain)
		} else {
			p.searches = now.Add(searchEvery)
		}
	}
	forgotten := p.core.Sweep(sweepSlice)
	if len(forgotten) == sweepSlice {
		p.sweeps = now.Add(sweepAgain)
	}
	p.out.swept = append(p.out.swept, forgotten...)
	p.out.known -= len(forgotten)
	w.loop.known.Add(int64(-len(forgotten)))
}

// search goes on through the store, a slice at a time, and brings circuits into memory that seem to be idle.
func (w *worker) search(p *pair) {
	policies, clock := w.loop.policies.Load(), p.core.Clock()
	looked, from := 0, p.searched
	var idle []string
	p.searched = ""
	err := w.loop.store.After(p.id, from, func(circuit string, value []byte) error {
		if looked++; looked > searchSlice || len(idle) == sweepSlice {
			return errFull
		}
		p.searched = circuit
		if !isCircuit(circuit) || p.core.Resident(circuit) || processor.NeedsReload(value) {
			return nil // One that is not closed stays known.
		}
		last, err := processor.LastRecord(value)
		if err == nil && clock.Sub(last) >= policies.For(circuit).IdleAfter {
			idle = append(idle, circuit)
		}
		return err
	})
	if err == nil {
		p.searched = ""
	}
	for _, circuit := range idle {
		if err == nil || errors.Is(err, errFull) {
			_, err = w.load(p, circuit) // As it is now: what the search sees may be a moment old.
		}
	}
	if err != nil && !errors.Is(err, errFull) {
		w.log.Warn("idle circuits not looked for", "partition", p.id, "err", err)
	}
}
