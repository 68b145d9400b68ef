package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// recordedData is real data, where the project has it beside itself.
const recordedData = "../../../shared/data/llmdrift/happy-number.gpt-4.jsonl"

// patience is how long a script waits for what must come.
const patience = 30 * time.Second

// TestDev runs the scripts of testdata/dev: the first minutes of a newcomer, and the ends that a dev may come to.
func TestDev(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/dev",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               copyRecorded,
		Condition:           hasRecorded,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"answers": awaitAnswer, "exits": checkExit, "freeaddr": freeAddr, "until": until, "follow": follow,
		},
	})
}

// copyRecorded puts the recorded data into a script's directory, where there is any.
func copyRecorded(env *testscript.Env) error {
	text, err := os.ReadFile(recordedData)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, os.WriteFile(filepath.Join(env.WorkDir, "recorded.jsonl"), text, 0o600))
}

func hasRecorded(condition string) (bool, error) {
	if condition != "recorded" {
		return false, fmt.Errorf("unknown condition %q", condition)
	}
	_, err := os.Stat(recordedData)
	return err == nil, nil
}

// until runs a command again and again until its stdout matches: until REGEXP COMMAND ARG...
func until(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var seen []byte
	for ctx.Err() == nil {
		if seen, err = scriptCommand(ctx, ts, args[1:]).Output(); err == nil && want.Match(seen) {
			ts.Logf("%s", seen)
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
	ts.Fatalf("%q printed %q, want %s", args[1:], seen, want)
}

// follow runs a command that does not end by itself until its stdout matches, then interrupts it, and wants it to end
// well: follow REGEXP COMMAND ARG...
func follow(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := scriptCommand(ctx, ts, args[1:])
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	var seen bytes.Buffer
	matched := false
	for chunk := make([]byte, 4096); err == nil; {
		var n int
		n, err = out.Read(chunk)
		seen.Write(chunk[:n])
		if !matched && want.Match(seen.Bytes()) {
			matched = true
			ts.Check(cmd.Process.Signal(syscall.SIGINT))
		}
	}
	ts.Logf("%s", &seen)
	if err := cmd.Wait(); err != nil || !matched {
		ts.Fatalf("%q ended with %v and printed %q, want %s", args[1:], err, &seen, want)
	}
}

// scriptCommand is a command in the script's directory and environment.
func scriptCommand(ctx context.Context, ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "FUSEBOX_BROKERS="+ts.Getenv("FUSEBOX_BROKERS"))
	return cmd
}
