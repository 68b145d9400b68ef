package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// verifyTables reads the manifest and every block of the tables in it. Badger itself reads tables in goroutines of its
// own, where a panic ends the process, and leaves out a table whose checksum is wrong.
func verifyTables(dir string, o badger.Options) error {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return err
	}
	defer f.Close()
	manifest, end, err := badger.ReplayManifestFile(f, o.ExternalMagicVersion, o)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != end {
		return fmt.Errorf("manifest of %d bytes ends at %d", info.Size(), end)
	}
	for id, entry := range manifest.Tables {
		if err := verifyTable(table.NewFilename(id, dir), o.BlockSize, entry.Compression); err != nil {
			return fmt.Errorf("table %d: %w", id, err)
		}
	}
	return nil
}

func verifyTable(name string, blockSize int, compression options.CompressionType) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return fs.ErrInvalid // there is no map of nothing
	}
	mapped, err := z.OpenMmapFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	t, err := table.OpenTable(mapped, table.Options{
		ReadOnly: true, BlockSize: blockSize, Compression: compression, ChkMode: options.OnTableRead,
	})
	if err != nil {
		return err
	}
	return t.Close(-1)
}

// removeEmptyLogs removes the logs without a byte that a kill leaves: one just made, or one whose values are in a table
// and that was cut before it was removed. Badger does not open with one. If it was damage, the numbers show a hole.
func removeEmptyLogs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".mem" && ext != ".vlog" {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() > 0 {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// load reads where the partitions stand, and checks that no transaction is missing.
func (s *Store) load(db *badger.DB) error {
	return guard(func() error {
		return db.View(func(txn *badger.Txn) error {
			if err := s.loadChain(txn); err != nil {
				return err
			}
			if err := scan(txn, []byte{epochKeys}, s.loadEpoch); err != nil {
				return err
			}
			return scan(txn, []byte{positionKeys}, s.loadPosition)
		})
	})
}

func (s *Store) loadChain(txn *badger.Txn) error {
	var first, last, floor, count uint64
	err := scan(txn, []byte{chainKeys}, func(key, value []byte) error {
		if len(key) != 9 || len(value) != 8 {
			return fmt.Errorf("transaction %x = %x", key, value)
		}
		last, floor = binary.BigEndian.Uint64(key[1:]), binary.BigEndian.Uint64(value)
		if count == 0 {
			first = last
		}
		count++
		return nil
	})
	if err != nil {
		return err
	}
	if count == 0 {
		if err := scan(txn, nil, func([]byte, []byte) error { return errNotEmpty }); err != nil {
			return err
		}
	} else if first != floor || count != last-floor+1 {
		return fmt.Errorf("a hole: %d transactions from %d to %d, want all from %d", count, first, last, floor)
	}
	s.chain = chain{next: last + 1, sizes: make([]int64, count), horizon: 5 * s.options.MemTableBytes}
	return nil
}

var errNotEmpty = errors.New("values without a transaction")

func (s *Store) loadEpoch(key, value []byte) error {
	if len(key) != 5 || len(value) != 4 {
		return fmt.Errorf("epoch %x = %x", key, value)
	}
	p := s.part(int32(binary.BigEndian.Uint32(key[1:])))
	p.epoch = binary.BigEndian.Uint32(value)
	p.onDisk, p.garbage = p.epoch, true
	return nil
}

func (s *Store) loadPosition(key, value []byte) error {
	partition, epoch, err := splitPrefix(key)
	if err != nil {
		return err
	}
	p := s.part(partition)
	if epoch != p.epoch {
		return nil // of a time before a wipe
	}
	p.position, err = decodePosition(value)
	p.known, p.written = true, p.position.Offset
	return err
}

// scan calls a function for the keys with a prefix, in order. Key and value are valid during the call only.
func scan(txn *badger.Txn, prefix []byte, f func(key, value []byte) error) error {
	o := badger.DefaultIteratorOptions
	o.PrefetchValues = false
	o.Prefix = prefix
	it := txn.NewIterator(o)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		item := it.Item()
		if err := item.Value(func(value []byte) error { return f(item.Key(), value) }); err != nil {
			return err
		}
	}
	return nil
}
