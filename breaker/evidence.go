package breaker

import (
	"encoding/binary"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

const (
	maxEvidence  = 10  // References that a cause names at most.
	maxReference = 512 // Bytes of an id or the like that are kept.
)

// evidence holds, for each counter that keeps something, references to the newest outcomes that it matched. They lie
// one after the other in one piece of memory, oldest first, each: its length (2 bytes), a bit for each counter's slot
// (width bytes), time (6), kind, severity, offset, then id, stage, reason code and evidence reference, each behind its
// length.
type evidence struct {
	width int
	refs  []byte
	held  []uint8 // References by slot.
}

// bind makes room for so many slots.
func (e *evidence) bind(slots int) { *e = evidence{width: (slots + 7) / 8, held: make([]uint8, slots)} }

func (e *evidence) clear() {
	e.refs = e.refs[:0]
	clear(e.held)
}

// add appends a reference, and drops those that no counter needs any more.
func (e *evidence) add(matched uint64, t time.Time, o *schemas.Outcome, kind uint8, offset int64) {
	begin := len(e.refs)
	b := append(e.refs, 0, 0)
	for i := range e.width {
		b = append(b, byte(matched>>(8*i)))
	}
	ms := t.UnixMilli()
	b = append(b, byte(ms>>40), byte(ms>>32), byte(ms>>24), byte(ms>>16), byte(ms>>8), byte(ms))
	b = append(b, kind, uint8(o.Severity))
	b = binary.AppendUvarint(b, uint64(offset))
	for _, s := range [...]string{o.ID, o.Stage, o.ReasonCode, o.EvidenceRef} {
		if len(s) > maxReference {
			s = schemas.Cut(s, maxReference)
		}
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	binary.BigEndian.PutUint16(b[begin:], uint16(len(b)-begin))
	e.refs = b
	e.hold(matched)
}

// hold counts a new reference for the given slots, and takes the oldest from each that has more than it may have.
func (e *evidence) hold(slots uint64) {
	over := uint64(0)
	for m := slots; m != 0; m &= m - 1 {
		if slot := lowest(m); e.held[slot] < maxEvidence {
			e.held[slot]++
		} else {
			over |= m & -m
		}
	}
	for at := 0; over != 0; {
		mask := e.mask(at)
		at = e.strip(at, mask&over)
		over &^= mask
	}
}

// strip takes a reference from the given slots, and drops it where no slot is left. It returns where the next one is.
func (e *evidence) strip(at int, slots uint64) int {
	size, left := e.size(at), e.mask(at)&^slots
	if left == 0 {
		e.refs = append(e.refs[:at], e.refs[at+size:]...)
		return at
	}
	for i := range e.width {
		e.refs[at+2+i] = byte(left >> (8 * i))
	}
	return at + size
}

// unmatch takes all references from one slot.
func (e *evidence) unmatch(slot int) {
	for at := 0; at < len(e.refs); {
		at = e.strip(at, 1<<slot)
	}
	e.held[slot] = 0
}

// newest returns the references of one slot that keep says yes to, newest first.
func (e *evidence) newest(slot int, kinds *kindTable, partition int32, keep func(time.Time) bool) []schemas.Evidence {
	var found []schemas.Evidence
	for at := 0; at < len(e.refs); at += e.size(at) {
		if e.mask(at)&(1<<slot) == 0 {
			continue
		}
		if ref := e.read(at, kinds, partition); keep(ref.Time) {
			found = append([]schemas.Evidence{ref}, found...)
		}
	}
	return found
}

func (e *evidence) read(at int, kinds *kindTable, partition int32) schemas.Evidence {
	b := e.refs[at+2+e.width : at+e.size(at)]
	ms := int64(int8(b[0]))<<40 | int64(binary.BigEndian.Uint32(b[1:]))<<8 | int64(b[5])
	offset, width := binary.Uvarint(b[8:])
	ref := schemas.Evidence{
		Time: time.UnixMilli(ms).UTC(), Partition: partition, Offset: int64(offset),
		Kind: kinds.name(b[6]), Severity: schemas.Severity(b[7]),
	}
	b = b[8+width:]
	for _, s := range [...]*string{&ref.ID, &ref.Stage, &ref.ReasonCode, &ref.EvidenceRef} {
		n, width := binary.Uvarint(b)
		*s = string(b[width : width+int(n)])
		b = b[width+int(n):]
	}
	return ref
}

func (e *evidence) size(at int) int { return int(binary.BigEndian.Uint16(e.refs[at:])) }

func (e *evidence) mask(at int) uint64 {
	m := uint64(0)
	for i := range e.width {
		m |= uint64(e.refs[at+2+i]) << (8 * i)
	}
	return m
}
