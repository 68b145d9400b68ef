package client

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Stats says how a gate does, for metrics and for who asks whether it is well. All but the first five are counts since
// Open.
type Stats struct {
	Ready    bool          // It has caught up, once: it stays ready.
	Circuits int           // That it knows.
	Silent   int           // Partitions that no processor is heard of.
	Age      time.Duration // Of what is known: since when nothing was heard of the partition most silent.
	Trouble  string        // Why the states cannot be read now, the brokers being away; "" where they can.

	Silences    int64 // Times that a partition fell silent.
	Records     int64 // Taken in, heartbeats among them.
	Unreadable  int64 // Records of a version that this one does not know.
	Refused     int64 // Calls.
	Claims      int64 // Sent.
	Leases      int64 // Granted to this gate.
	GivenBack   int64 // Leases of them that no call came for.
	SignalsLost int64 // Claims and releases that could not be sent.

	Reports ReporterStats // What has become of the outcomes.
}

// meter is what Stats is made of.
type meter struct {
	silences, records, unreadable, refused, claims, leases, givenBack, signalsLost atomic.Int64

	trouble atomic.Pointer[error] // Nil where there is none.

	mu     sync.Mutex // Guards what follows.
	behind string     // What the gate waits for before it has caught up.
}

// Stats returns how the gate does.
func (g *Gate) Stats() Stats {
	t, c := g.known.Load(), &g.counts
	s := Stats{
		Ready: g.isReady(), Circuits: t.circuits.size(),
		Silences: c.silences.Load(), Records: c.records.Load(), Unreadable: c.unreadable.Load(),
		Refused: c.refused.Load(), Claims: c.claims.Load(), Leases: c.leases.Load(), GivenBack: c.givenBack.Load(),
		SignalsLost: c.signalsLost.Load(), Reports: g.reporter.Stats(),
	}
	if err := cmp.Or(g.reach.trouble(), c.trouble.Load()); err != nil {
		s.Trouble = (*err).Error()
	}
	partitions := *t.partitions.Load()
	if len(partitions) == 0 {
		s.Age = t.home("", nil).age(t)
	}
	for _, p := range partitions {
		s.Age = max(s.Age, p.age(t))
		if p.silent.Load() {
			s.Silent++
		}
	}
	return s
}

// waitFor notes what the gate waits for.
func (c *meter) waitFor(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = fmt.Sprintf(format, args...)
}

func (c *meter) waits() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behind
}
