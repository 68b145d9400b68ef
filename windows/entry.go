package windows

import "math"

// entry is a cell's tally of one kind; in a window by number one record's. Its place holds, from the top: the time of
// its oldest match, or where it has none some time of its cell, in Unix milliseconds; the kind; whether anything
// matched.
type entry struct {
	place   int64
	count   int64
	weight  int64
	measure int64
}

func newEntry(ms int64, kind uint8, matched bool) entry {
	place := ms<<9 | int64(kind)<<1
	if matched {
		place |= 1
	}
	return entry{place: place}
}

func (e *entry) ms() int64 { return e.place >> 9 }

func (e *entry) kind() uint8 { return uint8(e.place >> 1) }

func (e *entry) matched() bool { return e.place&1 != 0 }

// match notes a match at a time.
func (e *entry) match(ms int64) {
	if !e.matched() || ms < e.ms() {
		e.place = ms<<9 | int64(e.kind())<<1 | 1
	}
}

// greatest is where sums stay: nobody counts further.
const greatest = math.MaxInt64

// after tells whether the entry comes after the place of a cell and kind, where cells are 1<<shift milliseconds wide.
func (e *entry) after(cell int64, kind, shift uint8) bool {
	own := e.ms() >> shift
	return own > cell || own == cell && e.kind() > kind
}

func (e *entry) add(x *Tally) {
	e.count = sum(e.count, x.Count)
	e.weight = sum(e.weight, x.Weight)
	e.measure = sum(e.measure, x.Measure)
}

// merge adds another entry of the same cell and kind.
func (e *entry) merge(other *entry) {
	e.count = sum(e.count, other.count)
	e.weight = sum(e.weight, other.weight)
	e.measure = sum(e.measure, other.measure)
	if other.matched() {
		e.match(other.ms())
	}
}

// sum adds two numbers that are not negative, and stays at the greatest where the sum is beyond it.
func sum(a, b int64) int64 {
	if c := a + b; c >= 0 {
		return c
	}
	return greatest
}
