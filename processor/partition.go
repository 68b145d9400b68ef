package processor

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Partition is one partition's circuits. What records change is not committed until Commit; Rollback takes it out of
// memory, and what was committed is Inserted again like any circuit that is known and not there.
type Partition struct {
	policies *breaker.Policies // In force: those of the newest regime.
	regimes  []Regime          // Oldest first.
	clock    time.Time
	settled  time.Time // The clock as of the last Commit.

	circuits map[string]*slot
	touched  []*slot // Those that changed since the last Commit.
	order    []*slot // All, in the order in which the eviction looks at them.
	hand     int
	found    *slot // By the last look, which the step of the same record need not repeat.
}

// slot is a circuit's place in memory.
type slot struct {
	circuit
	touched bool // Since the last Commit.
	used    bool // Since the eviction last looked at it.
	place   int  // Index in the order.
}

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

// Touched returns how many circuits have changed since the last Commit.
func (p *Partition) Touched() int { return len(p.touched) }

// Resident tells whether a circuit is in memory. One that is known but not in memory has to be Inserted before its next
// record.
func (p *Partition) Resident(name string) bool { return p.slot(name) != nil }

// slot returns a circuit's place, or nil where it is not in memory.
func (p *Partition) slot(name string) *slot {
	if p.found == nil || p.found.name != name {
		p.found = p.circuits[name]
	}
	return p.found
}

// Insert puts a committed circuit into memory.
func (p *Partition) Insert(name string, value []byte) error {
	s := &slot{}
	if err := s.decode(name, value, p.regimes); err != nil {
		return err
	}
	if old := p.circuits[name]; old != nil {
		old.circuit = s.circuit
		return nil
	}
	p.add(s)
	return nil
}

func (p *Partition) add(s *slot) {
	s.place, s.used = len(p.order), true
	p.order = append(p.order, s)
	p.circuits[s.name] = s
}

// Changes yields the circuits that have changed since the last Commit, with what they are now.
func (p *Partition) Changes() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, s := range p.touched {
			if !yield(s.name, Value{&s.circuit}) {
				return
			}
		}
	}
}

// Commit makes what has changed the memory to go back to.
func (p *Partition) Commit() {
	for _, s := range p.touched {
		s.touched = false
		if s.forgotten {
			p.remove(s)
		}
	}
	p.touched, p.settled = p.touched[:0], p.clock
}

// Rollback takes what has changed since the last Commit out of memory. The clock goes back to the last Commit.
func (p *Partition) Rollback() {
	for _, s := range p.touched {
		p.remove(s)
	}
	clear(p.touched)
	p.touched, p.clock = p.touched[:0], p.settled
}

func (p *Partition) remove(s *slot) {
	delete(p.circuits, s.name)
	p.found = nil
	last := p.order[len(p.order)-1]
	p.order[s.place], last.place = last, s.place
	p.order[len(p.order)-1] = nil
	p.order = p.order[:len(p.order)-1]
}

// Evict takes circuits out of memory until at most that many are left, those first that have not been used for long.
// What is not committed stays.
func (p *Partition) Evict(most int) {
	for looks := 2 * len(p.order); len(p.order) > max(most, len(p.touched)) && looks > 0; looks-- {
		if p.hand >= len(p.order) {
			p.hand = 0
		}
		s := p.order[p.hand]
		switch {
		case s.touched:
			p.hand++
		case s.used:
			s.used = false
			p.hand++
		default:
			p.remove(s)
		}
	}
}

// touch returns the circuit to be changed, or nil where it is not in memory.
func (p *Partition) touch(name string) *circuit {
	s := p.slot(name)
	if s == nil {
		return nil
	}
	s.used = true
	if !s.touched {
		s.touched = true
		p.touched = append(p.touched, s)
	}
	p.rebind(&s.circuit)
	return &s.circuit
}

// create makes a circuit known that begins its life.
func (p *Partition) create(name string) *circuit {
	s := &slot{circuit: *newCircuit(strings.Clone(name), p.newest(), p.clock), touched: true}
	p.add(s)
	p.touched = append(p.touched, s)
	return &s.circuit
}

// State returns a circuit as it is at a time when nothing else has come, and whether it is in memory. It changes
// nothing.
func (p *Partition) State(name string, at time.Time) (schemas.State, bool) {
	s := p.circuits[name]
	if s == nil {
		return schemas.State{}, false
	}
	state := s.state()
	return state.At(at), true
}
