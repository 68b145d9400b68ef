package client

import (
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// table is what a gate knows: all circuits, and when each partition was last heard of. One goroutine writes it.
type table struct {
	circuits   *index
	partitions atomic.Pointer[[]*partition] // Never shorter than before.
	began      time.Time                    // A partition that was never heard of is silent since then.
}

// partition is a partition of the state topic.
type partition struct {
	// heard is when its processor was last heard of: a time.Duration since the table began. It does not jump where
	// somebody sets the clock.
	heard  atomic.Int64
	beat   atomic.Int64 // The processor's own clock at its newest heartbeat, in ms since 1970; 0 where there is none.
	silent atomic.Bool  // That was told.
}

// slot is what a gate knows of one circuit. All that Enter reads of one through which every call goes is its first 64
// bytes, where the name is no longer than they have room for.
type slot struct {
	hash   uint64 // Of the name, with the seed of the index.
	word   atomic.Int64
	length uint8 // Of the name.
	head   [47]byte
	rest   string // Of the name, beyond head.

	state  atomic.Pointer[schemas.State] // Nil once the circuit is forgotten: then a record makes a new slot.
	prober atomic.Pointer[prober]        // Nil until the circuit opens.
	ledger atomic.Pointer[ledger]        // Of the combiner, so that a report need not look it up; nil until one did.
	home   *partition
	mu     sync.Mutex // Guards word and state against two that write.
}

// mustLook is the word of a circuit whose state a call has to look at. Any other says that every call goes through
// until the next record.
const mustLook = -1

// wordOf returns the epoch, and in the last bit whether the circuit is closed.
func wordOf(s *schemas.State) int64 {
	word := s.Epoch << 1
	if s.State == schemas.Closed {
		word |= 1
	}
	return word
}

// unknown is the word of a circuit that nobody has heard of.
var unknown = wordOf(&schemas.State{})

func newTable(now time.Time) *table {
	t := &table{circuits: newIndex(), began: now}
	t.partitions.Store(&[]*partition{})
	return t
}

// partition returns a partition, a new one where the number is greater than any before.
func (t *table) partition(id int32) *partition {
	all := *t.partitions.Load()
	if int(id) < len(all) {
		return all[id]
	}
	more := append([]*partition(nil), all...)
	for int(id) >= len(more) {
		more = append(more, &partition{})
	}
	t.partitions.Store(&more)
	return more[id]
}

var murmur2 = kgo.StickyKeyPartitioner(nil).ForTopic("")

// home returns the partition of a circuit, known or not; nil before the topic was seen.
func (t *table) home(circuit string, s *slot) *partition {
	if s != nil {
		return s.home
	}
	all := *t.partitions.Load()
	if len(all) == 0 {
		return nil
	}
	return all[murmur2.Partition(&kgo.Record{Key: []byte(circuit)}, len(all))]
}

// put takes a record of a circuit in. It returns nil where that is not newer than what is known.
func (t *table) put(state *schemas.State, home *partition) *slot {
	s := t.circuits.load(state.Circuit)
	if s == nil || s.state.Load() == nil {
		s = &slot{home: home}
		s.set(state)
		t.circuits.store(state.Circuit, s)
		return s
	}
	if !state.Newer(s.state.Load()) {
		return nil
	}
	s.set(state)
	return s
}

// forget takes a tombstone in. It returns nil where the circuit was not known.
func (t *table) forget(circuit string) *slot {
	s := t.circuits.load(circuit)
	if s == nil || s.state.Load() == nil {
		return nil
	}
	s.set(nil)
	t.circuits.dropped()
	return s
}

// set replaces what is known. A call that begins once it has returned goes by the new state, and so does one that
// begins once anybody has seen the new state: the word of the old one goes first.
func (s *slot) set(state *schemas.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.word.Store(mustLook)
	s.state.Store(state)
	switch {
	case state == nil:
		s.word.Store(unknown)
	case state.AdmitsAlways():
		s.word.Store(wordOf(state))
	}
}

// settle marks a circuit plain whose ramp or override is over, unless a record has come since.
func (s *slot) settle(seen *schemas.State, derived *schemas.State) {
	if !derived.AdmitsAlways() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Load() == seen {
		s.word.Store(wordOf(derived))
	}
}

// at returns the circuit as it is at a time, and the record from which that was derived.
func (s *slot) at(circuit string, now time.Time) (derived schemas.State, seen *schemas.State) {
	if s != nil {
		seen = s.state.Load()
	}
	if seen == nil {
		return schemas.State{Circuit: circuit, Enforced: true}, nil
	}
	return seen.At(now), seen
}

// compact lets states share the texts that are alike in most of them.
func compact(s *schemas.State) {
	for _, text := range []*string{&s.Policy, &s.PolicyVersion, &s.Trigger.Topic} {
		*text = unique.Make(*text).Value()
	}
}

// now returns this machine's clock, or the processor's where that is ahead.
func (p *partition) now() time.Time {
	now := time.Now()
	if p == nil {
		return now
	}
	if beat := time.UnixMilli(p.beat.Load()); beat.After(now) {
		return beat
	}
	return now
}
