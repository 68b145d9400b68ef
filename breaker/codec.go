package breaker

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// AppendBinary appends the breaker as bytes.
func (b *Breaker) AppendBinary(to []byte) []byte {
	mode := schemas.NoMode
	if b.Override != nil {
		mode = b.Override.Mode
	}
	to = append(to, uint8(b.Phase)|uint8(b.Previous)<<4, uint8(mode))
	to = binary.AppendUvarint(to, uint64(b.Epoch))
	to = binary.AppendUvarint(to, uint64(b.Attempt))
	for _, t := range [...]time.Time{b.ChangedAt, b.RetryAt, b.Recovered} {
		to = appendTime(to, t)
	}
	to = appendCause(to, b.Cause)
	for _, n := range [...]int{b.Probe.Successes, b.Probe.Failures, b.Probe.Inconclusive, len(b.Leases)} {
		to = binary.AppendUvarint(to, uint64(n))
	}
	for _, l := range b.Leases {
		to = appendTime(appendString(appendString(to, l.ID), l.Holder), l.ExpiresAt)
	}
	to = binary.AppendUvarint(to, uint64(len(b.Ramp)))
	for _, r := range b.Ramp {
		to = appendTime(binary.BigEndian.AppendUint64(to, math.Float64bits(r.Share)), r.Until)
	}
	if b.Override != nil {
		to = appendTime(appendString(appendString(to, b.Override.Actor), b.Override.Reason), b.Override.Until)
	}
	to = binary.AppendUvarint(to, uint64(len(b.used)))
	for _, id := range b.used {
		to = binary.BigEndian.AppendUint64(to, id)
	}
	return to
}

// DecodeBinary reads what AppendBinary wrote and returns what is left of the bytes.
func (b *Breaker) DecodeBinary(from []byte) ([]byte, error) {
	r := decoder{b: from}
	phases := r.byte()
	*b = Breaker{Phase: schemas.Phase(phases & 15), Previous: schemas.Phase(phases >> 4)}
	mode := schemas.Mode(r.byte())
	b.Epoch, b.Attempt = int64(r.uvarint()), int(r.uvarint())
	b.ChangedAt, b.RetryAt, b.Recovered = r.time(), r.time(), r.time()
	b.Cause = r.cause()
	b.Probe = schemas.Probe{Successes: int(r.uvarint()), Failures: int(r.uvarint()), Inconclusive: int(r.uvarint())}
	for range r.count() {
		b.Leases = append(b.Leases, schemas.Lease{ID: r.string(), Holder: r.string(), ExpiresAt: r.time()})
	}
	for range r.count() {
		b.Ramp = append(b.Ramp, schemas.RampStep{Share: math.Float64frombits(r.uint64()), Until: r.time()})
	}
	if mode != schemas.NoMode {
		b.Override = &schemas.OverrideInForce{Mode: mode, Actor: r.string(), Reason: r.string(), Until: r.time()}
	}
	for range r.count() {
		b.used = append(b.used, r.uint64())
	}
	if r.err == nil && (b.Phase > schemas.HalfOpen || b.Previous > schemas.Disabled || mode > schemas.Disable) {
		r.fail("breaker: no such state")
	}
	return r.b, r.err
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), t.UnixMilli())
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendCause(b []byte, c *schemas.Cause) []byte {
	if c == nil {
		return append(b, 0)
	}
	begin := len(b)
	b = schemas.AppendCause(append(b, 0, 0, 0, 0), c)
	binary.BigEndian.PutUint32(b[begin:], uint32(len(b)-begin-4)|1<<31)
	return b
}

// decoder reads values off bytes. Once it has failed it reads zeros.
type decoder struct {
	b   []byte
	err error
}

func (r *decoder) fail(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s, with %d bytes left", why, len(r.b))
	}
	r.b = nil
}

// take returns the next n bytes, or nil.
func (r *decoder) take(n uint64) []byte {
	if uint64(len(r.b)) < n {
		r.fail("value is cut short")
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *decoder) byte() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("no number")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count returns a number of things that follow, each of at least one byte.
func (r *decoder) count() uint64 {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail("more things than bytes")
		return 0
	}
	return n
}

func (r *decoder) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *decoder) time() time.Time {
	if r.byte() == 0 {
		return time.Time{}
	}
	ms, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("no time")
		return time.Time{}
	}
	r.b = r.b[n:]
	return time.UnixMilli(ms).UTC()
}

func (r *decoder) string() string { return string(r.take(r.uvarint())) }

func (r *decoder) cause() *schemas.Cause {
	if len(r.b) > 0 && r.b[0] == 0 {
		r.b = r.b[1:]
		return nil
	}
	head := r.take(4)
	if head == nil {
		return nil
	}
	text := r.take(uint64(binary.BigEndian.Uint32(head) &^ (1 << 31)))
	if text == nil {
		return nil
	}
	c, err := schemas.DecodeCause(text)
	if err != nil {
		r.fail(fmt.Sprintf("cause: %v", err))
		return nil
	}
	return &c
}
