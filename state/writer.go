package state

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	minPause = 100 * time.Millisecond
	maxPause = 10 * time.Second

	// A circuit that changes at every commit is written once for all of them. What waits is read again from the
	// changelog after a kill, and takes memory until it is written.
	restBetween = 4 * time.Second // From the end of one cycle to the next.
	moreMost    = 96 << 20        // Bytes that wait more than at its beginning: then the next cycle begins at once.
	purgeMax    = 1000            // keys of a wiped partition deleted in one go
)

// Flush waits until everything saved before the call is on disk, or the context ends. It does not wait for a back-off
// to end: it makes the writer try now.
func (s *Store) Flush(ctx context.Context) error {
	written := make(chan struct{})
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.waiters = append(s.waiters, written)
	s.mu.Unlock()
	poke(s.hurry)
	select {
	case <-written:
		return nil
	case <-s.done:
		select {
		case <-written:
			return nil
		default:
			return ErrClosed
		}
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("flush store %s: %w", s.dir, context.Cause(ctx)), s.Stats().LastError)
	}
}

// drain returns once no more than so many bytes wait to be written, or the writer fails, or the context ends.
func (s *Store) drain(ctx context.Context, most int64) error {
	for {
		s.mu.Lock()
		cycled, closed, failing := s.cycled, s.closed, s.lastErr != nil
		s.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case failing || s.waiting() <= most:
			return nil
		}
		select {
		case <-cycled:
		case <-ctx.Done():
			return fmt.Errorf("fill store %s: %w", s.dir, context.Cause(ctx))
		}
	}
}

// waiting returns how many bytes wait to be written, about.
func (s *Store) waiting() (sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		p.mu.Lock()
		sum += p.bytes
		p.mu.Unlock()
	}
	return sum
}

// write is the writer: it writes what waits every so often, and once more at the end.
func (s *Store) write() {
	defer close(s.done)
	var pause time.Duration
	for last := false; !last; {
		last = s.await(pause)
		more, err := s.cycle(last)
		s.note(err)
		switch {
		case err != nil:
			pause = min(max(2*pause, minPause), maxPause)
		case more:
			poke(s.hurry)
			fallthrough
		default:
			pause = 0
		}
	}
}

// await returns when it is time for the next cycle: when something waits and the writer has rested, or much waits;
// after a failure, when the pause is over. It reports whether the store is being closed.
func (s *Store) await(pause time.Duration) (closing bool) {
	if pause > 0 {
		_, closing = s.sleep(pause, nil)
		return closing
	}
	if woken, closing := s.sleep(restBetween, s.full); woken {
		return closing
	}
	_, closing = s.sleep(forever, s.wake)
	return closing
}

const forever = time.Duration(math.MaxInt64)

// sleep waits for a while, for a word, or for somebody who is in a hurry or closes the store.
func (s *Store) sleep(d time.Duration, word <-chan struct{}) (woken, closing bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, false
	case <-word:
		return true, false
	case <-s.hurry:
		return true, false
	case <-s.stop:
		return true, true
	}
}

// cycle writes all that waits, then tidies up a little. It reports whether there is more to tidy up.
func (s *Store) cycle(last bool) (more bool, err error) {
	s.mu.Lock()
	waiters := s.waiters
	s.waiters = nil
	parts := make([]*part, 0, len(s.parts))
	for _, p := range s.parts {
		parts = append(parts, p)
	}
	s.mu.Unlock()
	slices.SortFunc(parts, func(a, b *part) int { return int(a.partition) - int(b.partition) })

	err = s.flushParts(parts)
	if err != nil {
		s.mu.Lock()
		s.waiters = append(waiters, s.waiters...)
		s.mu.Unlock()
		return false, err
	}
	s.note(nil)
	for _, written := range waiters {
		close(written)
	}
	if last {
		return false, nil
	}
	return s.tidy(parts)
}

