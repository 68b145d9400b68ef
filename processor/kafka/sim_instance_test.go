//go:build synctests

package kafka

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
)

// instance is a place where processes live, one after the other, under one name.
type instance struct {
	s        *simulation
	name     string
	workers  int
	policies *breaker.Policies // Of this life by now, and of the next one.
	skew     time.Duration     // What its clock is ahead.
	copies   []string          // Of its store, older ones first.
	lives    int
	life     *life // Nil while nobody lives here.

	mu    sync.Mutex
	full  string // What stands where the store looks for room, if its disk is full.
	dir   string
	again time.Time // When the next life begins.
	store string    // What it finds.
	pick  uint64
	dying bool // A life was killed, and what the next one finds is not made yet.
}

func newInstance(s *simulation, n, workers int) *instance {
	return &instance{
		s: s, name: string(rune('a' + n)), workers: workers, dir: s.newDir(), policies: s.policies,
	}
}

// kill ends a life. The next one begins after a while, with the files as they are now, or what the event makes of them.
func (i *instance) kill(l *life, e event) bool {
	i.mu.Lock()
	killed := l.kill()
	i.dying = i.dying || killed
	i.mu.Unlock()
	if !killed {
		return false
	}
	dir := i.s.copyOf(i.dir)
	i.roomAgain()
	i.s.uncountable()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dying = false
	i.dir, i.again, i.store, i.pick = dir, time.Now().Add(e.lasts), e.store, e.pick
	return true
}

// look notes that the process has ended, and begins the next life when it is time.
func (i *instance) look() {
	if i.life != nil {
		select {
		case err := <-i.life.process.ended:
			i.life.process.ended <- err
			i.note(err)
			i.life = nil
		default:
			if i.life.isDead() {
				i.life = nil
			}
		}
	}
	i.mu.Lock()
	due := !i.dying && !time.Now().Before(i.again)
	i.mu.Unlock()
	if i.life == nil && due {
		i.prepare()
		i.life = i.begin()
	}
}

// note decides whether a process may have ended like this.
func (i *instance) note(err error) {
	if i.life.isDead() {
		return
	}
	switch {
	case err == nil:
	case errors.Is(err, ErrTwice):
		i.s.took(effectTwice)
	default:
		i.s.t.Errorf("instance %s ended: %v", i.name, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if soon := time.Now().Add(time.Second); i.again.Before(soon) {
		i.again = soon
	}
}

// rests ends a life in peace, if there is one, and lets none begin before a moment.
func (i *instance) rests(until time.Time) {
	i.heal()
	i.mu.Lock()
	i.again = until
	i.mu.Unlock()
	if i.life != nil {
		i.life.stopped = true
		i.life.process.stop()
	}
}

// heal ends what is wrong with the instance.
func (i *instance) heal() {
	i.roomAgain()
	if i.life != nil {
		i.life.thawed()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.again = time.Time{}
}

// end stops the process in peace.
func (i *instance) end() {
	if i.life != nil {
		i.s.world.end(i.life.process)
		i.life = nil
	}
}

// roomAgain ends that the disk is full. A store cannot be closed before.
func (i *instance) roomAgain() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.full != "" {
		os.Remove(i.full)
		i.full = ""
	}
}

// copy keeps a copy of the store as it is now.
func (i *instance) copy() {
	i.mu.Lock()
	dir := i.dir
	i.mu.Unlock()
	i.copies = append(i.copies, i.s.copyOf(dir))
}
