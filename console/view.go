package console

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/near"
	"github.com/fusebox-project/fusebox/schemas"
)

// errBehind says that the state topic has not been read to its end yet.
var errBehind = errors.New("the state topic is still being read: try again in a moment")

// view is what is known of all circuits, by the state topic. It is safe for many at once.
type view struct {
	mu         sync.RWMutex
	circuits   map[string]entry
	bounds     map[bound]*bound
	names      []string // Of all circuits, sorted, unless unsorted says otherwise.
	unsorted   bool
	unwell     map[string]struct{} // Those with a full entry.
	heartbeats map[int32]schemas.Heartbeat
	policies   *schemas.PoliciesInForce
	missing    error         // Why nobody can be answered yet; nil once the topic is read.
	changed    chan struct{} // Closed at the next record.
}

func newView() *view {
	v := &view{}
	v.reset()
	return v
}

// reset forgets everything, as before a topic is read from its start.
func (v *view) reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.circuits, v.bounds, v.unwell = map[string]entry{}, map[bound]*bound{}, map[string]struct{}{}
	v.heartbeats, v.policies, v.names, v.unsorted, v.missing = map[int32]schemas.Heartbeat{}, nil, nil, false, errBehind
	v.wake()
}

// wake tells whoever waits that something has come. Call it with the lock held.
func (v *view) wake() {
	if v.changed != nil {
		close(v.changed)
	}
	v.changed = make(chan struct{})
}

// take takes in what a poll brought. A record that cannot be read is passed over: a newer version wrote it.
func (v *view) take(records []*kgo.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range records {
		if !r.Attrs.IsControl() {
			v.add(r)
		}
	}
	v.wake()
}

func (v *view) add(r *kgo.Record) {
	key := string(r.Key)
	switch {
	case key == schemas.PoliciesKey:
		if p, err := schemas.DecodePolicies(r.Value); err == nil {
			v.policies = &p
		}
	case strings.HasPrefix(key, schemas.HeartbeatKeyPrefix):
		if h, err := schemas.DecodeHeartbeat(r.Value); err == nil {
			v.heartbeats[h.Partition] = h
		}
	case r.Value == nil:
		if _, known := v.circuits[key]; known {
			delete(v.circuits, key)
			delete(v.unwell, key)
			v.unsorted = true
		}
	default:
		s, err := schemas.DecodeState(r.Value)
		before, known := v.circuits[key]
		if err != nil || known && !before.newer(&s) {
			return
		}
		e := newEntry(&s, v.bounds)
		v.circuits[key] = e
		v.unsorted = v.unsorted || !known
		delete(v.unwell, key)
		if e.full != nil {
			v.unwell[key] = struct{}{}
		}
	}
}

// ready notes that the topic has been read to where it ended when reading began.
func (v *view) ready() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.missing = nil
	v.wake()
}

// state returns a circuit as it is at a time, and whether it is known.
func (v *view) state(circuit string, at time.Time) (schemas.State, bool, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	e, known := v.circuits[circuit]
	if !known {
		return schemas.State{}, false, v.missing
	}
	s := e.state(circuit)
	return s.At(at), true, nil
}

// await returns a channel that is closed when something has come since the call.
func (v *view) await() <-chan struct{} {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.changed
}

// inForce returns the policies as the topic has them, nil where nobody has published any.
func (v *view) inForce() *schemas.PoliciesInForce {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.policies
}

// beats returns the newest heartbeats, by partition.
func (v *view) beats() []schemas.Heartbeat {
	v.mu.RLock()
	defer v.mu.RUnlock()
	all := slices.Collect(maps.Values(v.heartbeats))
	slices.SortFunc(all, func(a, b schemas.Heartbeat) int { return int(a.Partition - b.Partition) })
	return all
}

// beat returns the newest heartbeat of a partition.
func (v *view) beat(partition int32) (schemas.Heartbeat, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	h, ok := v.heartbeats[partition]
	return h, ok
}

