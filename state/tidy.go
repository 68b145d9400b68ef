package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Tables at level 0 are what was written since the last compaction. They are merged into the rest when there are at
// least minTables and they make up a third of everything, so that what is overwritten or deleted never takes more than
// about half of what is alive, and each byte is rewritten about three times. At maxTables they are merged in any case.
// While a bulk of changes waits, as where partitions are filled from nothing, they may pile up to bulkTables: most of
// it is rewritten once then, and nobody waits for that.
const (
	minTables  = 4
	maxTables  = 32
	bulkTables = 128
	bulk       = 8 << 20
)

// tidy compacts if it is time to, or else deletes a few keys of wiped partitions. It reports whether there are more.
func (s *Store) tidy(parts []*part) (more bool, err error) {
	if s.db.Load() == nil {
		return false, nil
	}
	if err := s.compact(); err != nil {
		return false, err
	}
	for _, p := range parts {
		p.mu.Lock()
		garbage, epoch := p.garbage, p.onDisk
		p.mu.Unlock()
		if !garbage {
			continue
		}
		left, err := s.purge(p.partition, epoch)
		if err != nil {
			return false, fmt.Errorf("delete what was wiped of partition %d: %w", p.partition, err)
		}
		if left {
			return true, nil
		}
		p.mu.Lock()
		p.garbage = p.onDisk != epoch
		p.mu.Unlock()
	}
	return false, nil
}

// compact merges the tables when there are enough of them. All of them are written anew before the old ones go; where
// there is no room for that it waits, and lets the tables pile up to twice their number before it is an error.
func (s *Store) compact() error {
	db := s.db.Load()
	levels := db.Levels()
	fresh, rest := levels[0], int64(0)
	for _, l := range levels[1:] {
		rest += l.Size
	}
	most := maxTables
	if s.waiting() >= bulk {
		most = bulkTables
	}
	if n := fresh.NumTables; n < minTables || n < most && (most == bulkTables || 2*fresh.Size < rest) {
		return nil
	}
	if err := s.room(fresh.Size + rest + 3*s.options.MemTableBytes); err != nil {
		if fresh.NumTables < 2*most {
			return nil
		}
		return fmt.Errorf("compact: %w", err)
	}
	return s.withBadger(func(db *badger.DB) error {
		if err := db.Flatten(1); err != nil {
			return fmt.Errorf("compact: %w", err)
		}
		return collect(db)
	})
}

// collect gives back what the value log holds of large values that are no longer alive.
func collect(db *badger.DB) error {
	for {
		err := db.RunValueLogGC(0.5)
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("collect value log: %w", err)
		}
	}
}

// purge deletes keys of a partition from before an epoch. It reports whether there may be more.
func (s *Store) purge(partition int32, epoch uint32) (more bool, err error) {
	var keys [][]byte
	for _, kind := range []byte{positionKeys, valueKeys} {
		err := view(s.db.Load(), func(txn *badger.Txn) (err error) {
			keys, err = oldKeys(txn, kind, partition, epoch, keys)
			return err
		})
		if err != nil {
			return false, err
		}
	}
	if len(keys) == 0 {
		return false, nil
	}
	return true, s.withBadger(func(db *badger.DB) error {
		b := batch{store: s, db: db}
		defer b.discard()
		for _, key := range keys {
			if err := b.put(key, nil); err != nil {
				return err
			}
		}
		return b.flush()
	})
}

// oldKeys appends keys of a partition from before an epoch, until there are purgeMax.
func oldKeys(txn *badger.Txn, kind byte, partition int32, epoch uint32, keys [][]byte) ([][]byte, error) {
	o := badger.DefaultIteratorOptions
	o.PrefetchValues = false
	o.Prefix = prefix(kind, partition, 0, 0)[:5]
	it := txn.NewIterator(o)
	defer it.Close()
	end := prefix(kind, partition, epoch, 0)
	for it.Rewind(); it.Valid() && len(keys) < purgeMax; it.Next() {
		key := it.Item().KeyCopy(nil)
		if bytes.Compare(key, end) >= 0 {
			break
		}
		keys = append(keys, key)
	}
	return keys, nil
}
