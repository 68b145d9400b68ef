package breaker

import (
	"encoding/binary"
	"slices"

	"github.com/fusebox-project/fusebox/windows"
)

// AppendBinary appends the counts as bytes that outlive their policy: counters go by a hash of what they count, rules
// and declared kinds by name.
func (c *Counts) AppendBinary(b []byte, p *Policies, policy *Policy) []byte {
	b = binary.AppendUvarint(b, uint64(len(c.declared)))
	for _, kind := range c.declared {
		b = appendString(append(b, kind), p.kinds.name(kind))
	}
	b = binary.AppendUvarint(b, uint64(policy.slots))
	for i := range policy.counters {
		if k := &policy.counters[i]; k.slot >= 0 {
			b = c.live[k.slot].append(binary.BigEndian.AppendUint64(b, k.key), k.kind)
		}
	}
	b = appendCause(b, c.Degraded)
	b = c.appendFlags(b, policy)
	b = append(b, uint8(c.evidence.width))
	b = binary.AppendUvarint(b, uint64(len(c.evidence.refs)))
	return append(b, c.evidence.refs...)
}

func (c *Counts) appendFlags(b []byte, policy *Policy) []byte {
	for m := c.flags; m != 0; m &= m - 1 {
		b = appendString(append(b, 1), policy.Rules[lowest(m)].Name)
	}
	for _, name := range c.lost {
		b = appendString(append(b, 1), name)
	}
	return append(b, 0)
}

// flag notes that the rule of a name degraded when it was last judged.
func (c *Counts) flag(name string, policy *Policy) {
	i := slices.IndexFunc(policy.Rules, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		c.lost = append(c.lost, name)
		return
	}
	c.flags |= 1 << i
}

// append appends a counter's content behind its length.
func (l *live) append(b []byte, kind RuleType) []byte {
	begin := len(b)
	b = append(b, 0, 0, 0)
	if kind != Consecutive {
		b = l.window.AppendBinary(b)
	} else {
		b = binary.AppendUvarint(b, uint64(l.streak))
		b = binary.AppendVarint(b, l.since)
		for _, x := range l.byKind {
			b = binary.AppendUvarint(append(b, x.Kind), uint64(x.Count))
			b = binary.AppendUvarint(b, uint64(x.Weight))
		}
	}
	n := len(b) - begin - 3
	b[begin], b[begin+1], b[begin+2] = byte(n>>16), byte(n>>8), byte(n)
	return b
}

// DecodeCounts reads what AppendBinary wrote, under the same policy or another: what that counts too is kept, the rest
// is dropped. It returns what is left of the bytes.
func DecodeCounts(from []byte, p *Policies, policy *Policy) (Counts, []byte, error) {
	c := NewCounts(policy)
	r := decoder{b: from}
	rename := r.kinds(&p.kinds, &c)
	slots := make([]int, r.count())
	for i := range slots {
		slots[i] = r.live(&c, policy, rename)
	}
	c.Degraded = r.cause()
	for r.byte() == 1 {
		c.flag(r.string(), policy)
	}
	width := int(r.byte())
	refs := r.take(r.uvarint())
	if r.err == nil && !c.evidence.restore(refs, width, slots, rename) {
		r.fail("evidence is corrupt")
	}
	return c, r.b, r.err
}

// kinds reads the names of declared kinds. It returns how kinds are numbered now; those nobody declares any more share
// the number of the unknown.
func (r *decoder) kinds(kinds *kindTable, c *Counts) func(uint8) uint8 {
	var table [256]uint8
	for i := range firstDeclared {
		table[i] = i
	}
	for range r.count() {
		old := r.byte()
		table[old] = kinds.index(r.string())
		c.declare(table[old])
	}
	return func(kind uint8) uint8 { return table[kind] }
}

// live reads one counter's content. It returns the slot that it has now, or -1.
func (r *decoder) live(c *Counts, policy *Policy, rename func(uint8) uint8) int {
	key := r.uint64()
	size := r.take(3)
	if size == nil {
		return -1
	}
	in := decoder{b: r.take(uint64(size[0])<<16 | uint64(size[1])<<8 | uint64(size[2]))}
	for i := range policy.counters {
		k := &policy.counters[i]
		if k.key != key || k.slot < 0 {
			continue
		}
		l := &c.live[k.slot]
		if k.kind != Consecutive {
			if _, err := l.window.DecodeBinary(in.b, rename); err != nil {
				r.fail(err.Error())
			}
			return k.slot
		}
		l.read(&in, rename)
		if in.err != nil {
			r.fail(in.err.Error())
		}
		return k.slot
	}
	return -1
}

func (l *live) read(in *decoder, rename func(uint8) uint8) {
	l.streak = int64(in.uvarint())
	since, n := binary.Varint(in.b)
	if n <= 0 {
		in.fail("no time of the streak")
		return
	}
	in.b = in.b[n:]
	l.since = since
	for len(in.b) > 0 {
		kind := rename(in.byte())
		l.addByKind(windows.Tally{Kind: kind, Matched: true, Count: int64(in.uvarint()), Weight: int64(in.uvarint())})
	}
}

// restore takes over references under other numbers of slots and kinds. It reports whether they were sound.
func (e *evidence) restore(refs []byte, width int, slots []int, rename func(uint8) uint8) bool {
	old := evidence{width: width, refs: refs}
	if width != (len(slots)+7)/8 {
		return false
	}
	for at := 0; at < len(refs); at += old.size(at) {
		if len(refs)-at < 2 || old.size(at) > len(refs)-at || !old.sound(at) {
			return false
		}
		now := uint64(0)
		for m := old.mask(at); m != 0; m &= m - 1 {
			slot := lowest(m)
			if slot >= len(slots) {
				return false
			}
			if slots[slot] >= 0 {
				now |= 1 << slots[slot]
			}
		}
		if now == 0 {
			continue
		}
		e.append(now, refs[at+2+width:at+old.size(at)], rename)
	}
	return true
}

// append copies a reference from behind its mask on.
func (e *evidence) append(mask uint64, rest []byte, rename func(uint8) uint8) {
	begin := len(e.refs)
	e.refs = append(e.refs, 0, 0)
	for i := range e.width {
		e.refs = append(e.refs, byte(mask>>(8*i)))
	}
	e.refs = append(e.refs, rest...)
	binary.BigEndian.PutUint16(e.refs[begin:], uint16(len(e.refs)-begin))
	e.hold(mask)
	kind := begin + 2 + e.width + 6
	e.refs[kind] = rename(e.refs[kind])
}

// sound tells whether a reference can be read.
func (e *evidence) sound(at int) bool {
	size := e.size(at)
	if size < 2+e.width+8 {
		return false
	}
	b := e.refs[at+2+e.width+8 : at+size]
	_, n := binary.Uvarint(b)
	for range 4 {
		if n <= 0 || n > len(b) {
			return false
		}
		b = b[n:]
		length, width := binary.Uvarint(b)
		if width <= 0 || length > uint64(len(b)-width) {
			return false
		}
		n = width + int(length)
	}
	return n == len(b) && e.refs[at+2+e.width+7] < severities
}

// Rebind carries what was counted over to a policy of another file.
func (c *Counts) Rebind(from *Policies, was *Policy, to *Policies, is *Policy) Counts {
	next, _, err := DecodeCounts(c.AppendBinary(nil, from, was), to, is)
	if err != nil {
		panic("breaker: counts do not read back: " + err.Error())
	}
	return next
}
