package client

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/fusebox-project/fusebox/breaker"
)

// combiner holds the accounts of a reporter's circuits. It is of use once the reporter knows policies.
type combiner struct {
	mode     Combine
	policies atomic.Pointer[breaker.Policies]
	circuits *xsync.Map[string, *ledger]

	mu   sync.Mutex // Guards due.
	due  []dueSum   // In the order of their times.
	some chan struct{}
}

// ledger is an account that many goroutines write in. What is sent of a circuit is sent under its lock, so that it
// arrives in the order of the reports.
type ledger struct {
	mu sync.Mutex // Guards what follows.
	account
	gone bool // It was taken out of the combiner.
	due  time.Time
	from *slot // That leads here, no other does; nil where none does.
}

// dueSum is what was begun to be added up in a ledger, unless that was sent since.
type dueSum struct {
	ledger *ledger
	at     time.Time
}

const (
	mostLedgers  = 100_000 // Outcomes of further circuits go alone.
	sweepLedgers = time.Minute
)

func newCombiner(mode Combine) *combiner {
	return &combiner{mode: mode, circuits: xsync.NewMap[string, *ledger](), some: make(chan struct{}, 1)}
}

// adds tells whether anything is added up under these policies.
func (c *combiner) adds(p *breaker.Policies) bool { return c.mode != CombineNever && p != nil }

// distrust notes that the accounts have not heard of all that was sent before.
func (c *combiner) distrust(at time.Time) {
	c.circuits.Range(func(_ string, b *ledger) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.doubt = doubt{anyEpoch, at}
		return true
	})
}

// find returns the ledger of a lease's circuit, locked; nil where there is none.
func (c *combiner) find(l *Lease) *ledger {
	if l.slot != nil {
		if b := l.slot.ledger.Load(); b != nil && b.lock() {
			return b
		}
	}
	b, ok := c.circuits.Load(l.circuit)
	if !ok || !b.lock() {
		return nil
	}
	if l.slot != nil {
		b.lead(l.slot)
	}
	return b
}

// lead lets a slot lead to the ledger, which is locked, instead of the one that did; nil is none. A slot stays for as
// long as its circuit is known, and would hold a ledger that is gone.
func (b *ledger) lead(from *slot) {
	if b.from != nil {
		b.from.ledger.CompareAndSwap(b, nil)
	}
	if b.from = from; from != nil {
		from.ledger.Store(b)
	}
}

// lock locks a ledger, and tells whether it is still the circuit's.
func (b *ledger) lock() bool {
	b.mu.Lock()
	if b.gone {
		b.mu.Unlock()
		return false
	}
	return true
}

// open returns the ledger of a lease's circuit, locked, a new one where there is none; nil where there are too many.
func (c *combiner) open(l *Lease) *ledger {
	for {
		if b := c.find(l); b != nil {
			return b
		}
		if c.circuits.Size() >= mostLedgers {
			return nil
		}
		c.circuits.LoadOrStore(l.circuit, &ledger{account: account{circuit: l.circuit, mode: c.mode}})
	}
}

// wait notes that something was begun to be added up.
func (c *combiner) wait(due dueSum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, due)
	select {
	case c.some <- struct{}{}:
	default:
	}
}

// waiting returns all that was begun since it was asked last.
func (c *combiner) waiting() (due []dueSum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due, c.due = c.due, nil
	return due
}

// sweep takes the ledgers out that remember nothing a processor still knows.
func (c *combiner) sweep(at time.Time) {
	c.circuits.Range(func(circuit string, b *ledger) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.idle(at) {
			b.gone = true
			b.lead(nil)
			c.circuits.Delete(circuit)
		}
		return true
	})
}

// enter sends an outcome of a circuit that has a ledger, which is locked, or begins to add up with it. The queue has
// room for it.
func (r *Reporter) enter(b *ledger, l *Lease, o *Outcome, p parcel, policies *breaker.Policies) error {
	if r.closed.Load() { // Close has settled this ledger, or will find nothing in it.
		r.queue.give(p.size)
		return ErrClosed
	}
	if l.plain && b.add(l.epoch, o) { // Another goroutine has begun to add up meanwhile.
		r.queue.give(p.size)
		return nil
	}
	var room [2]parcel
	at := now()
	for _, p := range b.put(room[:0], at, l, o, p, policies) {
		r.produce(&p.record, p.size)
	}
	if b.sum.record.Count > 0 {
		b.due = at.Add(sumFor)
		r.combiner.wait(dueSum{b, b.due})
	}
	return nil
}

// settle sends what a ledger has added up.
func (r *Reporter) settle(b *ledger) {
	if b.sum.record.Count > 0 {
		p := b.take(now())
		r.produce(&p.record, p.size)
	}
}

// settleAll sends whatever has been added up.
func (r *Reporter) settleAll() {
	r.combiner.circuits.Range(func(_ string, b *ledger) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		r.settle(b)
		return true
	})
}

// settleDue sends what has been added up for long enough, until it is to stop.
func (r *Reporter) settleDue() {
	sweep := time.NewTicker(sweepLedgers)
	defer sweep.Stop()
	for {
		select {
		case <-r.combiner.some:
			for _, due := range r.combiner.waiting() {
				if !r.sleep(time.Until(due.at)) {
					return
				}
				r.settleOne(due)
			}
		case <-sweep.C:
			r.combiner.sweep(now())
		case <-r.stop:
			return
		}
	}
}

func (r *Reporter) settleOne(due dueSum) {
	due.ledger.mu.Lock()
	defer due.ledger.mu.Unlock()
	if due.ledger.due.Equal(due.at) {
		r.settle(due.ledger)
	}
}

// sleep waits, and tells whether it was not told to stop meanwhile.
func (r *Reporter) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-r.stop:
		return false
	}
}

// now returns the time as records tell it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
