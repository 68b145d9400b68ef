package state_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/state"
)

// TestPitfall18OneForAllPartitions fills a store of 64 partitions: it takes no more memory and goroutines than
// one of a single partition does, and no value leaves the tables for a log of its own.
func TestPitfall18OneForAllPartitions(t *testing.T) {
	dir := t.TempDir()
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	s := open(t, dir, state.Options{Logger: mute})
	large := bytes.Repeat([]byte("x"), 64<<10)
	for p := range int32(64) {
		s.Save(p, []state.Change{{Circuit: "c", Value: large}, set("d", "small")}, at(10))
	}
	flush(t, s)
	if n := runtime.NumGoroutine() - goroutines; n > 30 {
		t.Errorf("an open store has %d goroutines, want 30 or fewer", n)
	}
	if n := heapInUse() - heap; n > 64<<20 {
		t.Errorf("an open store takes %d bytes of memory, want 64 MiB or less", n)
	}
	logs := int64(0)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".vlog") {
			text, readErr := os.ReadFile(path)
			logs += int64(bytes.Count(text, large[:1<<10])) // The file is laid out far larger than what is in it.
			err = readErr
		}
		return err
	})
	if err != nil || logs > 0 {
		t.Errorf("%d pieces of values stand in a log of values, %v; want none", logs, err)
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// TestPitfall19NothingExpires lets a day pass with the store open and ten years with it closed: what was
// saved is there.
func TestPitfall19NothingExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		want := map[string]string{"open": "circuit"}
		for i := range 100 {
			want[fmt.Sprint("c", i)] = "closed"
		}
		s := open(t, dir, state.Options{Logger: mute})
		for circuit, value := range want {
			s.Save(0, []state.Change{set(circuit, value)}, at(10))
		}
		flush(t, s)
		time.Sleep(24 * time.Hour)
		checkValues(t, s, 0, want)
		closeStore(t, s)
		time.Sleep(10 * 365 * 24 * time.Hour)
		s = open(t, dir, state.Options{Logger: mute})
		checkValues(t, s, 0, want)
		checkPosition(t, s, 0, at(10))
		closeStore(t, s)
	})
}
