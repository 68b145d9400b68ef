// Package windows keeps what happened lately: tallies of outcomes, in cells of time or record by record.
//
// A Window by time is exact to the millisecond while it holds at most 128 distinct times, and never errs by more than
// a sixtieth of its length, at the old edge only, towards counting. A Window of the last N outcomes is always exact.
// The package knows no rules and reads no clock.
package windows

import "time"

// MaxCells is the number of distinct times that a window by time can hold.
const MaxCells = 128

// Tally is what one record adds up to. Weight is in thousandths. Measure is what the window's rule compares: the
// number of matching outcomes, of slow ones, or a sum. What does not match has neither weight nor measure.
type Tally struct {
	Kind    uint8
	Matched bool
	Count   int64
	Weight  int64
	Measure int64
}

// Window holds the tallies of a stretch of time, or of the last N outcomes. Its zero value is not usable: see New and
// NewLast. It is not safe for concurrent use.
type Window struct {
	span    int64   // Milliseconds; of a window by time.
	last    int64   // Outcomes; of a window by number, else 0.
	shift   uint8   // Cells are 1<<shift milliseconds wide.
	cells   int     // Distinct cells among the entries.
	head    int     // The first entry in use.
	entries []entry // By cell, then kind; of a window by number in the log's order.
	total   entry   // Count, weight and measure of all entries.
}

// New returns an empty window of a length of time, from 1 ms to 366 days.
func New(span time.Duration) Window { return Window{span: span.Milliseconds()} }

// NewLast returns an empty window of the last n outcomes.
func NewLast(n int64) Window { return Window{last: n} }

// Add enters a record of time t when the clock stands at `at`. It moves the window forward, never back. A record that
// is older than the window moves it too but leaves no trace.
func (w *Window) Add(at, t time.Time, x Tally) {
	if w.last > 0 {
		w.addLast(t.UnixMilli(), x)
		return
	}
	oldest, ms := at.UnixMilli()-w.span, t.UnixMilli()
	w.drop(oldest)
	cell := ms >> w.shift
	if w.newest(cell) < oldest {
		return
	}
	w.total.add(&x)
	e := w.place(ms, x.Kind)
	e.add(&x)
	if x.Matched {
		e.match(ms)
	}
	for w.cells > MaxCells {
		w.widen()
	}
}

// Clear empties the window.
func (w *Window) Clear() {
	w.entries, w.head, w.cells, w.shift, w.total = w.entries[:0], 0, 0, 0, entry{}
}

// Count returns the number of outcomes in the window, as of the last Add.
func (w *Window) Count() int64 { return w.total.count }

// Weight returns the sum of their weights in thousandths.
func (w *Window) Weight() int64 { return w.total.weight }

// Measure returns the sum of their measures.
func (w *Window) Measure() int64 { return w.total.measure }

// Len returns the number of cells, or of records in a window by number.
func (w *Window) Len() int { return w.cells }

// Each calls yield with the tallies of the window, oldest first.
func (w *Window) Each(yield func(Tally)) {
	for i := range w.entries[w.head:] {
		e := &w.entries[w.head+i]
		yield(Tally{Kind: e.kind(), Matched: e.matched(), Count: e.count, Weight: e.weight, Measure: e.measure})
	}
}

// Times calls yield with the tallies of the window, oldest first, and some time of the cell that each lies in.
func (w *Window) Times(yield func(time.Time, Tally)) {
	i := w.head
	w.Each(func(x Tally) {
		yield(time.UnixMilli(w.entries[i].ms()).UTC(), x)
		i++
	})
}

// Advance moves a window by time on to a time at which nothing came, never back. One by number stays as it is.
func (w *Window) Advance(at time.Time) {
	if w.last == 0 {
		w.drop(at.UnixMilli() - w.span)
	}
}

// Since returns the time of the oldest matching outcome, and whether there is one.
func (w *Window) Since() (time.Time, bool) {
	oldest, found := int64(0), false
	for i := range w.entries[w.head:] {
		e := &w.entries[w.head+i]
		if e.matched() && (!found || e.ms() < oldest) {
			oldest, found = e.ms(), true
		}
	}
	return time.UnixMilli(oldest).UTC(), found
}

// Stretch returns how many outcomes came in or after the cell of the oldest that matches, and how many of them are in
// entries that match.
func (w *Window) Stretch() (seen, matched int64) {
	since, found := w.Since()
	if !found {
		return 0, 0
	}
	oldest := since.UnixMilli() >> w.shift
	for i := range w.entries[w.head:] {
		e := &w.entries[w.head+i]
		if e.ms()>>w.shift < oldest {
			continue
		}
		seen = sum(seen, e.count)
		if e.matched() {
			matched = sum(matched, e.count)
		}
	}
	return seen, matched
}

