package state

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// Load returns the value of a circuit and whether there is one. The value is the caller's to keep. An error means that
// the database is damaged; the next Open then discards it.
func (s *Store) Load(partition int32, circuit string) (value []byte, ok bool, err error) {
	p, err := s.enter(partition)
	if err != nil {
		return nil, false, err
	}
	defer s.readers.Done()
	value, waits, epoch := p.look(circuit)
	if waits {
		return value, value != nil, nil
	}
	db := s.db.Load()
	if db == nil {
		return nil, false, nil
	}
	err = view(db, func(txn *badger.Txn) error {
		item, err := txn.Get(valueKey(partition, epoch, circuit))
		if err != nil {
			return err
		}
		value, err = item.ValueCopy([]byte{})
		return err
	})
	switch {
	case errors.Is(err, badger.ErrKeyNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, s.suspect(fmt.Errorf("load partition %d, circuit %q: %w", partition, circuit, err))
	}
	return value, true, nil
}

// Each calls a function for every circuit of a partition, in no particular order, until it returns an error. It goes by
// what there was when it was called. The value is good during the call alone. The function may call the store.
func (s *Store) Each(partition int32, f func(circuit string, value []byte) error) error {
	return s.walk(partition, "", true, f)
}

// Under is Each for those circuits alone whose names begin with a prefix.
func (s *Store) Under(partition int32, prefix string, f func(circuit string, value []byte) error) error {
	return s.walk(partition, prefix, true, f)
}

// After is Each for the circuits behind a name, in the order of their names, as they are on disk: what waits to be
// written is not seen, so what it shows may be a moment old.
func (s *Store) After(partition int32, name string, f func(circuit string, value []byte) error) error {
	p, err := s.enter(partition)
	if err != nil {
		return err
	}
	defer s.readers.Done()
	_, _, epoch := p.look("")
	db := s.db.Load()
	if db == nil {
		return nil
	}
	c := openCursor(db, prefix(valueKeys, partition, epoch, 0), true)
	defer c.close()
	c.from = append(valueKey(partition, epoch, name), 0)
	return s.each(c, partition, f)
}

// Count returns the number of a partition's circuits. It reads all their keys.
func (s *Store) Count(partition int32) (int, error) {
	n := 0
	err := s.walk(partition, "", false, func(string, []byte) error { n++; return nil })
	return n, err
}

// walk goes through what waits and what is on disk, of the circuits whose names begin so. What waits is copied first:
// what is written meanwhile is then seen twice and skipped once, and never missed.
func (s *Store) walk(partition int32, begin string, values bool, f func(string, []byte) error) error {
	p, err := s.enter(partition)
	if err != nil {
		return err
	}
	defer s.readers.Done()
	waiting, epoch := p.copyAll()
	if db := s.db.Load(); db != nil {
		c := openCursor(db, valueKey(partition, epoch, begin), values)
		defer c.close()
		err := s.each(c, partition, func(circuit string, value []byte) error {
			if _, ok := waiting[circuit]; ok {
				return nil
			}
			return f(circuit, value)
		})
		if err != nil {
			return err
		}
	}
	for circuit, value := range waiting {
		if value == nil || !strings.HasPrefix(circuit, begin) {
			continue
		}
		if err := f(circuit, value); err != nil {
			return err
		}
	}
	return nil
}

// each calls a function for all that a cursor goes through.
func (s *Store) each(c *cursor, partition int32, f func(string, []byte) error) error {
	for c.next() {
		if err := f(c.circuit, c.value); err != nil {
			return err
		}
	}
	if c.err != nil {
		return s.suspect(fmt.Errorf("read partition %d: %w", partition, c.err))
	}
	return nil
}

// cursor goes through the values with a prefix as they were when it was opened.
type cursor struct {
	txn     *badger.Txn
	it      *badger.Iterator
	prefix  []byte
	from    []byte // where it begins; nil is at the first
	values  bool   // read them
	begun   bool
	circuit string
	value   []byte // good until the next one
	err     error
}

func openCursor(db *badger.DB, prefix []byte, values bool) *cursor {
	return &cursor{txn: db.NewTransaction(false), prefix: prefix, values: values, value: []byte{}}
}

// next moves to the next value. It reports false at the end and at an error.
func (c *cursor) next() (ok bool) {
	c.err = guard(func() (err error) {
		if !c.begun {
			o := badger.DefaultIteratorOptions
			o.PrefetchValues, o.Prefix = false, c.prefix
			c.it, c.begun = c.txn.NewIterator(o), true
			c.it.Seek(c.from)
		} else {
			c.it.Next()
		}
		if ok = c.it.Valid(); !ok {
			return nil
		}
		c.circuit = string(c.it.Item().Key()[prefixLen:])
		if c.values {
			c.value, err = c.it.Item().ValueCopy(c.value)
		}
		return err
	})
	return ok && c.err == nil
}

func (c *cursor) close() {
	if c.it != nil {
		c.it.Close()
	}
	c.txn.Discard()
}

// enter begins a read, which keeps the database open until readers.Done.
func (s *Store) enter(partition int32) (*part, error) {
	p := s.part(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p == nil || s.closed {
		return nil, ErrClosed
	}
	s.readers.Add(1)
	return p, nil
}

// suspect counts a failed read and leaves word for the next Open, so that a start after it does not fail the same way.
func (s *Store) suspect(err error) error {
	s.mu.Lock()
	s.errors++
	s.mu.Unlock()
	if werr := os.WriteFile(s.suspectFile(), []byte(err.Error()), 0o644); werr != nil {
		return errors.Join(err, werr)
	}
	return err
}

// view reads from the database at one moment.
func view(db *badger.DB, f func(*badger.Txn) error) error {
	return guard(func() error { return db.View(f) })
}
