package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

const (
	tellEvery  = time.Minute // An error that goes on is told so often.
	tellAtOnce = 10          // Lines of one message that say what none before has said, in that time.
	mostTold   = 1000        // Messages that are remembered, and lines of each.
)

// sparing is a handler of a log that tells an error that goes on at once and then once a minute, with how many of its
// lines were withheld meanwhile. Lines below a warning pass.
type sparing struct {
	slog.Handler
	of   string // What the logger adds to each line.
	told *alreadyTold
}

// alreadyTold is what was told of warnings and errors lately, by their messages.
type alreadyTold struct {
	mu sync.Mutex
	by map[string]*goingOn
}

// goingOn is a message that comes again and again.
type goingOn struct {
	last, minute time.Time       // The newest line, and the one with which the present minute began.
	said         map[uint64]bool // What lines of it have said since it began.
	fresh        int             // Lines of this minute that said something new.
	withheld     int             // Lines that were not told since a minute began.
}

func newAlreadyTold() *alreadyTold { return &alreadyTold{by: map[string]*goingOn{}} }

// Handle writes a line, or withholds it.
func (s sparing) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return s.Handler.Handle(ctx, r)
	}
	says := xxhash.New()
	_, _ = says.WriteString(s.of) // It never fails.
	r.Attrs(func(a slog.Attr) bool {
		_, _ = says.WriteString(a.String() + "\n")
		return true
	})
	tell, withheld := s.told.take(r.Time, r.Message, says.Sum64())
	if !tell {
		return nil
	}
	if withheld > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("withheld", withheld))
	}
	return s.Handler.Handle(ctx, r)
}

// take tells whether a line is to be told, and, with the first of a minute, how many of its message were withheld.
func (t *alreadyTold) take(at time.Time, message string, says uint64) (tell bool, withheld int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.by[message]
	if g == nil {
		if len(t.by) == mostTold {
			clear(t.by)
		}
		g = &goingOn{said: map[uint64]bool{}}
		t.by[message] = g
	}
	over, began := at.Sub(g.last) >= tellEvery, at.Sub(g.minute) >= tellEvery
	if over || len(g.said) == mostTold {
		clear(g.said)
	}
	if began {
		g.minute, g.fresh = at, 0
	}
	g.last = at
	if !began && (g.said[says] || g.fresh == tellAtOnce) {
		g.withheld++
		return false, 0
	}
	g.said[says] = true
	g.fresh++
	if began {
		withheld, g.withheld = g.withheld, 0
	}
	return true, withheld
}

// WithAttrs returns a handler that adds attributes to each line.
func (s sparing) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		s.of += a.String() + "\n"
	}
	s.Handler = s.Handler.WithAttrs(attrs)
	return s
}

// WithGroup returns a handler that puts what comes into a group.
func (s sparing) WithGroup(name string) slog.Handler {
	s.of += name + "\n"
	s.Handler = s.Handler.WithGroup(name)
	return s
}
