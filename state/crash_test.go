package state_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/fusebox-project/fusebox/state"
)

// childDir names the store that this test binary, started again, is to write to until it is killed.
const childDir = "FUSEBOX_TEST_STATE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := writeForEver(dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

const (
	crashPartitions = 2
	crashCircuits   = 150
)

var small = state.Options{MemTableBytes: 256 << 10, Instance: "child"}

// flushEvery is how many rounds go by until the child waits for the disk.
const flushEvery = 8

// writeForEver saves round after round and prints each, every eighth when it is on disk. A round sets every circuit of
// a partition to the round, and the position too, so that a position that is ahead of a value shows.
func writeForEver(dir string) error {
	o := small
	o.Logger = mute
	s, err := state.Open(dir, id, o)
	if err != nil {
		return err
	}
	p, _, err := s.Position(0)
	if err != nil {
		return err
	}
	for round := p.Offset + 1; ; round++ {
		for partition := range int32(crashPartitions) {
			s.Save(partition, rounds(round), at(round))
		}
		if round%flushEvery == 0 {
			if err := s.Flush(context.Background()); err != nil {
				return err
			}
		}
		fmt.Println(round)
	}
}

func rounds(round int64) []state.Change {
	var changes []state.Change
	for i := range crashCircuits {
		changes = append(changes, set(fmt.Sprint("circuit ", i), roundValue(round)))
	}
	return changes
}

func roundValue(round int64) string { return strings.Repeat(fmt.Sprint(round, " "), 40) }

// checkRounds checks that no value is behind its position, and returns the position of partition 0.
func checkRounds(t *testing.T, s *state.Store) int64 {
	t.Helper()
	var first int64
	for partition := range int32(crashPartitions) {
		p, ok, err := s.Position(partition)
		if err != nil {
			t.Fatal(err)
		}
		if partition == 0 {
			first = p.Offset
		}
		seen := 0
		err = s.Each(partition, func(circuit string, value []byte) error {
			seen++
			text, _, _ := strings.Cut(string(value), " ")
			round, err := strconv.ParseInt(text, 10, 64)
			if err != nil || string(value) != roundValue(round) {
				return fmt.Errorf("%s = %.20q…, which nobody wrote", circuit, value)
			}
			if round < p.Offset {
				return fmt.Errorf("%s is of round %d, the position is %d", circuit, round, p.Offset)
			}
			return nil
		})
		if err != nil {
			t.Errorf("partition %d: %v", partition, err)
		}
		if ok && seen != crashCircuits {
			t.Errorf("partition %d has %d circuits at position %d, want %d", partition, seen, p.Offset, crashCircuits)
		}
	}
	return first
}

// startChild starts a writer and waits until it has written some rounds.
func startChild(t *testing.T, dir string, rounds int) (kill func()) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = child.Process.Kill() // it may be dead already
		_ = child.Wait()         // it was killed, which is an error
	}
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	for range rounds {
		if !lines.Scan() || strings.HasPrefix(lines.Text(), "error") {
			t.Fatalf("the child stopped: %q, %v", lines.Text(), lines.Err())
		}
	}
	return kill
}

func TestPitfall16And17KilledWhileItWrites(t *testing.T) {
	dir := t.TempDir()
	var last int64
	for _, n := range []int{30, 100, 237} {
		startChild(t, dir, n)()
		s := open(t, dir, small)
		got := checkRounds(t, s)
		if least := (last + int64(n)) / flushEvery * flushEvery; got < least {
			t.Errorf("position %d after a life of %d rounds from %d on, want at least %d", got, n, last, least)
		}
		last = got
		closeStore(t, s)
	}
}

func TestPitfall17KilledAsItBeganOrRemovedALog(t *testing.T) {
	for _, name := range []string{"00000.mem", "00099.mem", "000099.vlog"} {
		dir := t.TempDir()
		startChild(t, dir, 2*flushEvery)()
		if err := os.WriteFile(filepath.Join(dir, "badger", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, small)
		if got := checkRounds(t, s); got < 2*flushEvery {
			t.Errorf("position %d with an empty %s, want at least %d", got, name, 2*flushEvery)
		}
	}
}

func TestPitfall19LockedByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	kill := startChild(t, dir, 2*flushEvery)
	_, err := state.Open(dir, state.Identity{ClusterID: "another"}, small)
	var locked *state.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("Open of a locked store = %v, want a LockedError", err)
	}
	host, _ := os.Hostname()
	h := locked.Holder
	if locked.Dir != dir || h.PID == os.Getpid() || h.PID == 0 || h.Host != host || h.Instance != "child" {
		t.Errorf("LockedError = %+v, want the child on %s", locked, host)
	}
	if !strings.Contains(err.Error(), strconv.Itoa(locked.Holder.PID)) {
		t.Errorf("%q does not name process %d", err, locked.Holder.PID)
	}
	kill()
	s := open(t, dir, small)
	if checkRounds(t, s) == 0 {
		t.Error("the store of a killed process came back empty")
	}
}