// query asks for circuits.
type query struct {
	states []schemas.Phase // Any where empty.
	match  breaker.Glob    // Any where empty.
	after  string          // Names behind this one; in the order of names alone.
	worst  bool            // Worst first.
	skip   int             // So many; worst first alone.
	limit  int
}

// wants tells whether a circuit is asked for.
func (q *query) wants(s *schemas.State) bool {
	return (len(q.states) == 0 || slices.Contains(q.states, s.State)) && (q.match == "" || q.match.Matches(s.Circuit))
}

// page returns circuits as they are at a time, and whether there are more. By name it looks at no more than it returns
// and passes over; worst first at all that are not plainly closed too.
func (v *view) page(q query, at time.Time) (states []schemas.State, more bool, err error) {
	v.sort()
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.missing != nil {
		return nil, false, v.missing
	}
	if q.worst {
		states, more = v.worst(q, at)
		return states, more, nil
	}
	begin, found := slices.BinarySearch(v.names, q.after)
	if found {
		begin++
	}
	for _, name := range v.names[begin:] {
		e := v.circuits[name]
		s := e.state(name)
		if s = s.At(at); !q.wants(&s) {
			continue
		}
		if len(states) == q.limit {
			return states, true, nil
		}
		states = append(states, s)
	}
	return states, false, nil
}

// worst is page for worst first.
func (v *view) worst(q query, at time.Time) (states []schemas.State, more bool) {
	var first []schemas.State
	for name := range v.unwell {
		s := v.circuits[name].full.At(at)
		if q.wants(&s) {
			first = append(first, s)
		}
	}
	slices.SortFunc(first, func(a, b schemas.State) int { return schemas.WorseFirst(&a, &b) })
	if q.skip < len(first) {
		states = first[q.skip:]
	}
	skip := max(q.skip-len(first), 0)
	for _, name := range v.names {
		if len(states) > q.limit {
			break
		}
		if _, before := v.unwell[name]; before {
			continue
		}
		e := v.circuits[name]
		s := e.state(name)
		if !q.wants(&s) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		states = append(states, s)
	}
	if len(states) > q.limit {
		return states[:q.limit], true
	}
	return states, false
}

// matching returns the names of the circuits that a glob means, sorted.
func (v *view) matching(match breaker.Glob) ([]string, error) {
	v.sort()
	v.mu.RLock()
	defer v.mu.RUnlock()
	var names []string
	for _, name := range v.names {
		if match.Matches(name) {
			names = append(names, name)
		}
	}
	return names, v.missing
}

// nearMost is how many circuits are named that may have been meant.
const nearMost = 3

// near returns circuits that a name that is not known may stand for.
func (v *view) near(name string) []string {
	v.sort()
	v.mu.RLock()
	names := v.names // Never changed in place.
	v.mu.RUnlock()
	return near.Names(name, slices.Values(names), nearMost)
}

// counts returns how many circuits that a glob means, all where it is empty, are in each state at a time, and how many
// are degraded.
func (v *view) counts(match breaker.Glob, at time.Time) (by map[schemas.Phase]int, degraded int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	by = map[schemas.Phase]int{schemas.Closed: len(v.circuits)}
	if match != "" {
		by[schemas.Closed] = 0
		for name := range v.circuits {
			if match.Matches(name) {
				by[schemas.Closed]++
			}
		}
	}
	for name := range v.unwell {
		if match != "" && !match.Matches(name) {
			continue
		}
		s := v.circuits[name].full.At(at)
		by[schemas.Closed]--
		by[s.State]++
		if s.Degraded != nil {
			degraded++
		}
	}
	return by, degraded
}

// sort puts the names in order, where circuits came or went.
func (v *view) sort() {
	v.mu.RLock()
	unsorted := v.unsorted
	v.mu.RUnlock()
	if !unsorted {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names, v.unsorted = slices.Sorted(maps.Keys(v.circuits)), false
}
