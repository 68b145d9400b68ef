package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// schema is the version of keys.go. A store of another one, older or newer, is discarded: it can be filled again.
const schema = 1

// label is what stands beside the database about it.
type label struct {
	Schema int    `json:"schema"`
	By     string `json:"by,omitempty"` // the version of the program that made it
	Identity
	// MemTableBytes is here because Badger ends the process when it replays a log that does not fit its table.
	MemTableBytes int64 `json:"memtable_bytes"`
}

var errNoRoom = errors.New("no room on disk")

// slack is what a database takes on disk before anything is in it, and a little more.
const slack = 2 << 20

func (s *Store) badgerDir() string { return filepath.Join(s.dir, "badger") }
func (s *Store) labelFile() string { return filepath.Join(s.dir, "label.json") }

// suspectFile holds the reason why the next Open must discard the database.
func (s *Store) suspectFile() string { return filepath.Join(s.dir, "suspect") }

// open opens the database that is there if it is fit to be served, or else a new one.
func (s *Store) open() error {
	if _, err := os.Stat(s.badgerDir()); err == nil {
		err := s.revive()
		if err == nil {
			return nil
		}
		s.log.Warn("store discarded", "why", err)
	}
	s.parts = map[int32]*part{} // what revive had read before it failed
	err := s.create()
	if isFull(err) {
		s.failed(err)
		return os.RemoveAll(s.badgerDir())
	}
	return err
}

// revive opens the database on disk, or says why it must not be served.
func (s *Store) revive() error {
	if why, err := os.ReadFile(s.suspectFile()); err == nil {
		return fmt.Errorf("it failed before: %s", why)
	}
	if err := s.checkLabel(); err != nil {
		return err
	}
	if err := s.room(diskBytes(s.badgerDir(), ".mem") + slack); err != nil {
		return err
	}
	if err := guard(func() error { return verifyTables(s.badgerDir(), s.badgerOptions()) }); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if err := removeEmptyLogs(s.badgerDir()); err != nil {
		return err
	}
	db, err := s.openBadger()
	if err != nil {
		return err
	}
	if err := s.load(db); err != nil {
		return errors.Join(err, guard(db.Close))
	}
	s.db.Store(db)
	return nil
}

// create removes what there is and opens an empty database.
func (s *Store) create() error {
	if err := errors.Join(os.RemoveAll(s.badgerDir()), os.RemoveAll(s.suspectFile())); err != nil {
		return err
	}
	if err := s.room(4*s.options.MemTableBytes + slack); err != nil {
		return err
	}
	text, err := json.Marshal(s.label())
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.labelFile(), text, 0o644); err != nil {
		return err
	}
	db, err := s.openBadger()
	if err != nil {
		return err
	}
	s.chain = chain{next: 1, horizon: 5 * s.options.MemTableBytes}
	s.db.Store(db)
	return nil
}

func (s *Store) label() label {
	return label{Schema: schema, By: s.options.Version, Identity: s.id, MemTableBytes: s.options.MemTableBytes}
}

func (s *Store) checkLabel() error {
	var got label
	text, err := os.ReadFile(s.labelFile())
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	switch want := s.label(); {
	case err != nil:
		return fmt.Errorf("read label: %w", err)
	case got.Schema != want.Schema:
		return fmt.Errorf("schema version %d, made by %q: want %d", got.Schema, got.By, want.Schema)
	case got.Identity != want.Identity:
		return fmt.Errorf("changelog %q of cluster %q: want %q of %q",
			got.TopicID, got.ClusterID, want.TopicID, want.ClusterID)
	case got.MemTableBytes != want.MemTableBytes:
		return fmt.Errorf("memtables of %d bytes: want %d", got.MemTableBytes, want.MemTableBytes)
	}
	return nil
}

func (s *Store) openBadger() (db *badger.DB, err error) {
	err = guard(func() error {
		db, err = badger.Open(s.badgerOptions())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open badger: %w", err)
	}
	return db, nil
}

// badgerOptions sets the memory by hand: Badger's defaults take hundreds of megabytes. There is no compression, so
// blocks are read where they are mapped and need no cache. There are no compactors: Badger's own would begin whenever
// they like, on a full disk too; the writer compacts between two transactions instead.
func (s *Store) badgerOptions() badger.Options {
	return badger.DefaultOptions(s.badgerDir()).
		WithLogger(badgerLogger{s.log}).
		WithMemTableSize(s.options.MemTableBytes).
		WithNumMemtables(1).
		WithValueThreshold(min(1<<20, s.options.MemTableBytes/8)).
		WithValueLogFileSize(16 << 20).
		WithVerifyValueChecksum(true).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithIndexCacheSize(s.options.CacheBytes).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithNumCompactors(0).
		WithNumLevelZeroTables(minTables).
		WithNumLevelZeroTablesStall(10 * maxTables).
		WithDetectConflicts(false).
		WithMetricsEnabled(false)
}

// room returns an error unless so many bytes are free.
func (s *Store) room(need int64) error {
	free, err := freeBytes(s.dir)
	if err != nil {
		return fmt.Errorf("ask for room: %w", err)
	}
	if free < need {
		return fmt.Errorf("%w: %d bytes free, %d needed", errNoRoom, free, need)
	}
	return nil
}

func isFull(err error) bool {
	return errors.Is(err, errNoRoom) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// guard turns a panic of Badger, and a fault in the files that it maps, into an error.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("badger panicked: %v", p)
		}
	}()
	return f()
}
