package client

import (
	"hash/maphash"
	"iter"
	"sync/atomic"
)

// index finds circuits by their names. One goroutine writes it, any number reads, without a lock. What a lookup reads
// of a circuit lies in one line of memory, beside its name: of 100,000 circuits few fit a processor's caches, and a map
// from names to slots reads four places each.
type index struct {
	seed  maphash.Seed
	cells atomic.Pointer[[]atomic.Pointer[slot]] // Of a length that is a power of two; at least half of them are nil.
	known atomic.Int64                           // The circuits that are not forgotten.
	taken int                                    // The cells that are not nil.
}

// fewest is how many cells an index has at least.
const fewest = 64

func newIndex() *index {
	x := &index{seed: maphash.MakeSeed()}
	cells := make([]atomic.Pointer[slot], fewest)
	x.cells.Store(&cells)
	return x
}

// load returns the slot of a circuit, forgotten or not; nil where there is none.
func (x *index) load(circuit string) *slot {
	return find(*x.cells.Load(), maphash.String(x.seed, circuit), circuit).Load()
}

// find returns the cell of a circuit: the one where it would be where it is not there.
func find(cells []atomic.Pointer[slot], hash uint64, circuit string) *atomic.Pointer[slot] {
	for i := hash; ; i++ {
		cell := &cells[i&uint64(len(cells)-1)]
		if s := cell.Load(); s == nil || s.hash == hash && s.called(circuit) {
			return cell
		}
	}
}

// store adds the slot of a circuit that is not there, or is forgotten.
func (x *index) store(circuit string, s *slot) {
	s.hash, s.length = maphash.String(x.seed, circuit), uint8(len(circuit))
	s.rest = circuit[copy(s.head[:], circuit):]
	if 2*x.taken >= len(*x.cells.Load()) {
		x.rebuild()
	}
	cell := find(*x.cells.Load(), s.hash, circuit)
	if cell.Load() == nil {
		x.taken++
	}
	cell.Store(s)
	x.known.Add(1)
}

// dropped notes that a circuit was forgotten. Its slot stays, until such are the most.
func (x *index) dropped() {
	x.known.Add(-1)
	if x.taken > fewest && 2*x.size() < x.taken {
		x.rebuild()
	}
}

// rebuild leaves the forgotten circuits out, and makes room for as many as are known.
func (x *index) rebuild() {
	size := fewest
	for size < 4*x.size() {
		size *= 2
	}
	cells := make([]atomic.Pointer[slot], size)
	x.taken = 0
	for s := range x.all() {
		i := s.hash
		for cells[i&uint64(size-1)].Load() != nil {
			i++
		}
		cells[i&uint64(size-1)].Store(s)
		x.taken++
	}
	x.cells.Store(&cells)
}

// size returns how many circuits are known.
func (x *index) size() int { return int(x.known.Load()) }

// all yields the slots of the circuits that are known.
func (x *index) all() iter.Seq[*slot] {
	return func(yield func(*slot) bool) {
		cells := *x.cells.Load()
		for i := range cells {
			if s := cells[i].Load(); s != nil && s.state.Load() != nil && !yield(s) {
				return
			}
		}
	}
}

// called tells whether a slot is that of a circuit.
func (s *slot) called(circuit string) bool {
	if int(s.length) != len(circuit) {
		return false
	}
	if len(circuit) <= len(s.head) {
		return string(s.head[:len(circuit)]) == circuit
	}
	return string(s.head[:]) == circuit[:len(s.head)] && s.rest == circuit[len(s.head):]
}
