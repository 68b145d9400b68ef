package state

// heap is the memory that a part's waiting values lie in, in large pieces: a value that is saved over and over again
// takes the place of its last one, and all pieces are used again once what lay in them is on disk.
type heap struct {
	pieces [][]byte // Each filled up to its length.
	used   int      // Of the pieces; the others are empty.
}

const (
	heapPiece = 64 << 10 // What is larger has a piece of its own.
	heapKept  = 64       // Pieces that are kept for the next values.
)

// put returns a copy of a value, in place of an old one that is not read any more if it has the room. A nil value stays
// nil.
func (h *heap) put(old, value []byte) []byte {
	if value == nil {
		return nil
	}
	if cap(old) < len(value) || old == nil {
		old = h.room(len(value) + len(value)/8 + 16)
	}
	return append(old[:0], value...)
}

// room returns an empty slice of that capacity.
func (h *heap) room(size int) []byte {
	if size > heapPiece {
		return make([]byte, 0, size)
	}
	if h.used == 0 || cap(h.pieces[h.used-1])-len(h.pieces[h.used-1]) < size {
		if h.used == len(h.pieces) {
			h.pieces = append(h.pieces, make([]byte, 0, heapPiece))
		}
		h.used++
	}
	piece := &h.pieces[h.used-1]
	from := len(*piece)
	*piece = (*piece)[:from+size]
	return (*piece)[from:from:len(*piece)]
}

// reset forgets what lies in the heap.
func (h *heap) reset() {
	h.pieces = h.pieces[:min(len(h.pieces), heapKept)]
	for i := range h.pieces {
		h.pieces[i] = h.pieces[i][:0]
	}
	h.used = 0
}
