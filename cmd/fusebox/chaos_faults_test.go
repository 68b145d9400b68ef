package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fault is something that goes wrong for a while.
type fault struct {
	class             string
	shortest, longest time.Duration
	strike            func(c *chaos) (heal func())
}

// instanceFaults are those of processors. Members and transactions time out after ten seconds.
func instanceFaults(disk bool) []fault {
	faults := []fault{
		{"instance killed", 0, 3 * time.Second, func(c *chaos) func() { return c.kill(c.instance()) }},
		{"instance killed for long", 11 * time.Second, 14 * time.Second,
			func(c *chaos) func() { return c.kill(c.instance()) }},
		{"instance killed, its data lost", 0, 3 * time.Second, func(c *chaos) func() {
			victim := c.instance()
			start := c.kill(victim)
			empty(c.t, victim.dir)
			return start
		}},
		{"both instances killed", 0, 6 * time.Second, func(c *chaos) func() {
			first, second := c.kill(c.a), c.kill(c.b)
			return func() {
				first()
				second()
			}
		}},
		{"instance frozen", 500 * time.Millisecond, 6 * time.Second,
			func(c *chaos) func() { return c.instance().freeze() }},
		{"instance frozen for long", 12 * time.Second, 16 * time.Second,
			func(c *chaos) func() { return c.instance().freeze() }},
	}
	if disk {
		faults = append(faults, fault{"disk full", 3 * time.Second, 8 * time.Second,
			func(c *chaos) func() { return c.fillDisk() }})
	}
	return faults
}

// clusterFaults are those of brokers and of the ways between them. The brokers miss one that is silent for two seconds.
func clusterFaults() []fault {
	return []fault{
		{"broker killed", time.Second, 6 * time.Second, func(c *chaos) func() {
			b := c.Brokers[c.rng.IntN(len(c.Brokers))]
			b.Kill(c.t)
			return func() { b.Start(c.t) }
		}},
		{"broker paused", time.Second, 8 * time.Second, func(c *chaos) func() {
			b := c.Brokers[c.rng.IntN(len(c.Brokers))]
			b.Pause(c.t)
			return func() { b.Unpause(c.t) }
		}},
		{"network cut between brokers", 2 * time.Second, 8 * time.Second, func(c *chaos) func() {
			b := c.Brokers[c.rng.IntN(len(c.Brokers))]
			b.CutOff(c.t)
			return func() { b.Rejoin(c.t) }
		}},
		{"latency", 2 * time.Second, 6 * time.Second, func(c *chaos) func() {
			var ends []func()
			for _, b := range c.Brokers {
				delay := time.Duration(c.rng.IntN(400)) * time.Millisecond
				ends = append(ends, b.Slow(c.t, delay, delay/2))
			}
			return func() {
				for _, end := range ends {
					end()
				}
			}
		}},
		{"broker silent to its clients", 2 * time.Second, 12 * time.Second,
			func(c *chaos) func() { return c.Brokers[c.rng.IntN(len(c.Brokers))].Silence(c.t) }},
	}
}

// deck hands out faults in an order by chance, all of them before any comes again.
type deck struct{ all, left []fault }

func (d *deck) draw(rng *rand.Rand) fault {
	if len(d.left) == 0 {
		d.left = append(d.left, d.all...)
		rng.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	next := d.left[0]
	d.left = d.left[1:]
	return next
}

// instance returns one of the two.
func (c *chaos) instance() *runner { return []*runner{c.a, c.b}[c.rng.IntN(2)] }

func (c *chaos) kill(r *runner) (start func()) {
	r.kill()
	return r.start
}

// freeze stops the process where it is, until the function returned is called.
func (r *runner) freeze() (thaw func()) {
	r.f.t.Helper()
	process := r.cmd.Process
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		r.f.t.Fatalf("freeze %s: %v", r.name, err)
	}
	return func() {
		if err := process.Signal(syscall.SIGCONT); err != nil {
			r.f.t.Fatalf("thaw %s: %v", r.name, err)
		}
	}
}

// smallDisk mounts a file system of a few MiB where an instance will have its data. It reports whether it could.
func smallDisk(t *testing.T, dir string) bool {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Logf("no disk will be full, as none can be mounted: %v: %s", err, out)
		return false
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("unmount %s: %v: %s", dir, err, out)
		}
	})
	return true
}

// fillDisk takes all the room that the store of the first instance has. It gets it back when the instance has said that
// it misses it.
func (c *chaos) fillDisk() (free func()) {
	ballast := filepath.Join(c.a.dir, "ballast")
	f, err := os.Create(ballast)
	if err == nil {
		_, err = io.Copy(f, zeros{})
		f.Close()
	}
	if err == nil || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		c.t.Fatalf("fill the disk: %v, want %v", err, syscall.ENOSPC)
	}
	return func() {
		c.until("full disk noticed", func() (bool, string) {
			_, body := c.a.get("/readyz?verbose")
			return strings.Contains(body, "the store cannot write"), body
		})
		if err := os.Remove(ballast); err != nil {
			c.t.Errorf("make room: %v", err)
		}
	}
}

// zeros is a file without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// empty removes what is in a directory, which may be a mount.
func empty(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(fmt.Errorf("empty %s: %w", dir, err))
		}
	}
}
