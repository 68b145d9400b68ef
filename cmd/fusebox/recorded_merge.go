package main

import (
	"container/heap"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// source is one of several sequences that are merged. It is opened when its turn comes, so that of many files that
// follow each other in time only one is open.
type source struct {
	open   func() (sequence, error)
	newest time.Time // The newest time that it has come to; before it is open, its first time where that is known.
	place  int       // Among the sources, which decides between equal times.

	sequence sequence // nil until it is open.
	outcome  schemas.Outcome
}

// merged is several sequences as one: next is always the one that has come least far in time.
type merged struct {
	sources
	started bool
	taken   bool // The first source's outcome was handed out.
}

// next returns the next outcome, which holds until the next call, and io.EOF after the last.
func (m *merged) next(ctx context.Context) (*schemas.Outcome, error) {
	if !m.started {
		heap.Init(&m.sources)
		m.started = true
	}
	for len(m.sources) > 0 {
		first := m.sources[0]
		if first.sequence != nil && !m.taken {
			m.taken = true
			return &first.outcome, nil
		}
		m.taken = false
		if err := first.advance(ctx); err == io.EOF {
			first.sequence.close()
			heap.Pop(&m.sources)
			continue
		} else if err != nil {
			return nil, err
		}
		if len(m.sources) > 1 {
			heap.Fix(&m.sources, 0)
		}
	}
	return nil, io.EOF
}

// close closes what is still open.
func (m *merged) close() {
	for _, s := range m.sources {
		if s.sequence != nil {
			s.sequence.close()
		}
	}
}

// advance reads the source's next outcome.
func (s *source) advance(ctx context.Context) error {
	if s.sequence == nil {
		opened, err := s.open()
		if err != nil {
			return err
		}
		s.sequence = opened
	}
	if err := s.sequence.next(ctx, &s.outcome); err != nil {
		return err
	}
	if s.outcome.Time.After(s.newest) {
		s.newest = s.outcome.Time
	}
	return nil
}

// sources are a heap, least far in time first.
type sources []*source

// Len is part of heap.Interface, as are the others.
func (s sources) Len() int { return len(s) }

func (s sources) Less(i, j int) bool {
	if s[i].newest.Equal(s[j].newest) {
		return s[i].place < s[j].place
	}
	return s[i].newest.Before(s[j].newest)
}

func (s sources) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// Push is never called: sources only end.
func (s *sources) Push(x any) { panic(fmt.Sprintf("a source %v that comes later", x)) }

// Pop removes the last.
func (s *sources) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