// Left returns how many of its outcomes a window by time still holds when the clock has moved on to `at`. It moves
// nothing.
func (w *Window) Left(at time.Time) int64 {
	oldest, left := at.UnixMilli()-w.span, w.total.count
	for i := w.head; i < len(w.entries) && w.newest(w.cell(i)) < oldest; i++ {
		left -= w.entries[i].count
	}
	return max(left, 0)
}

// Holds tells whether an outcome of time t that entered the window is still in it.
func (w *Window) Holds(t time.Time) bool {
	if w.cells == 0 {
		return false
	}
	return t.UnixMilli()>>w.shift >= w.cell(w.head)
}

// cell returns the cell of the entry at an index.
func (w *Window) cell(i int) int64 { return w.entries[i].ms() >> w.shift }

// newest returns the newest millisecond of a cell.
func (w *Window) newest(cell int64) int64 { return (cell+1)<<w.shift - 1 }

// drop drops the cells whose newest millisecond is older than the given one.
func (w *Window) drop(oldest int64) {
	for w.cells > 0 && w.newest(w.cell(w.head)) < oldest {
		w.dropCell()
	}
	if w.cells == 0 {
		w.Clear()
	}
}

func (w *Window) dropCell() {
	cell := w.cell(w.head)
	for w.head < len(w.entries) && w.cell(w.head) == cell {
		w.forget(&w.entries[w.head])
		w.head++
	}
	w.cells--
}

// place returns the entry of a time's cell and of a kind, which it makes where there is none.
func (w *Window) place(ms int64, kind uint8) *entry {
	cell, i := ms>>w.shift, len(w.entries)
	for i > w.head && w.entries[i-1].after(cell, kind, w.shift) {
		i--
		if len(w.entries)-i == 8 { // Far out of order: search.
			i = w.head + w.search(cell, kind)
			break
		}
	}
	known := i > w.head && w.cell(i-1) == cell
	if known && w.entries[i-1].kind() == kind {
		return &w.entries[i-1]
	}
	if !known && (i == len(w.entries) || w.cell(i) != cell) {
		w.cells++
	}
	return w.insert(i, newEntry(ms, kind, false))
}

// search returns the number of entries in use that are not after a cell and kind.
func (w *Window) search(cell int64, kind uint8) int {
	lo, hi := 0, len(w.entries)-w.head
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if w.entries[w.head+mid].after(cell, kind, w.shift) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// insert puts an entry at index i. It takes back the room of dropped entries before it asks for more memory, which
// keeps a window in steady use free of allocation.
func (w *Window) insert(i int, e entry) *entry {
	if len(w.entries) == cap(w.entries) {
		if w.head > 0 && w.head*4 >= len(w.entries) {
			i -= w.head
			w.entries = append(w.entries[:0], w.entries[w.head:]...)
			w.head = 0
		} else {
			grown := make([]entry, len(w.entries), len(w.entries)+max(4, len(w.entries)/4))
			copy(grown, w.entries)
			w.entries = grown
		}
	}
	w.entries = append(w.entries, e)
	if last := len(w.entries) - 1; i < last {
		copy(w.entries[i+1:], w.entries[i:last])
		w.entries[i] = e
	}
	return &w.entries[i]
}

// widen makes cells twice as wide: neighbours merge.
func (w *Window) widen() {
	w.shift++
	used := w.entries[w.head:]
	for i := range used {
		for j := i; j > 0 && used[j-1].after(used[j].ms()>>w.shift, used[j].kind(), w.shift); j-- {
			used[j-1], used[j] = used[j], used[j-1]
		}
	}
	n := 0
	w.cells = 0
	for i := range used {
		same := n > 0 && used[i].ms()>>w.shift == used[n-1].ms()>>w.shift
		if same && used[i].kind() == used[n-1].kind() {
			used[n-1].merge(&used[i])
			continue
		}
		if !same {
			w.cells++
		}
		used[n] = used[i]
		n++
	}
	w.entries = w.entries[:w.head+n]
}

// forget takes an entry out of the totals. A total that has reached the greatest number is counted anew.
func (w *Window) forget(e *entry) {
	if max(w.total.count, w.total.weight, w.total.measure) < greatest {
		w.total.count -= e.count
		w.total.weight -= e.weight
		w.total.measure -= e.measure
		return
	}
	e.count, e.weight, e.measure = 0, 0, 0
	w.total = entry{}
	for i := range w.entries[w.head:] {
		w.total.merge(&w.entries[w.head+i])
	}
}
