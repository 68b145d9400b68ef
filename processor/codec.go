package processor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
)

// ValueVersion is the version of the form in which circuits are stored.
//
// Version 2 has a shadow at its end: the name of its policy behind its length, and the shadow as a value of version 1
// with the number of its trips. A circuit without one is written as version 1, so that an older Fusebox reads it too.
const ValueVersion = 2

// ErrNewerValue is returned for a value that a newer version of Fusebox wrote.
var ErrNewerValue = errors.New("written by a newer version of Fusebox")

// Value is what a circuit is, for the changelog and the store. It is good until the circuit's next record.
type Value struct{ circuit *circuit }

// Forgotten tells whether nothing is left of the circuit: a tombstone says so.
func (v Value) Forgotten() bool { return v.circuit.forgotten }

// Append appends the value's bytes.
func (v Value) Append(b []byte) []byte { return v.circuit.append(b) }

// head is the beginning of a value: what is needed without reading all of it. Its width is fixed.
type head struct {
	version uint8
	moved   bool
	last    time.Time
}

const headSize = 1 + 1 + 8 + 8 // The last part is the version of the policies, for people and tools.

// append appends the circuit as bytes for the changelog and the store.
func (c *circuit) append(b []byte) []byte {
	moved := byte(0)
	if c.moved() {
		moved = 1
	}
	version := byte(1)
	if c.shadow != nil {
		version = 2
	}
	b = append(b, version, moved)
	b = binary.BigEndian.AppendUint64(b, uint64(c.last.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, c.policies().Number())
	for _, n := range [...]int64{
		c.regime.Number, c.inputs.Outcomes, c.inputs.Signals, c.born.UnixMilli(), c.sequence,
		c.notCounted.Stale, c.notCounted.Neutral, c.notCounted.Duplicate, c.notCounted.Late,
	} {
		b = binary.AppendVarint(b, n)
	}
	b = append(b, uint8(len(c.recent.ids)), c.recent.next)
	for _, id := range c.recent.ids {
		b = binary.BigEndian.AppendUint64(b, id)
	}
	b = c.breaker.AppendBinary(b)
	b = c.counts.AppendBinary(b, c.policies(), c.policy)
	if c.shadow != nil {
		b = append(binary.AppendUvarint(b, uint64(len(c.shadow.policy.Name))), c.shadow.policy.Name...)
		b = c.shadow.Append(b)
	}
	return b
}

func readHead(value []byte) (head, error) {
	if len(value) == 0 {
		return head{}, errors.New("empty value")
	}
	h := head{version: value[0]}
	if h.version > ValueVersion {
		return h, fmt.Errorf("value of version %d, this one reads up to %d: %w", h.version, ValueVersion, ErrNewerValue)
	}
	if h.version == 0 || len(value) < headSize {
		return h, fmt.Errorf("value of version %d with %d bytes is corrupt", h.version, len(value))
	}
	h.moved = value[1] != 0
	h.last = time.UnixMilli(int64(binary.BigEndian.Uint64(value[2:]))).UTC()
	return h, nil
}

// decode reads a circuit under the regime that it was written under, or the oldest one since.
func (c *circuit) decode(name string, value []byte, regimes []Regime) error {
	b, err := c.read(name, value, regimes, nil)
	if err == nil && value[0] > 1 {
		return c.decodeShadow(b)
	}
	if err == nil && len(b) > 0 {
		err = fmt.Errorf("value has %d bytes too many", len(b))
	}
	return err
}

// read reads a circuit, by the policy given or else by that which matches it, and returns what is left of the bytes.
func (c *circuit) read(name string, value []byte, regimes []Regime, by *breaker.Policy) ([]byte, error) {
	h, err := readHead(value)
	if err != nil {
		return nil, err
	}
	*c = circuit{name: strings.Clone(name), last: h.last}
	b, regime, born := value[headSize:], int64(0), int64(0)
	for _, n := range [...]*int64{
		&regime, &c.inputs.Outcomes, &c.inputs.Signals, &born, &c.sequence,
		&c.notCounted.Stale, &c.notCounted.Neutral, &c.notCounted.Duplicate, &c.notCounted.Late,
	} {
		v, width := binary.Varint(b)
		if width <= 0 {
			return nil, errors.New("value is cut short")
		}
		*n, b = v, b[width:]
	}
	c.born = time.UnixMilli(born).UTC()
	c.regime = regimeOf(regime, regimes)
	if c.policy = by; by == nil {
		c.policy = c.policies().For(name)
	}
	if b, err = c.recent.decode(b); err != nil {
		return nil, err
	}
	if b, err = c.breaker.DecodeBinary(b); err != nil {
		return nil, fmt.Errorf("breaker: %w", err)
	}
	if c.counts, b, err = breaker.DecodeCounts(b, c.policies(), c.policy); err != nil {
		return nil, fmt.Errorf("counts: %w", err)
	}
	return b, nil
}

func (r *recent) decode(b []byte) ([]byte, error) {
	if len(b) < 2 || b[0] > recentIDs || b[1] >= recentIDs || len(b) < 2+8*int(b[0]) {
		return nil, errors.New("recent ids are corrupt")
	}
	n := int(b[0])
	r.next = b[1]
	b = b[2:]
	r.ids = make([]uint64, n)
	for i := range r.ids {
		r.ids[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return b[8*n:], nil
}
