//go:build synctests

package kafka

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// life is one process of an instance.
type life struct {
	of      *instance
	process *process
	line    *kafkatest.Line
	stopped bool // It was told to stop.

	mu     sync.Mutex
	dead   bool          // It was killed: it does nothing more, and is only waited for at the end.
	frozen chan struct{} // Closed when it thaws.
	traps  []*trap
}

// trap is what happens to a process when it comes to a point.
type trap struct {
	point  string
	left   int // Times that it comes there before.
	spring func() error
}

// begin starts a process.
func (i *instance) begin() *life {
	i.lives++
	l := &life{of: i, line: i.s.fake.Line()}
	l.process = i.s.world.start(func(c *Config) {
		c.Instance, c.DataDir, c.Workers, c.MaxResident = i.name, i.dir, i.workers, i.s.plan.resident
		c.Policies = i.policies
		c.Client = append(l.line.Opts(), kgo.ProducerBatchCompression(kgo.NoCompression())) // See isForward.
		c.Store.MemTableBytes = 1 << 20
		c.Logger = slog.New(slog.NewTextHandler(&i.s.log, nil)).With("in", fmt.Sprint(i.name, i.lives))
	}, func(loop *Loop) { loop.crash, loop.skew = l.at, i.skew })
	i.s.lives = append(i.s.lives, l)
	return l
}

// at is called by the process whenever it comes to a point.
func (l *life) at(point string) error {
	if strings.HasPrefix(point, "restore of ") {
		point = "in restore"
	}
	if t := l.sprung(point); t != nil {
		if err := t.spring(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	frozen := l.frozen
	l.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errCrash
	}
	return nil
}

// sprung returns the trap that a process has come to.
func (l *life) sprung(point string) *trap {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, t := range l.traps {
		if t.point != point || l.dead {
			continue
		}
		if t.left--; t.left <= 0 {
			l.traps = append(l.traps[:n:n], l.traps[n+1:]...)
			return t
		}
	}
	return nil
}

func (l *life) set(t *trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traps = append(l.traps, t)
}

// kill ends the process as SIGKILL does: nothing that it does from here on reaches anybody. It tells whether it lived.
func (l *life) kill() bool {
	l.mu.Lock()
	lived := !l.dead
	l.dead = true
	l.mu.Unlock()
	if lived {
		l.line.Cut()
	}
	return lived
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// freeze stops each worker at the next point that it comes to for a while, and all that is sent too if the whole
// process is to be stopped, its heartbeats among it.
func (l *life) freeze(lasts time.Duration, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead || l.frozen != nil {
		return
	}
	frozen := make(chan struct{})
	l.frozen = frozen
	if whole {
		l.line.Hold()
	}
	time.AfterFunc(lasts, func() {
		l.mu.Lock()
		l.frozen = nil
		l.mu.Unlock()
		l.line.Release()
		close(frozen)
	})
}

// thawed returns when the process is not stopped any more.
func (l *life) thawed() {
	l.mu.Lock()
	l.traps = nil
	frozen := l.frozen
	l.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}
