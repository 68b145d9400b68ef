package breaker

import (
	"encoding/binary"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// maxEvidence is how many references a cause names at most.
const maxEvidence = 10

// evidence holds, for each counter that keeps something, references to the newest outcomes that it matched. They lie one
// after the other in one piece of memory, oldest first, each: its length (2 bytes), a bit for each counter's slot (width
// bytes), time (6), kind, severity, offset, then id, stage, reason code and evidence reference, each behind its length.
type evidence struct {
	width int
	refs  []byte
}

func (e *evidence) clear() { e.refs = e.refs[:0] }

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
		n := min(len(s), 512)
		b = binary.AppendUvarint(b, uint64(n))
		b = append(b, s[:n]...)
	}
	binary.BigEndian.PutUint16(b[begin:], uint16(len(b)-begin))
	e.refs = b
	e.prune(matched)
}

// prune takes the oldest reference from each of the given slots that has more than it may have.
func (e *evidence) prune(slots uint64) {
	var held [64]uint8
	for at := 0; at < len(e.refs); at += e.size(at) {
		for m := e.mask(at) & slots; m != 0; m &= m - 1 {
			held[lowest(m)]++
		}
	}
	over := uint64(0)
	for m := slots; m != 0; m &= m - 1 {
		if held[lowest(m)] > maxEvidence {
			over |= m & -m
		}
	}
	for at := 0; over != 0; {
		size, mask := e.size(at), e.mask(at)
		e.setMask(at, mask&^over)
		over &^= mask
		if e.mask(at) == 0 {
			e.refs = append(e.refs[:at], e.refs[at+size:]...)
		} else {
			at += size
		}
	}
}

// unmatch takes all references from one slot.
func (e *evidence) unmatch(slot int) {
	for at := 0; at < len(e.refs); {
		size := e.size(at)
		e.setMask(at, e.mask(at)&^(1<<slot))
		if e.mask(at) == 0 {
			e.refs = append(e.refs[:at], e.refs[at+size:]...)
		} else {
			at += size
		}
	}
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

func (e *evidence) setMask(at int, m uint64) {
	for i := range e.width {
		e.refs[at+2+i] = byte(m >> (8 * i))
	}
}
