package processor

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Partition is one partition's circuits. What records change lies in an overlay until Commit makes it the memory, or
// Rollback drops it.
type Partition struct {
	policies *breaker.Policies // In force: those of the newest regime.
	regimes  []Regime          // Oldest first.
	clock    time.Time
	settled  time.Time // The clock as of the last Commit.

	circuits map[string]*slot
	touched  []*slot // Those with something in the overlay.
	order    []*slot // All, in the order in which the eviction looks at them.
	hand     int
	free     []*circuit // Memory for the overlay.
	value    []byte
}

// slot is a circuit's place in memory.
type slot struct {
	committed *circuit // Nil where nothing is committed yet.
	working   *circuit // Nil where the overlay has nothing.
	used      bool     // Since the eviction last looked at it.
	place     int      // Index in the order.
}

// freeLimit is how many circuits' memory is kept for the next overlay.
const freeLimit = 4096

// New returns a partition without circuits, under its first policies. Its clock stands at the beginning of time.
func New(policies *breaker.Policies) *Partition { return Restore([]Regime{{0, policies}}) }

// Restore returns a partition without circuits that has been under these policies, oldest first: see Regimes.
func Restore(regimes []Regime) *Partition {
	newest := regimes[len(regimes)-1]
	return &Partition{policies: newest.Policies, regimes: slices.Clone(regimes), circuits: map[string]*slot{}}
}

// Clock returns the newest time that the partition has seen; the zero time before its first record.
func (p *Partition) Clock() time.Time { return p.clock }

// SetClock sets the clock to what it was at the last commit, when a partition is restored.
func (p *Partition) SetClock(at time.Time) { p.clock, p.settled = at, at }

// Advance moves the clock on to a time at which nothing else happens. It never moves back.
func (p *Partition) Advance(at time.Time) {
	if at.After(p.clock) {
		p.clock = at
	}
}

// Len returns how many circuits are in memory.
func (p *Partition) Len() int { return len(p.circuits) }

// Touched returns how many circuits have something in the overlay.
func (p *Partition) Touched() int { return len(p.touched) }

// Resident tells whether a circuit is in memory. One that is known but not in memory has to be Inserted before its next
// record.
func (p *Partition) Resident(name string) bool { return p.circuits[name] != nil }

// Insert puts a committed circuit into memory.
func (p *Partition) Insert(name string, value []byte) error {
	c, err := decode(name, value, p.regimes)
	if err != nil {
		return err
	}
	p.add(&slot{committed: c}, c.name)
	return nil
}

func (p *Partition) add(s *slot, name string) {
	if old := p.circuits[name]; old != nil {
		old.committed, old.working = s.committed, s.working
		return
	}
	s.place, s.used = len(p.order), true
	p.order = append(p.order, s)
	p.circuits[name] = s
}

// Changes yields what the overlay changed: the circuit and its value for the changelog, or nil where it is forgotten.
// The bytes are good until the next one.
func (p *Partition) Changes() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, s := range p.touched {
			p.value = p.value[:0]
			var value []byte
			if !s.working.forgotten {
				p.value = s.working.append(p.value)
				value = p.value
			}
			if !yield(s.working.name, value) {
				return
			}
		}
	}
}

// Commit makes the overlay the memory.
func (p *Partition) Commit() {
	for _, s := range p.touched {
		p.release(s.committed)
		s.committed, s.working = s.working, nil
		if s.committed.forgotten {
			p.remove(s, s.committed.name)
		}
	}
	p.touched, p.settled = p.touched[:0], p.clock
}

// Rollback drops the overlay. The clock goes back to the last Commit.
func (p *Partition) Rollback() {
	for _, s := range p.touched {
		name := s.working.name
		p.release(s.working)
		s.working = nil
		if s.committed == nil {
			p.remove(s, name)
		}
	}
	p.touched, p.clock = p.touched[:0], p.settled
}

func (p *Partition) release(c *circuit) {
	if c != nil && len(p.free) < freeLimit {
		p.free = append(p.free, c)
	}
}

func (p *Partition) remove(s *slot, name string) {
	delete(p.circuits, name)
	last := p.order[len(p.order)-1]
	p.order[s.place], last.place = last, s.place
	p.order[len(p.order)-1] = nil
	p.order = p.order[:len(p.order)-1]
}

// Evict takes circuits out of memory until at most that many are left, those first that have not been used for long.
// What the overlay changed stays.
func (p *Partition) Evict(most int) {
	for looks := 2 * len(p.order); len(p.order) > max(most, len(p.touched)) && looks > 0; looks-- {
		if p.hand >= len(p.order) {
			p.hand = 0
		}
		s := p.order[p.hand]
		switch {
		case s.working != nil:
			p.hand++
		case s.used:
			s.used = false
			p.hand++
		default:
			p.remove(s, s.committed.name)
		}
	}
	if len(p.free) > most {
		p.free = slices.Clip(p.free[:most])
	}
}

// overlay returns the circuit to be changed: the overlay's, or a copy that becomes it. It returns nil where the circuit
// is not in memory.
func (p *Partition) overlay(name string) *circuit {
	s := p.circuits[name]
	if s == nil {
		return nil
	}
	s.used = true
	if s.working == nil {
		s.working = p.blank()
		s.committed.cloneInto(s.working)
		p.touched = append(p.touched, s)
	}
	p.rebind(s.working)
	return s.working
}

func (p *Partition) blank() *circuit {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	return &circuit{}
}

// create puts a circuit that begins its life into the overlay.
func (p *Partition) create(name string) *circuit {
	c := newCircuit(strings.Clone(name), p.newest(), p.clock)
	s := &slot{working: c}
	p.add(s, c.name)
	p.touched = append(p.touched, s)
	return c
}

// State returns a circuit as it is at a time when nothing else has come, and whether it is in memory. It changes
// nothing.
func (p *Partition) State(name string, at time.Time) (schemas.State, bool) {
	s := p.circuits[name]
	if s == nil {
		return schemas.State{}, false
	}
	c := s.committed
	if s.working != nil {
		c = s.working
	}
	state := c.state()
	return state.At(at), true
}
