package windows

import "math"

// greatest is where sums stay: nobody counts further.
const greatest = math.MaxInt64

// after tells whether the entry comes after the place of a cell and kind.
func (e *entry) after(cell int64, kind uint8) bool {
	return e.cell > cell || e.cell == cell && e.kind > kind
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
	if other.matched && (!e.matched || other.first < e.first) {
		e.first, e.matched = other.first, true
	}
}

// sum adds two numbers that are not negative, and stays at the greatest where the sum is beyond it.
func sum(a, b int64) int64 {
	if c := a + b; c >= 0 {
		return c
	}
	return greatest
}
