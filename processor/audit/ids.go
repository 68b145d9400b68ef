package audit

import (
	"maps"

	"github.com/cespare/xxhash/v2"
)

// ids tells of which outcomes it is sure whether they repeat one that their circuit remembers, where the circuit may
// remember some of before the range. A circuit remembers the ids that came anew last, and one that it remembers does
// not come anew: so what it remembered before the range decides until when it remembers what came in the range, and
// where the same ids come again and again that never ends. For all it may have remembered, this bounds how many ids
// came anew. What the core makes of the same ids is one of the ways that it may have been.
type ids struct {
	alike bool // The circuit remembers what the core does: nothing is unsure any more.

	last  map[uint64]sighting // By the hash of an id. Any other is surely not remembered, in the second span and later.
	span  int32               // Spans of so many different ids that none of before is remembered at their end.
	here  int32               // Different ids in this span.
	least int32               // Ids that came anew, at least.
	most  int32               // And at most.
	row   int32               // Of the ids that came last, those that surely came anew, without one that is not sure.
}

// sighting is when an id came, in ids that came anew by then.
type sighting struct {
	span   int32
	latest int32 // It came anew no later, counted at least.
	anew   int32 // It surely came anew then last, counted at most; 0 where that is not known.
}

const (
	idsKept = 64 // That a circuit remembers.

	// spanned is how many different ids there are in a span: those that were remembered before it do not come anew,
	// and as many others do, which is enough for all of before to be forgotten.
	spanned = 2 * idsKept
)

// sees takes an id, and reports whether it is sure that the circuit remembers it, or that it does not.
func (i *ids) sees(id string) bool {
	if i.alike || id == "" {
		return true
	}
	h := xxhash.Sum64String(id)
	last, seen := i.last[h]
	if !seen || last.span != i.span {
		i.here++
	}
	sure, next := true, last
	switch {
	case !seen && i.span > 0, seen && i.least-last.latest >= idsKept:
		i.least, i.most, i.row = i.least+1, i.most+1, i.row+1
		next.latest, next.anew = i.least, i.most
	case last.anew > 0 && i.most-last.anew < idsKept:
	default:
		i.most, i.row = i.most+1, 0
		sure, next.latest = false, i.least
	}
	if next.span = i.span; i.last == nil {
		i.last = map[uint64]sighting{}
	}
	i.last[h] = next
	switch {
	case i.row == idsKept:
		*i = ids{alike: true}
	case i.here == spanned:
		maps.DeleteFunc(i.last, func(_ uint64, s sighting) bool { return s.span < i.span })
		i.span, i.here = i.span+1, 0
	}
	return sure
}
