package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

// lookEvery is how often the policy file is looked at. It is looked at, and not waited for: so a symlink that is
// swapped, as Kubernetes does with a ConfigMap, a network drive and a bind mount are all the same.
const lookEvery = 500 * time.Millisecond

// faultsShown is how many faults of a policy file are logged.
const faultsShown = 10

// reloader puts a policy file in force again when it has changed. A file that cannot be read, or is wrong, never
// replaces one that was good.
type reloader struct {
	file    string
	asked   <-chan os.Signal // Each makes it read the file at once, and say what came of it. May be nil.
	loop    *kafka.Loop
	log     *slog.Logger
	version string // Of the policies in force.
	failed  bool   // The file could not be put in force when it was last read.

	seen    fs.FileInfo // By the last look; nil where there was no file.
	gone    bool        // The last look found no file.
	pending bool        // It changed since the look before the last, and may still be being written.
}

// run works until the context ends.
func (r *reloader) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
			if !r.read() {
				r.log.Info("policies read again, nothing has changed", "file", r.file, "version", r.version)
			}
		case <-tick.C:
			if r.changed() {
				r.read()
			}
		}
	}
}

// changed tells whether the file is another one than it was, and has been as it is for two looks: it is not to be read
// while it is being written.
func (r *reloader) changed() bool {
	now, err := os.Stat(r.file)
	if err != nil {
		if !r.gone {
			r.refuse(unreadable("policy file", r.file, err))
		}
		r.gone, r.seen, r.pending = true, nil, false
		return false
	}
	r.gone = false
	same := r.seen != nil && os.SameFile(now, r.seen) && now.ModTime().Equal(r.seen.ModTime()) &&
		now.Size() == r.seen.Size()
	r.seen = now
	if !same {
		r.pending = true
		return false
	}
	settled := r.pending
	r.pending = false
	return settled
}

// read puts in force what the file says now, where it can be. It tells whether that was anything new, good or bad.
func (r *reloader) read() bool {
	policies, err := r.readFile()
	if err != nil {
		r.refuse(err)
		return true
	}
	if policies.Version == r.version && !r.failed {
		return false
	}
	r.loop.Reload(policies)
	r.log.Info("policies read again and put in force", "file", r.file, "version", policies.Version, "was", r.version)
	r.version, r.failed = policies.Version, false
	return true
}

// readFile reads the policies, save from where reading may wait for somebody who never writes.
func (r *reloader) readFile() (*breaker.Policies, error) {
	const waits = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice
	if now, err := os.Stat(r.file); err == nil && now.Mode()&waits != 0 {
		return nil, unreadable("policy file", r.file, errors.New("it is not a regular file"))
	}
	return readPolicies(r.file)
}

// refuse says why the policies in force stay so.
func (r *reloader) refuse(err error) {
	r.failed = true
	faults, wrong := asFaults(err)
	if !wrong {
		r.loop.ReloadFailed(err.Error())
		r.log.Error("policy file not put in force, the last good one stays so", "err", err, "version", r.version)
		return
	}
	r.loop.ReloadFailed(shown(faults)...)
	for _, f := range faults[:min(len(faults), faultsShown)] {
		r.log.Error("policy file not put in force, the last good one stays so", "fault", f.String(),
			"version", r.version)
	}
	if more := len(faults) - faultsShown; more > 0 {
		r.log.Error("policy file has more faults: `fusebox policy check` shows all", "more", more, "file", r.file)
	}
}

// shown returns the faults that are shown, in words.
func shown(faults breaker.Faults) []string {
	var told []string
	for _, f := range faults[:min(len(faults), faultsShown)] {
		told = append(told, f.String())
	}
	if more := len(faults) - faultsShown; more > 0 {
		told = append(told, fmt.Sprintf("and %d more: `fusebox policy check` shows all", more))
	}
	return told
}
