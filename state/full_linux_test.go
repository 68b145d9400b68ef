package state_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/state"
)

// smallDisk mounts a file system of a few MiB.
func smallDisk(t *testing.T, mib int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		if strings.Contains(os.Getenv("FUSEBOX_TEST_REQUIRE"), "mount") {
			t.Fatalf("mount tmpfs: %v", err)
		}
		t.Skipf("needs to mount a small tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fill takes all the room there is; the file can be removed again.
func fill(t *testing.T, disk string) (file string) {
	t.Helper()
	file = filepath.Join(disk, "ballast")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	return file
}

func tryFlush(s *state.Store, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return s.Flush(ctx)
}

var tiny = state.Options{MemTableBytes: 1 << 20}

func TestPitfall19FullDiskGoesOnInMemory(t *testing.T) {
	disk := smallDisk(t, 32)
	dir := filepath.Join(disk, "data")
	s := open(t, dir, tiny)
	s.Save(0, rounds(1), at(1))
	s.Save(1, rounds(1), at(1))
	flush(t, s)
	ballast := fill(t, disk)
	for round := range int64(200) { // 4 MB for each partition, if it were not coalesced
		s.Save(0, rounds(round+2), at(round+2))
		s.Save(1, rounds(round+2), at(round+2))
	}
	if err := tryFlush(s, 300*time.Millisecond); err == nil {
		t.Error("Flush on a full disk = nil, want an error")
	}
	if got := checkRounds(t, s); got != 201 {
		t.Errorf("position %d on a full disk, want 201", got)
	}
	st := s.Stats()
	if st.LastError == nil || st.Errors == 0 || st.Pending != 2*crashCircuits || st.PositionLag != 400 {
		t.Errorf("Stats() = %+v, want an error, %d pending, a lag of 400", st, 2*crashCircuits)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	flush(t, s)
	if st := s.Stats(); st.LastError != nil || st.Pending != 0 || st.PositionLag != 0 {
		t.Errorf("Stats() = %+v with room again, want no error and nothing pending", st)
	}
	closeStore(t, s)
	s = open(t, dir, tiny)
	if got := checkRounds(t, s); got != 201 {
		t.Errorf("position %d after the disk was full, want 201", got)
	}
}

func TestPitfall19OpenedOnAFullDisk(t *testing.T) {
	disk := smallDisk(t, 32)
	dir := filepath.Join(disk, "data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ballast := fill(t, disk)
	s := open(t, dir, tiny)
	s.Save(0, rounds(7), at(7))
	s.Save(1, rounds(7), at(7))
	if got := checkRounds(t, s); got != 7 || s.Stats().LastError == nil {
		t.Errorf("position %d, LastError %v, want 7 and an error", got, s.Stats().LastError)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	flush(t, s)
	closeStore(t, s)
	s = open(t, dir, tiny)
	if got := checkRounds(t, s); got != 7 {
		t.Errorf("position %d, want 7", got)
	}
}

// TestPitfall19ItFillsTheDiskItself saves more than fits: nothing may be lost from memory, nor the process.
func TestPitfall19ItFillsTheDiskItself(t *testing.T) {
	disk := smallDisk(t, 24)
	s := open(t, filepath.Join(disk, "data"), tiny)
	rng := rand.New(rand.NewPCG(1, 0))
	want := map[string]string{}
	for round := range int64(60) {
		var changes []state.Change
		for i := range 1000 {
			circuit, value := fmt.Sprint(round, " ", i), string(noise(rng, 500))
			want[circuit] = value
			changes = append(changes, set(circuit, value))
		}
		s.Save(0, changes, at(round+1))
		_ = tryFlush(s, 50*time.Millisecond) // it fails once the disk is full
	}
	if s.Stats().LastError == nil {
		t.Errorf("30 MB fit on a disk of 24 MiB: %+v", s.Stats())
	}
	for circuit, value := range want {
		if got, ok, err := s.Load(0, circuit); string(got) != value || !ok || err != nil {
			t.Fatalf("Load(%q) = %d bytes, %t, %v, want %d", circuit, len(got), ok, err, len(value))
		}
	}
	if err := s.Close(); err == nil {
		t.Error("Close with changes left = nil, want an error")
	}
}

// TestPitfall19ADiskThatFillsHalfWay has room for some partitions of a cycle and not for all: every value stays to be
// had, and what is opened later has each partition's position only with all that it covers.
func TestPitfall19ADiskThatFillsHalfWay(t *testing.T) {
	disk := smallDisk(t, 24)
	dir := filepath.Join(disk, "data")
	s := open(t, dir, tiny)
	rng := rand.New(rand.NewPCG(2, 0))
	const partitions, circuits = 16, 3000
	want := make([]map[string]string, partitions)
	for p := range want {
		want[p] = map[string]string{}
		var changes []state.Change
		for i := range circuits {
			circuit, value := fmt.Sprint(i), string(noise(rng, 700))
			want[p][circuit] = value
			changes = append(changes, set(circuit, value))
		}
		s.Save(int32(p), changes, at(int64(p)+1))
	}
	check := func(p int) (missing int) {
		for circuit, value := range want[p] {
			got, ok, err := s.Load(int32(p), circuit)
			if err != nil || ok && string(got) != value {
				t.Fatalf("Load(%d, %q) = %d bytes, %t, %v, want %d", p, circuit, len(got), ok, err, len(value))
			}
			if !ok {
				missing++
			}
		}
		return missing
	}
	if err := tryFlush(s, time.Second); err == nil {
		t.Fatal("34 MB fit on a disk of 24 MiB")
	}
	for p := range partitions {
		if n := check(p); n > 0 {
			t.Errorf("partition %d lost %d circuits to a full disk", p, n)
		}
	}
	if n := s.Stats().Pending; n == 0 || n == partitions*circuits {
		t.Errorf("%d circuits wait in memory, want some, as there was room for some", n)
	}
	if err := s.Close(); err == nil {
		t.Error("Close with changes left = nil, want an error")
	}
	s = open(t, dir, tiny)
	for p := range partitions {
		if _, known, err := s.Position(int32(p)); err != nil {
			t.Error(err)
		} else if n := check(p); known && n > 0 {
			t.Errorf("partition %d has a position without %d of its circuits", p, n)
		}
	}
}
