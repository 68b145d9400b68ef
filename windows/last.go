package windows

// addLast enters a record and drops the oldest ones while those left still total as many outcomes as the window has.
func (w *Window) addLast(ms int64, x Tally) {
	e := w.insert(len(w.entries), newEntry(ms, x.Kind, x.Matched))
	e.add(&x)
	w.total.add(&x)
	w.cells++
	for w.total.count-w.entries[w.head].count >= w.last {
		w.head++
		w.cells--
		w.forget(&w.entries[w.head-1])
	}
}
