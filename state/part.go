package state

import (
	"bytes"
	"context"
	"maps"
	"sync"
)

// part is what the store knows of a partition in memory: where it stands, and what waits to be written. A value moves
// from pending to writing when the writer takes it, and leaves when it is on disk. Values in the maps never change.
type part struct {
	partition int32

	mu       sync.Mutex
	epoch    uint32 // part of the partition's keys; a wipe takes the next one
	wiped    bool   // epoch is newer than the one on disk
	onDisk   uint32 // the epoch on disk
	garbage  bool   // there may be keys of epochs before onDisk
	pending  map[string][]byte
	writing  map[string][]byte
	spare    map[string][]byte // empty: the next pending, so that it need not grow again
	bytes    int64             // of both, about
	position Position
	known    bool // there is a position
	saves    uint64
	stored   uint64 // saves as it was when the position on disk was saved
	written  int64  // the offset on disk, or the first that was saved if none is
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
// values are the store's from now on: nobody may change their bytes. A later change of a circuit takes the place of one
// that is not written yet, so what waits is never more than the partition's circuits.
func (s *Store) Save(partition int32, changes []Change, position Position) {
	p := s.part(partition)
	if p == nil {
		return
	}
	size := p.save(changes, position)
	poke(s.wake)
	if s.saved.Add(int64(size)) > waitingMost {
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

// save returns how many bytes of values it took.
func (p *part) save(changes []Change, position Position) (size int) {
	position.Progress = bytes.Clone(position.Progress)
	p.mu.Lock()
	if p.pending == nil {
		p.pending, p.spare = p.spare, nil
	}
	if p.pending == nil {
		p.pending = make(map[string][]byte, len(changes))
	}
	for _, c := range changes {
		if old, waits := p.pending[c.Circuit]; waits {
			p.bytes -= weight(c.Circuit, old)
		}
		p.pending[c.Circuit] = c.Value
		p.bytes += weight(c.Circuit, c.Value)
		size += len(c.Value)
	}
	if !p.known {
		p.written = position.Offset
	}
	p.position, p.known = position, true
	p.saves++
	p.mu.Unlock()
	return size
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
	p.pending, p.writing, p.bytes = nil, nil, 0
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

// take hands what waits to the writer. It reports whether there is anything.
func (p *part) take() (taken, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 && p.saves == p.stored && !p.wiped {
		return taken{}, false
	}
	t := taken{part: p, epoch: p.epoch, wiped: p.wiped, changes: p.pending, bytes: p.bytes, position: p.position}
	if p.saves != p.stored {
		t.saves = p.saves
	}
	p.writing, p.pending = p.pending, nil
	return t, true
}

// spareMost is for how many changes a map is kept.
const spareMost = 16 << 10

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
	if len(p.writing) <= spareMost {
		clear(p.writing)
		p.spare = p.writing
	}
	p.wiped, p.writing = false, nil
	p.bytes -= t.bytes
	if t.saves > 0 {
		p.stored, p.written = t.saves, t.position.Offset
	}
}

// giveBack puts what could not be written below what came meanwhile. It is copied: it may have to wait for long, and
// must not keep the memory around it, which others shared with it.
func (t taken) giveBack() {
	p := t.part
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoch != t.epoch || p.writing == nil {
		return
	}
	all := p.writing
	for circuit, value := range all {
		all[circuit] = bytes.Clone(value)
	}
	for circuit, value := range p.pending {
		if old, waits := all[circuit]; waits {
			p.bytes -= weight(circuit, old)
		}
		all[circuit] = value
	}
	p.pending, p.writing = all, nil
}

// weight is what a change that waits takes in memory, about.
func weight(circuit string, value []byte) int64 { return int64(len(circuit)+len(value)) + 96 }

// look returns what waits for a circuit, and whether anything does. A nil value is a deletion.
func (p *part) look(circuit string) (value []byte, waits bool, epoch uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value, waits = p.pending[circuit]
	if !waits {
		value, waits = p.writing[circuit]
	}
	return value, waits, p.epoch
}

// waiting returns a copy of all that waits, and the epoch that it belongs to.
func (p *part) waiting() (map[string][]byte, uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string][]byte, len(p.writing)+len(p.pending))
	maps.Copy(all, p.writing)
	maps.Copy(all, p.pending)
	return all, p.epoch
}

// poke leaves a note in a channel of one, unless there is one already.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
