package state

import (
	"bytes"
	"context"
	"sync"
)

// part is what the store knows of a partition in memory: where it stands, and what waits to be written. A value moves
// from pending to writing when the writer takes it, and leaves when it is on disk.
type part struct {
	partition int32

	mu       sync.Mutex
	epoch    uint32 // part of the partition's keys; a wipe takes the next one
	wiped    bool   // epoch is newer than the one on disk
	onDisk   uint32 // the epoch on disk
	garbage  bool   // there may be keys of epochs before onDisk
	pending  waiting
	writing  waiting // never changes, as the writer reads it without the mutex
	spare    waiting // empty: the next pending, so that it need not grow again
	bytes    int64   // of pending and writing, about
	position Position
	known    bool // there is a position
	saves    uint64
	stored   uint64 // saves as it was when the position on disk was saved
	written  int64  // the offset on disk, or the first that was saved if none is
}

// waiting is values by circuit, a nil one where a circuit is deleted, and the memory that they lie in.
type waiting struct {
	values map[string][]byte
	heap   heap
}

// taken is what the writer took of a part, to be written under one epoch.
type taken struct {
	part     *part
	epoch    uint32
	wiped    bool
	changes  map[string][]byte
	bytes    int64
	position Position
	saves    uint64 // 0 if the position does not need writing
}

// Save takes the changes of a partition and the position after them, and returns without waiting for the disk. The
// values are copied. A later change of a circuit takes the place of one that is not written yet, so what waits is never
// more than the partition's circuits.
func (s *Store) Save(partition int32, changes []Change, position Position) {
	p := s.part(partition)
	if p == nil {
		return
	}
	more := p.save(changes, position)
	poke(s.wake)
	if s.more.Add(more) > moreMost {
		poke(s.full)
	}
}

// Fill is Save for a partition that is read from far behind. It lets the writer sleep until much waits, as most of it
// is overwritten before that, and does not return while more waits than memory should hold. Where the disk takes
// nothing, all of it stays in memory. The last changes have to be Saved.
func (s *Store) Fill(ctx context.Context, partition int32, changes []Change, position Position) error {
	p := s.part(partition)
	if p == nil {
		return ErrClosed
	}
	p.save(changes, position)
	if s.waiting() >= fillAsleep {
		poke(s.wake)
		poke(s.full)
	}
	return s.drain(ctx, fillMost)
}

// Bytes of all partitions that wait to be written, in a Fill.
const (
	fillAsleep = 64 << 20  // until the writer is woken
	fillMost   = 128 << 20 // until the caller has to wait
)

// save returns how many bytes more wait than before.
func (p *part) save(changes []Change, position Position) (more int64) {
	position.Progress = bytes.Clone(position.Progress)
	p.mu.Lock()
	if p.pending.values == nil {
		p.pending, p.spare = p.spare, waiting{}
	}
	if p.pending.values == nil {
		p.pending.values = make(map[string][]byte, len(changes))
	}
	values := p.pending.values
	for _, c := range changes {
		old, waits := values[c.Circuit]
		if waits {
			more -= weight(c.Circuit, old)
		}
		value := p.pending.heap.put(old, c.Value)
		values[c.Circuit] = value
		more += weight(c.Circuit, value)
	}
	p.bytes += more
	if !p.known {
		p.written = position.Offset
	}
	p.position, p.known = position, true
	p.saves++
	p.mu.Unlock()
	return more
}

// Wipe forgets everything about a partition, its position too, at once for every reader. On disk its keys get a new
// prefix, and what is under the old one is deleted little by little. A crash before the new prefix is written brings
// back the old values together with their old position.
func (s *Store) Wipe(partition int32) error {
	p := s.part(partition)
	if p == nil {
		return ErrClosed
	}
	p.mu.Lock()
	p.epoch++
	p.wiped = true
	p.pending, p.writing, p.bytes = waiting{}, waiting{}, 0
	p.position, p.known, p.written = Position{}, false, 0
	p.stored = p.saves
	p.mu.Unlock()
	poke(s.wake)
	return nil
}

// Position returns the position that was saved last, and whether there is one.
func (s *Store) Position(partition int32) (Position, bool, error) {
	p := s.part(partition)
	if p == nil {
		return Position{}, false, ErrClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	position := p.position
	position.Progress = bytes.Clone(position.Progress)
	return position, p.known, nil
}

// waits tells whether there is anything to write.
func (p *part) waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending.values) > 0 || p.saves != p.stored || p.wiped
}

// take hands what waits to the writer.
func (p *part) take() taken {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := taken{
		part: p, epoch: p.epoch, wiped: p.wiped, changes: p.pending.values, bytes: p.bytes, position: p.position,
	}
	if p.saves != p.stored {
		t.saves = p.saves
	}
	p.writing, p.pending = p.pending, waiting{}
	return t
}

// spareMost is for how many changes a map is kept.
const spareMost = 16 << 10

// release gives the memory of what was taken free: Badger has it, and whoever looks finds it there.
func (t taken) release() {
	p := t.part
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoch != t.epoch {
		return
	}
	if len(p.writing.values) <= spareMost {
		clear(p.writing.values)
		p.writing.heap.reset()
		p.spare = p.writing
	}
	p.writing = waiting{}
	p.bytes -= t.bytes
}

// settle notes that what was taken is on disk. If the partition was wiped meanwhile, it has become garbage.
func (t taken) settle() {
	p := t.part
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.wiped {
		p.onDisk, p.garbage = t.epoch, true
	}
	if p.epoch != t.epoch {
		return
	}
	p.wiped = false
	if t.saves > 0 {
		p.stored, p.written = t.saves, t.position.Offset
	}
}

// giveBack puts what could not be written below what came meanwhile. It all moves into new memory: it may have to wait
// for long, and must not keep the places of what was saved over.
func (t taken) giveBack() {
	p := t.part
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoch != t.epoch || p.writing.values == nil {
		return
	}
	all := waiting{values: p.writing.values}
	for circuit, value := range p.pending.values {
		if old, waits := all.values[circuit]; waits {
			p.bytes -= weight(circuit, old)
		}
		all.values[circuit] = value
	}
	for circuit, value := range all.values {
		all.values[circuit] = all.heap.put(nil, value)
	}
	p.pending, p.writing = all, waiting{}
}

// weight is what a change that waits takes in memory, about.
func weight(circuit string, value []byte) int64 { return int64(len(circuit)+cap(value)) + 96 }

// look returns a copy of what waits for a circuit, and whether anything does. A nil value is a deletion.
func (p *part) look(circuit string) (value []byte, waits bool, epoch uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value, waits = p.pending.values[circuit]
	if !waits {
		value, waits = p.writing.values[circuit]
	}
	return bytes.Clone(value), waits, p.epoch
}

// copyAll returns a copy of all that waits, and the epoch that it belongs to.
func (p *part) copyAll() (all map[string][]byte, epoch uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all = make(map[string][]byte, len(p.writing.values)+len(p.pending.values))
	var memory heap
	for circuit, value := range p.writing.values {
		if _, newer := p.pending.values[circuit]; !newer {
			all[circuit] = memory.put(nil, value)
		}
	}
	for circuit, value := range p.pending.values {
		all[circuit] = memory.put(nil, value)
	}
	return all, p.epoch
}

// poke leaves a note in a channel of one, unless there is one already.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
