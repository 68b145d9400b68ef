package state_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/state"
)

var (
	id   = state.Identity{ClusterID: "cluster", TopicID: "topic"}
	t0   = time.Date(2026, 9, 14, 12, 0, 0, 123456789, time.UTC)
	mute = slog.New(slog.NewTextHandler(io.Discard, nil))
)

func open(t testing.TB, dir string, o state.Options) *state.Store {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := state.Open(dir, id, o)
	if err != nil {
		t.Fatalf("Open(%q) = %v", dir, err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test that minds what Close returns has called it itself
	return s
}

func closeStore(t testing.TB, s *state.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
}

func flush(t testing.TB, s *state.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		t.Fatalf("Flush() = %v", err)
	}
}

func set(circuit, value string) state.Change {
	return state.Change{Circuit: circuit, Value: []byte(value)}
}
func del(circuit string) state.Change { return state.Change{Circuit: circuit} }
func at(offset int64) state.Position {
	return state.Position{Offset: offset, At: t0, Progress: fmt.Appendf(nil, "progress %d", offset)}
}

// checkValues compares a partition with what it should hold, by Load, Each and Count.
func checkValues(t testing.TB, s *state.Store, partition int32, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := s.Each(partition, func(circuit string, value []byte) error {
		if _, twice := got[circuit]; twice {
			t.Errorf("Each(%d) passed %q twice", partition, circuit)
		}
		got[circuit] = string(value)
		return nil
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Each(%d) = %v, %v, want %v", partition, got, err, want)
	}
	if n, err := s.Count(partition); n != len(want) || err != nil {
		t.Errorf("Count(%d) = %d, %v, want %d", partition, n, err, len(want))
	}
	for circuit, value := range want {
		if v, ok, err := s.Load(partition, circuit); string(v) != value || !ok || err != nil {
			t.Errorf("Load(%d, %q) = %q, %t, %v, want %q", partition, circuit, v, ok, err, value)
		}
	}
}

func checkPosition(t testing.TB, s *state.Store, partition int32, want state.Position) {
	t.Helper()
	got, ok, err := s.Position(partition)
	if err != nil || ok != (want.Offset != 0) || got.Offset != want.Offset || !got.At.Equal(want.At) ||
		string(got.Progress) != string(want.Progress) {
		t.Errorf("Position(%d) = %+v, %t, %v, want %+v", partition, got, ok, err, want)
	}
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, state.Options{})
	s.Save(3, []state.Change{set("a", "1"), set("b", "2"), set("empty", "")}, at(10))
	s.Save(-1, []state.Change{set("a", "other partition")}, state.Position{Offset: 1})
	s.Save(3, []state.Change{set("a", "3"), del("b"), del("never there")}, at(20))
	want := map[string]string{"a": "3", "empty": ""}
	check := func(s *state.Store) {
		t.Helper()
		checkValues(t, s, 3, want)
		checkValues(t, s, -1, map[string]string{"a": "other partition"})
		checkValues(t, s, 4, map[string]string{})
		checkPosition(t, s, 3, at(20))
		checkPosition(t, s, -1, state.Position{Offset: 1})
		checkPosition(t, s, 4, state.Position{})
	}
	check(s)
	flush(t, s)
	check(s)
	s.Save(3, []state.Change{set("c", "4"), del("empty")}, at(30))
	closeStore(t, s)

	s = open(t, dir, state.Options{})
	want = map[string]string{"a": "3", "c": "4"}
	checkValues(t, s, 3, want)
	checkPosition(t, s, 3, at(30))
}

// TestSaveTakesTheValues changes all that was handed to Save save the bytes of the values, and what Load returned.
func TestSaveTakesTheValues(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{})
	changes, progress := []state.Change{{Circuit: "a", Value: []byte("before")}}, []byte("before")
	s.Save(0, changes, state.Position{Offset: 1, Progress: progress})
	clear(changes)
	copy(progress, "after!")
	checkValues(t, s, 0, map[string]string{"a": "before"})
	checkPosition(t, s, 0, state.Position{Offset: 1, Progress: []byte("before")})
	got, _, err := s.Load(0, "a")
	if err != nil {
		t.Fatal(err)
	}
	copy(got, "after!")
	checkValues(t, s, 0, map[string]string{"a": "before"})
}