// TestPitfall16AHoleBetweenLogs makes what a lost machine may leave: the older of two logs has lost its end, the newer
// is whole and has a position in it. Badger opens that without an error.
func TestPitfall16AHoleBetweenLogs(t *testing.T) {
	live, before := t.TempDir(), t.TempDir()
	s := open(t, live, small)
	offset := int64(0)
	next := func() {
		offset++
		// The position is what fills the log, so that a new log begins with the next call.
		p := state.Position{Offset: offset, Progress: make([]byte, 20<<10)}
		s.Save(0, []state.Change{set("a", fmt.Sprint(offset))}, p)
		flush(t, s)
	}
	next()
	first := logs(t, live)[0]
	newest := first
	for newest == first {
		copyTree(t, live, before)
		next()
		names := logs(t, live)
		newest = names[len(names)-1]
	}
	copyFile(t, filepath.Join(live, "badger", newest), filepath.Join(before, "badger", newest))
	closeStore(t, s)

	whole := t.TempDir()
	copyTree(t, before, whole)
	flip(t, filepath.Join(before, "badger", first), 100<<10)

	s = open(t, before, small)
	checkPosition(t, s, 0, state.Position{})
	checkValues(t, s, 0, map[string]string{})
	closeStore(t, s)
	s = open(t, whole, small) // it was the hole, and not how the directory was put together
	if p, _, err := s.Position(0); p.Offset != offset || err != nil {
		t.Errorf("without the hole Position(0) = %d, %v, want %d", p.Offset, err, offset)
	}
}

func logs(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "badger", "*.mem"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no logs in %s: %v", dir, err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}

func TestPitfall19CorruptionIsDiscarded(t *testing.T) {
	killed, closed := t.TempDir(), t.TempDir()
	startChild(t, killed, 200)() // far enough that tables are in the manifest
	startChild(t, closed, 60)()
	s := open(t, closed, small)
	closeStore(t, s)
	harms := map[string]func(t *testing.T, name string, size int64){
		"empty":        func(t *testing.T, name string, _ int64) { truncate(t, name, 0) },
		"half":         func(t *testing.T, name string, size int64) { truncate(t, name, size/2) },
		"short":        func(t *testing.T, name string, size int64) { truncate(t, name, size-1) },
		"gone":         func(t *testing.T, name string, _ int64) { os.Remove(name) },
		"flip first":   func(t *testing.T, name string, _ int64) { flip(t, name, 0) },
		"flip second":  func(t *testing.T, name string, _ int64) { flip(t, name, 25) },
		"flip quarter": func(t *testing.T, name string, size int64) { flip(t, name, size/4) },
		"flip tenth":   func(t *testing.T, name string, size int64) { flip(t, name, size/10) },
		"flip half":    func(t *testing.T, name string, size int64) { flip(t, name, size/2) },
		"flip last":    func(t *testing.T, name string, size int64) { flip(t, name, size-1) },
		"flip index":   func(t *testing.T, name string, size int64) { flip(t, name, size-30) },
	}
	for kind, from := range map[string]string{"killed": killed, "closed": closed} {
		for _, pattern := range []string{"MANIFEST", "KEYREGISTRY", "DISCARD", "*.sst", "*.mem", "*.vlog"} {
			for harm, do := range harms {
				t.Run(fmt.Sprint(kind, " ", pattern, " ", harm), func(t *testing.T) { harmed(t, from, pattern, do) })
			}
		}
	}
}

// harmed damages a copy of a store and opens it: what is served must hold together, and the store must work.
func harmed(t *testing.T, from, pattern string, do func(t *testing.T, name string, size int64)) {
	dir := t.TempDir()
	copyTree(t, from, dir)
	name, size := inUse(t, filepath.Join(dir, "badger"), pattern)
	if name == "" {
		if pattern == "*.mem" && strings.Contains(t.Name(), "closed") {
			return // a clean close leaves no log
		}
		t.Fatalf("no file %s", pattern)
	}
	do(t, name, size)
	s := open(t, dir, small)
	round := checkRounds(t, s)
	if pattern == "*.sst" && round != 0 {
		t.Errorf("a store with a damaged table was not discarded, its position is %d", round)
	}
	s.Save(0, rounds(1_000_000), at(1_000_000))
	s.Save(1, rounds(1_000_000), at(1_000_000))
	closeStore(t, s)
	s = open(t, dir, small)
	if got := checkRounds(t, s); got != 1_000_000 {
		t.Errorf("position %d after Save and reopen, want 1000000", got)
	}
	closeStore(t, s)
}

// inUse returns the first file of a pattern that the store goes by, and its size. One that was killed may leave others:
// a table that the manifest does not name yet, or any more, and a log that was cut before it was removed.
func inUse(t *testing.T, dir, pattern string) (string, int64) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	manifest, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if id, ok := table.ParseFileID(name); ok {
			if _, ok := manifest.Tables[id]; !ok {
				continue
			}
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 0 {
			return name, info.Size()
		}
	}
	return "", 0
}

func TestPitfall19ItsDirectoryDeletedWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	s.Save(0, rounds(1), at(1))
	flush(t, s)
	if err := os.RemoveAll(filepath.Join(dir, "badger")); err != nil {
		t.Fatal(err)
	}
	for round := range int64(50) {
		s.Save(0, rounds(round+2), at(round+2))
		s.Save(1, rounds(round+2), at(round+2))
	}
	if got := checkRounds(t, s); got != 51 {
		t.Errorf("position %d, want 51", got)
	}
	if err := s.Close(); err == nil || s.Stats().LastError == nil {
		t.Errorf("Close without a directory = %v, LastError %v, want errors", err, s.Stats().LastError)
	}
}

func truncate(t *testing.T, name string, size int64) {
	t.Helper()
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, name string, offset int64) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if offset < 0 || offset >= int64(len(text)) {
		offset = 0
	}
	text[offset] ^= 0x5a
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copyTree makes a directory the copy of another.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