// flushParts writes what waits for each partition, its epoch first and its position last.
func (s *Store) flushParts(parts []*part) error {
	s.more.Store(0)
	var due []*part
	for _, p := range parts {
		if p.waits() {
			due = append(due, p)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return s.withBadger(func(db *badger.DB) error { return s.writeAll(db, due) })
}

// heldMost is how many bytes are taken before those that were are on their way to the disk, and leave memory.
const heldMost = 8 << 20

// writeAll syncs between the values and the positions: a position must not outlive a value that it covers. See the
// package comment for what a sync does not reach. A partition's values are taken when their turn comes, as what was
// taken lies in memory beside what is saved meanwhile.
func (s *Store) writeAll(db *badger.DB, parts []*part) error {
	b := batch{store: s, db: db}
	defer b.discard()
	var all, held []taken
	defer func() {
		for _, t := range held {
			t.giveBack()
		}
	}()
	bytes := int64(0)
	for i, p := range parts {
		t := p.take()
		all, held, bytes = append(all, t), append(held, t), bytes+t.bytes
		if err := t.write(&b); err != nil {
			return err
		}
		if bytes < heldMost && i < len(parts)-1 {
			continue
		}
		if err := b.flush(); err != nil {
			return err
		}
		for _, t := range held {
			t.release()
		}
		held, bytes = held[:0], 0
	}
	if err := db.Sync(); err != nil {
		return err
	}
	for _, t := range all {
		if t.saves == 0 {
			continue
		}
		if err := b.put(positionKey(t.part.partition, t.epoch), encodePosition(t.position)); err != nil {
			return err
		}
	}
	if err := b.flush(); err != nil {
		return err
	}
	for _, t := range all {
		t.settle()
	}
	return nil
}

// write adds the epoch, where it is new, and the values to a batch.
func (t taken) write(b *batch) error {
	partition := t.part.partition
	if t.wiped {
		if err := b.put(epochKey(partition), binary.BigEndian.AppendUint32(nil, t.epoch)); err != nil {
			return err
		}
	}
	for circuit, value := range t.changes {
		if err := b.put(valueKey(partition, t.epoch, circuit), value); err != nil {
			return fmt.Errorf("write partition %d, circuit %q: %w", partition, circuit, err)
		}
	}
	return nil
}

// withBadger calls a function that writes, if Badger can be written to. Badger ends the process when it is written to
// after it could not begin a new log, so a place where none can be made is not tried, and a database that no longer
// answers after an error is not written to any more.
func (s *Store) withBadger(f func(db *badger.DB) error) error {
	if s.broken != nil {
		return s.broken
	}
	if s.db.Load() == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	if err := s.probe(); err != nil {
		return err
	}
	db := s.db.Load()
	err := guard(func() error { return f(db) })
	if err == nil || isFull(err) {
		return err
	}
	if dead := view(db, func(txn *badger.Txn) error { return scan(txn, []byte{epochKeys}, ignore) }); dead != nil {
		s.broken = fmt.Errorf("badger is broken until the next start: %w", errors.Join(err, dead))
		return s.broken
	}
	return err
}

// probe makes a file where Badger makes its own.
func (s *Store) probe() error {
	name := filepath.Join(s.badgerDir(), "probe")
	if err := os.WriteFile(name, make([]byte, 4096), 0o644); err != nil {
		return err
	}
	return os.Remove(name)
}

// note keeps account of how the last cycle went.
func (s *Store) note(err error) {
	if err != nil {
		s.failed(err)
		return
	}
	s.mu.Lock()
	recovered := s.lastErr != nil
	s.lastErr = nil
	s.turnOver()
	s.mu.Unlock()
	if recovered {
		s.log.Info("store writes again")
	}
}

// failed counts an error, and logs the first of a row.
func (s *Store) failed(err error) {
	s.mu.Lock()
	first := s.lastErr == nil
	s.errors++
	s.lastErr = err
	s.turnOver()
	s.mu.Unlock()
	if first {
		s.log.Error("store does not write and goes on in memory", "err", err)
	}
}

// turnOver wakes those who await the end of a cycle. The caller holds the mutex.
func (s *Store) turnOver() {
	close(s.cycled)
	s.cycled = make(chan struct{})
}

func ignore([]byte, []byte) error { return nil }
