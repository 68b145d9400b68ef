package state

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/gofrs/flock"
)

// ErrClosed is returned by a call on a store that was closed.
var ErrClosed = errors.New("the store is closed")

// Identity says whose memory a store is: of which changelog topic in which Kafka cluster, by their ids and not their
// names, so that a topic that was deleted and created again is another one.
type Identity struct {
	ClusterID string `json:"cluster_id"`
	TopicID   string `json:"topic_id"`
}

// Position is how far into a partition of the changelog the values of a store reach.
type Position struct {
	Offset   int64     // Offset is the next one to read from the changelog.
	At       time.Time // At is when it was committed, to the nanosecond, by the clock of whoever saved it.
	Progress []byte    // Progress is the partition's progress record as it was last committed.
}

// Change is the new value of a circuit, or its end where Value is nil. An empty Value that is not nil is a value.
type Change struct {
	Circuit string
	Value   []byte
}

// Options tunes a store. The zero value is right for up to a million circuits of a kilobyte; the store then takes less
// than 64 MiB of memory beside what waits to be written.
type Options struct {
	CacheBytes    int64        // CacheBytes bounds the cache of table indexes; 0 is 8 MiB.
	MemTableBytes int64        // MemTableBytes is the size of one of up to three tables in memory; 0 is 8 MiB.
	Instance      string       // Instance is told to another process that finds the store locked.
	Version       string       // Version is told to another version that finds a store whose form it does not know.
	Logger        *slog.Logger // Logger is told what was discarded and what fails; nil is slog.Default.
}

func (o Options) withDefaults() Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = 8 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 8 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Validate reports all that is wrong with the options at once.
func (o Options) Validate() error {
	var errs []error
	if o.CacheBytes < 0 {
		errs = append(errs, fmt.Errorf("cache of %d bytes: want 0 or more", o.CacheBytes))
	}
	if o.MemTableBytes != 0 && (o.MemTableBytes < 64<<10 || o.MemTableBytes > 256<<20) {
		errs = append(errs, fmt.Errorf("memtable of %d bytes: want 64 KiB to 256 MiB", o.MemTableBytes))
	}
	return errors.Join(errs...)
}

// Store is the store of one process. Its methods may be called by several goroutines at once; calls for one partition
// are meant to come from the one worker that owns it, and take effect in the order in which they are made.
type Store struct {
	dir     string
	id      Identity
	options Options
	log     *slog.Logger
	lock    *flock.Flock

	db     atomic.Pointer[badger.DB] // nil while a full disk has no room to open one
	chain  chain                     // the writer's own, once Open has returned
	broken error                     // the writer's own: why Badger must not be written to again

	wake  chan struct{} // there is something to write
	full  chan struct{} // so much that it must not wait
	hurry chan struct{} // someone waits: try now, back-off or not
	stop  chan struct{}
	done  chan struct{} // the writer has returned

	more atomic.Int64 // bytes that wait since the writer last took what waited

	mu      sync.Mutex
	parts   map[int32]*part
	waiters []chan struct{} // closed once everything saved before is written
	cycled  chan struct{}   // closed, and made anew, when the writer has tried once more
	closed  bool
	readers sync.WaitGroup // reads under way; none is added once closed
	errors  uint64
	lastErr error
}

// Open opens the store in a directory, which it creates if need be, and of which it touches only what it made itself.
// The error is a *LockedError where another process has it open. A full disk is no error: the store then begins empty,
// in memory.
func Open(dir string, id Identity, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	o = o.withDefaults()
	lock, err := acquire(dir, o.Instance)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir: dir, id: id, options: o, log: o.Logger.With("store", dir), lock: lock,
		parts: map[int32]*part{}, cycled: make(chan struct{}),
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := s.open(); err != nil {
		release(dir, lock)
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	go s.write()
	return s, nil
}

// Close tries once more to write what waits, stops the writer and closes the database. It returns an error if
// something was left unwritten, which the changelog still has. Calls under way are waited for; later ones return
// ErrClosed, and a later Save does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	<-s.done
	s.readers.Wait()
	left, err := s.closeBadger()
	if !left {
		release(s.dir, s.lock)
	}
	if st := s.Stats(); st.Pending > 0 {
		err = errors.Join(err, fmt.Errorf("%d changes not written: %w", st.Pending, st.LastError))
	}
	if err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, err)
	}
	return nil
}

// closeBadger closes the database, which writes out its table in memory, and tries that for ever. Where it might fail,
// the database is left as a kill would leave it, locked until the process ends: its logs are complete, and the next
// Open replays them.
func (s *Store) closeBadger() (left bool, err error) {
	db := s.db.Load()
	if db == nil {
		return false, nil
	}
	if err := errors.Join(s.broken, s.probe(), s.room(2*s.options.MemTableBytes)); err != nil {
		s.log.Warn("store left open", "why", err)
		return true, nil
	}
	return false, guard(db.Close)
}

// part returns a partition's memory, made if need be, or nil if the store is closed.
func (s *Store) part(partition int32) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	p, ok := s.parts[partition]
	if !ok {
		p = &part{partition: partition}
		s.parts[partition] = p
	}
	return p
}