func TestAgainstAMap(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		dir := t.TempDir()
		o := state.Options{MemTableBytes: 256 << 10}
		s := open(t, dir, o)
		want := map[int32]map[string]string{0: {}, 1: {}}
		for step := range int64(60) {
			partition := rng.Int32N(2)
			var changes []state.Change
			for range rng.IntN(200) {
				circuit := fmt.Sprint("circuit ", rng.IntN(300))
				if rng.IntN(4) == 0 {
					delete(want[partition], circuit)
					changes = append(changes, del(circuit))
					continue
				}
				want[partition][circuit] = strings.Repeat(fmt.Sprint(step), rng.IntN(500))
				changes = append(changes, set(circuit, want[partition][circuit]))
			}
			s.Save(partition, changes, at(step+1))
			switch rng.IntN(12) {
			case 0:
				flush(t, s)
			case 1:
				closeStore(t, s)
				s = open(t, dir, o)
			case 2:
				if err := s.Wipe(partition); err != nil {
					t.Fatal(err)
				}
				want[partition] = map[string]string{}
			}
		}
		checkValues(t, s, 0, want[0])
		checkValues(t, s, 1, want[1])
		closeStore(t, s)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestALargeValueIsKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, state.Options{MemTableBytes: 1 << 20})
	large := strings.Repeat("x", 3<<20)
	s.Save(0, []state.Change{set("large", large), set("small", "y")}, at(1))
	closeStore(t, s)
	s = open(t, dir, state.Options{MemTableBytes: 1 << 20})
	if v, ok, err := s.Load(0, "large"); string(v) != large || !ok || err != nil {
		t.Errorf("Load of %d bytes = %d bytes, %t, %v", len(large), len(v), ok, err)
	}
}

// Pitfall 33: no callback runs under a lock.
func TestEachStopsAtAnErrorAndMayCallTheStore(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{})
	s.Save(0, []state.Change{set("a", "1"), set("b", "2")}, at(1))
	flush(t, s)
	stop, calls := errors.New("stop"), 0
	err := s.Each(0, func(circuit string, value []byte) error {
		calls++
		s.Save(0, []state.Change{set(circuit, "new")}, at(2))
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("Each = %v after %d calls, want %v after 1", err, calls, stop)
	}
	if st := s.Stats(); st.Errors != 0 {
		t.Errorf("Stats().Errors = %d after an error of the caller's, want 0", st.Errors)
	}
}

func TestPitfall19OfAnotherIdentityIsDiscarded(t *testing.T) {
	for name, other := range map[string]state.Identity{
		"topic":   {ClusterID: id.ClusterID, TopicID: "created again"},
		"cluster": {ClusterID: "another", TopicID: id.TopicID},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, state.Options{})
			s.Save(0, []state.Change{set("a", "1")}, at(1))
			closeStore(t, s)
			var said strings.Builder
			s, err := state.Open(dir, other, state.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
			if err != nil {
				t.Fatalf("Open with another identity = %v", err)
			}
			defer s.Close()
			checkValues(t, s, 0, map[string]string{})
			checkPosition(t, s, 0, state.Position{})
			if !strings.Contains(said.String(), "store discarded") {
				t.Errorf("the log does not say that the store was discarded: %s", said.String())
			}
		})
	}
}

func TestPitfall19OfANewerSchemaIsDiscarded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, state.Options{})
	s.Save(0, []state.Change{set("a", "1")}, at(1))
	closeStore(t, s)
	name := filepath.Join(dir, "label.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(text), `"schema":1`, `"schema":2`, 1)
	if newer == string(text) {
		t.Fatalf("no schema version in %s", text)
	}
	if err := os.WriteFile(name, []byte(newer), 0o644); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, state.Options{})
	checkValues(t, s, 0, map[string]string{})
	checkPosition(t, s, 0, state.Position{})
}

