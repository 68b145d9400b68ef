package kafka

import (
	"errors"
	"time"

	"github.com/fusebox-project/fusebox/processor"
)

const (
	sweepEvery  = time.Minute
	sweepAgain  = time.Second      // After a slice that was full.
	searchEvery = 10 * time.Minute // The store, for circuits that are not in memory.
	sweepSlice  = 500
)

var errFull = errors.New("slice is full")

// sweep forgets circuits that have been idle for long, a slice at a time. It decides nothing: the next record of such
// a circuit begins a new life in any case.
func (w *worker) sweep(p *pair, now time.Time) {
	if now.Before(p.sweeps) || p.phase != running {
		return
	}
	p.sweeps = now.Add(sweepEvery)
	found := 0
	if !now.Before(p.searches) {
		p.searches = now.Add(searchEvery)
		found = w.search(p)
	}
	forgotten := p.core.Sweep(sweepSlice)
	if len(forgotten) > 0 && found == sweepSlice {
		p.searches = now.Add(sweepAgain)
	}
	if len(forgotten) == sweepSlice || found == sweepSlice {
		p.sweeps = now.Add(sweepAgain)
	}
	p.out.swept = append(p.out.swept, forgotten...)
	p.out.known -= len(forgotten)
	w.loop.known.Add(int64(-len(forgotten)))
}

// search brings circuits into memory that seem to be idle, and returns how many.
func (w *worker) search(p *pair) (found int) {
	policies, clock := w.loop.policies.Load(), p.core.Clock()
	err := w.loop.store.Each(p.id, func(circuit string, value []byte) error {
		if !isCircuit(circuit) {
			return nil
		}
		last, err := processor.LastRecord(value)
		if err != nil || p.core.Resident(circuit) || clock.Sub(last) < policies.For(circuit).IdleAfter {
			return err
		}
		if processor.NeedsReload(value) {
			return nil // It is not closed, and stays known.
		}
		if found == sweepSlice {
			return errFull
		}
		found++
		return p.core.Insert(circuit, value)
	})
	if err != nil && !errors.Is(err, errFull) {
		w.log.Warn("idle circuits not looked for", "partition", p.id, "err", err)
	}
	return found
}
