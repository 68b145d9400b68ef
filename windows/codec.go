package windows

import (
	"encoding/binary"
	"errors"
)

// ErrCorrupt is returned for bytes that AppendBinary cannot have written.
var ErrCorrupt = errors.New("window: corrupt bytes")

// An entry's first byte: its kind in the low four bits (15: the kind follows), then these.
const (
	kindMask  = 0x0f
	sameCell  = 0x10 // It lies in the cell of the entry before it.
	single    = 0x20 // Its count is 1 and does not follow.
	formMask  = 0xc0
	unmatched = 0x00 // Neither weight nor measure.
	plain     = 0x40 // All match and weigh 1; the measure is the count.
	weighed   = 0x80 // All weigh 1; the measure follows.
	general   = 0xc0 // Weight and measure follow.
)

// AppendBinary appends the window's contents, some 2 to 6 bytes an entry. Its length is not part of them: the reader
// knows it. The order is oldest first, times as differences.
func (w *Window) AppendBinary(b []byte) []byte {
	used := w.entries[w.head:]
	b = append(b, w.shift)
	b = binary.AppendUvarint(b, uint64(len(used)))
	before := int64(0)
	for i := range used {
		e := &used[i]
		cell := e.ms() >> w.shift
		b = w.appendEntry(b, e, cell-before, i > 0 && cell == before && w.last == 0)
		before = cell
	}
	return b
}

func (w *Window) appendEntry(b []byte, e *entry, step int64, same bool) []byte {
	head := min(e.kind(), kindMask)
	if same {
		head |= sameCell
	}
	if e.count == 1 {
		head |= single
	}
	form := e.form()
	b = append(b, head|form)
	if e.kind() >= kindMask {
		b = append(b, e.kind())
	}
	if !same {
		b = binary.AppendVarint(b, step)
	}
	if e.count != 1 {
		b = binary.AppendUvarint(b, uint64(e.count))
	}
	if form == general {
		b = binary.AppendUvarint(b, uint64(e.weight))
	}
	if form == general || form == weighed {
		b = binary.AppendUvarint(b, uint64(e.measure))
	}
	if form != unmatched && w.shift > 0 {
		b = binary.AppendUvarint(b, uint64(e.ms()&(1<<w.shift-1)))
	}
	return b
}

// form returns the shortest way to write what matched.
func (e *entry) form() uint8 {
	switch {
	case !e.matched():
		return unmatched
	case e.count > greatest/1000 || e.weight != e.count*1000:
		return general
	case e.measure != e.count:
		return weighed
	}
	return plain
}

// DecodeBinary fills an empty window of the same length from what AppendBinary wrote, with kinds renamed by the given
// function, and returns what is left of the bytes.
func (w *Window) DecodeBinary(b []byte, rename func(kind uint8) uint8) ([]byte, error) {
	w.Clear()
	r := reader{b: b}
	w.shift = r.byte()
	n := r.uvarint()
	if r.failed || w.shift > 40 || n > uint64(len(b)) {
		return nil, ErrCorrupt
	}
	if uint64(cap(w.entries)) < n {
		w.entries = make([]entry, 0, n)
	}
	before := int64(0)
	for range n {
		e := w.readEntry(&r, before, rename)
		if r.failed || e.count <= 0 || e.weight < 0 || e.measure < 0 {
			return nil, ErrCorrupt
		}
		before = e.ms() >> w.shift
		w.restore(e)
	}
	if w.last == 0 && w.cells > MaxCells {
		return nil, ErrCorrupt
	}
	return r.b, nil
}

// restore puts back an entry as it was written. Two kinds that now have one name become one entry.
func (w *Window) restore(e entry) {
	w.total.merge(&e)
	if w.last > 0 {
		w.entries = append(w.entries, e)
		w.cells++
		return
	}
	w.place(e.ms(), e.kind()).merge(&e)
}

func (w *Window) readEntry(r *reader, cell int64, rename func(uint8) uint8) entry {
	head := r.byte()
	kind, form := head&kindMask, head&formMask
	if kind == kindMask {
		kind = r.byte()
	}
	if head&sameCell == 0 {
		cell += r.varint()
	}
	count := int64(1)
	if head&single == 0 {
		count = int64(r.uvarint())
	}
	weight, measure := int64(0), int64(0)
	if form != unmatched {
		weight, measure = count*1000, count
	}
	if form == general {
		weight = int64(r.uvarint())
	}
	if form == general || form == weighed {
		measure = int64(r.uvarint())
	}
	first := int64(0)
	if form != unmatched && w.shift > 0 {
		first = int64(r.uvarint()) & (1<<w.shift - 1)
	}
	e := newEntry(cell<<w.shift+first, rename(kind), form != unmatched)
	e.count, e.weight, e.measure = count, weight, measure
	return e
}

// reader reads numbers off bytes. Once it has failed it reads zeros.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) byte() uint8 {
	if len(r.b) == 0 {
		r.failed = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.failed, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}