func TestPitfall19DiskPlateausUnderChurn(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{MemTableBytes: 256 << 10})
	rng := rand.New(rand.NewPCG(1, 0))
	const circuits, size = 2000, 500
	var peak int64
	for round := range int64(150) {
		var changes []state.Change
		for range circuits {
			c := state.Change{Circuit: fmt.Sprint(rng.IntN(circuits)), Value: noise(rng, size)}
			if rng.IntN(4) == 0 {
				c.Value = nil
			}
			changes = append(changes, c)
		}
		s.Save(0, changes, at(round+1))
		flush(t, s)
		peak = max(peak, s.Stats().Bytes)
	}
	if limit := int64(8 << 20); peak > limit {
		t.Errorf("up to %d bytes on disk for %d bytes alive and 150 MB written, want at most %d",
			peak, circuits*size, limit)
	}
	t.Logf("peak %d bytes", peak)
}

func noise(rng *rand.Rand, n int) []byte {
	value := make([]byte, n)
	for i := range value {
		value[i] = byte(rng.Uint32())
	}
	return value
}

func TestPitfall22VirtualTime(t *testing.T) {
	for range 2 { // two bubbles one after the other must not share anything
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, state.Options{})
			for i := range int64(20) {
				s.Save(0, []state.Change{set("a", fmt.Sprint(i))}, at(i+1))
				time.Sleep(time.Hour) // virtual
			}
			flush(t, s)
			closeStore(t, s)
			s = open(t, dir, state.Options{})
			checkValues(t, s, 0, map[string]string{"a": "19"})
			checkPosition(t, s, 0, at(20))
			closeStore(t, s)
		})
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{})
	closeStore(t, s)
	closeStore(t, s)
	s.Save(0, []state.Change{set("a", "1")}, at(1))
	if _, _, err := s.Load(0, "a"); !errors.Is(err, state.ErrClosed) {
		t.Errorf("Load after Close = %v, want %v", err, state.ErrClosed)
	}
	if err := s.Flush(context.Background()); !errors.Is(err, state.ErrClosed) {
		t.Errorf("Flush after Close = %v, want %v", err, state.ErrClosed)
	}
	if err := s.Wipe(0); !errors.Is(err, state.ErrClosed) {
		t.Errorf("Wipe after Close = %v, want %v", err, state.ErrClosed)
	}
}

// TestSavedIsCopied saves values of all lengths from one buffer, over and over, while the writer is at work: what was
// loaded stays as it was, and what is loaded is what was saved last.
func TestSavedIsCopied(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{})
	rng := rand.New(rand.NewPCG(7, 0))
	buffer := make([]byte, 100_000)
	want, loaded := map[string]string{}, map[string][]byte{}
	copies := map[string]string{}
	for step := range int64(3_000) {
		circuit := fmt.Sprint(rng.IntN(20))
		size := rng.IntN(1_000)
		if rng.IntN(100) == 0 {
			size = rng.IntN(len(buffer))
		}
		value := buffer[:size]
		for i := range value {
			value[i] = byte(step)
		}
		s.Save(0, []state.Change{{Circuit: circuit, Value: value}}, at(step+1))
		want[circuit] = string(value)
		clear(buffer)
		asked := fmt.Sprint(rng.IntN(20))
		got, ok, err := s.Load(0, asked)
		if err != nil {
			t.Fatal(err)
		}
		if expected, saved := want[asked]; ok != saved || string(got) != expected {
			t.Fatalf("step %d: Load(%q) = %d bytes, %v, want %d bytes, %v",
				step, asked, len(got), ok, len(expected), saved)
		}
		loaded[asked], copies[asked] = got, string(got)
		if rng.IntN(500) == 0 {
			flush(t, s)
		}
	}
	for circuit, value := range loaded {
		if string(value) != copies[circuit] {
			t.Errorf("the value that was loaded of %q has changed", circuit)
		}
	}
	flush(t, s)
	checkValues(t, s, 0, want)
}
