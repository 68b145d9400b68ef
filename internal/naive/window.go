package naive

import "slices"

// mostCells is the greatest number of cells that a window keeps.
const mostCells = 128

// entry is one outcome as a rule saw it, at the time it saw it.
type entry struct {
	t       int64
	kind    string
	count   int64
	matched bool
	weight  int64 // Thousandths of all its outcomes together, 0 if it did not match.
	slow    bool
	amount  int64 // Millionths, 0 if it did not match.
}

// window is what the rules of one key have counted: a window in time, the newest records, or a streak.
type window struct {
	length  int64 // Milliseconds; 0 where time has no part.
	last    int64 // Outcomes; 0 where it is not bounded so.
	q       int64
	entries []entry
}

// add enters an outcome that is handled at the given time.
func (w *window) add(at int64, e entry) {
	switch {
	case w.last > 0:
		w.addLast(e)
	case w.length > 0:
		w.addTimed(at, e)
	case e.matched:
		w.entries = append(w.entries, e)
	default:
		w.entries = nil
	}
}

func (w *window) addLast(e entry) {
	w.entries = append(w.entries, e)
	for total(w.entries[1:]) >= w.last {
		w.entries = w.entries[1:]
	}
}

func (w *window) addTimed(at int64, e entry) {
	tooOld := func(e entry) bool { return w.cell(e.t)*w.q+w.q-1 < at-w.length }
	if w.q == 0 {
		w.q = 1
	}
	w.entries = slices.DeleteFunc(slices.Clone(w.entries), tooOld)
	if len(w.entries) == 0 {
		w.q = 1
	}
	if tooOld(e) {
		return
	}
	w.entries = append(w.entries, e)
	for w.cells() > mostCells {
		w.q *= 2
	}
}

// cell numbers the cell of a time; times before 1970 are rounded down too.
func (w *window) cell(t int64) int64 {
	c := t / w.q
	if t%w.q < 0 {
		c--
	}
	return c
}

func (w *window) cells() int {
	distinct := map[int64]bool{}
	for _, e := range w.entries {
		distinct[w.cell(e.t)] = true
	}
	return len(distinct)
}

func total(entries []entry) int64 {
	var n int64
	for _, e := range entries {
		n += e.count
	}
	return n
}
