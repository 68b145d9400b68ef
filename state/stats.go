package state

import (
	"os"
	"strings"
)

// Stats is how a store is doing.
type Stats struct {
	Bytes       int64  // Bytes is what the database takes on disk.
	Pending     int    // Pending is the number of changes that are not on disk, positions and wipes not counted.
	PositionLag int64  // PositionLag is how far the positions on disk are behind the saved ones, in records, in sum.
	Errors      uint64 // Errors counts the attempts to write that failed, and the reads.
	LastError   error  // LastError is why the store cannot write at present, or nil if it can.
}

// Stats returns how the store is doing. It reads the directory of the database, a few dozen files.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	st := Stats{Errors: s.errors, LastError: s.lastErr}
	for _, p := range s.parts {
		pending, lag := p.lag()
		st.Pending += pending
		st.PositionLag += lag
	}
	s.mu.Unlock()
	st.Bytes = diskBytes(s.badgerDir(), "")
	return st
}

func (p *part) lag() (pending int, records int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending.values) + len(p.writing.values), p.position.Offset - p.written
}

// diskBytes returns what the files of a directory take on disk, those whose names end as given.
func diskBytes(dir, suffix string) int64 {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var sum int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.IsDir() || !strings.HasSuffix(e.Name(), suffix) {
			continue // a file that a compaction removed meanwhile takes nothing
		}
		sum += usedBytes(info)
	}
	return sum
}
