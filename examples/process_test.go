package examples_test

import (
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"
)

// process is a program that a test has started, with what it says.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	grew chan struct{}
	done chan struct{} // Closed when it has ended.
	err  error         // How it ended.

	mu   sync.Mutex // Guards what follows.
	text []byte
	read int // How much of the text was waited for.
}

// start starts a program, which is killed at the end of the test at the latest.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, grew: make(chan struct{}, 1), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p, p
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %v: %v", cmd, err)
	}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // Where it has ended already there is nothing to kill.
		<-p.done
		if t.Failed() {
			t.Logf("%v said:\n%s", cmd, p.text)
		}
	})
	return p
}

// Write takes down what the program says.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	p.text = append(p.text, text...)
	p.mu.Unlock()
	select {
	case p.grew <- struct{}{}:
	default:
	}
	return len(text), nil
}

// await waits until the program has said something, behind what was waited for before, and returns it with its groups.
func (p *process) await(pattern string) []string {
	p.t.Helper()
	want := regexp.MustCompile(`(?m)` + pattern + `.*$\n`)
	late := time.NewTimer(patience)
	defer late.Stop()
	for ended := false; ; {
		if said := p.next(want); said != nil {
			return said
		}
		if ended {
			p.t.Fatalf("%v has ended, and did not say %q", p.cmd, pattern)
		}
		select {
		case <-p.grew:
		case <-p.done:
			ended = true
		case <-late.C:
			p.t.Fatalf("%v has not said %q after %v", p.cmd, pattern, patience)
		}
	}
}

// next goes past the next place that matches, and returns it with its groups, or nil where there is none yet.
func (p *process) next(want *regexp.Regexp) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := string(p.text[p.read:])
	if at := want.FindStringIndex(rest); at != nil {
		p.read += at[1]
	}
	return want.FindStringSubmatch(rest)
}

// end waits until the program has ended by itself, and well.
func (p *process) end() {
	p.t.Helper()
	select {
	case <-p.done:
		if p.err != nil {
			p.t.Fatalf("%v: %v", p.cmd, p.err)
		}
	case <-time.After(patience):
		p.t.Fatalf("%v has not ended after %v", p.cmd, patience)
	}
}

// kill ends the program with SIGKILL. It must still be at work then.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatalf("kill %v: %v", p.cmd, err)
	}
	if <-p.done; p.err == nil || p.err.Error() != "signal: killed" {
		p.t.Fatalf("%v ended by itself: %v", p.cmd, p.err)
	}
}
