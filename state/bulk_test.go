package state_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fusebox-project/fusebox/state"
)

// TestFillBoundsWhatWaits fills a store with more than it lets wait, much faster than a disk takes it.
func TestFillBoundsWhatWaits(t *testing.T) {
	const rows, each, size, most = 90, 1000, 2000, 128 << 20
	s := open(t, t.TempDir(), state.Options{})
	value, peak := noise(rand.New(rand.NewPCG(1, 0)), size), 0
	for row := range int64(rows) {
		var changes []state.Change
		for i := range each {
			changes = append(changes, set(fmt.Sprint(row, " ", i), string(value)))
		}
		if err := s.Fill(context.Background(), int32(row%4), changes, at(row+1)); err != nil {
			t.Fatalf("Fill() = %v", err)
		}
		waits := s.Stats().Pending
		if peak = max(peak, waits); waits > most/size {
			t.Fatalf("after row %d %d changes wait, want at most %d", row, waits, most/size)
		}
	}
	if peak < most/size/4 {
		t.Errorf("at most %d changes waited: the writer was not let sleep", peak)
	}
	s.Save(0, nil, at(rows+1))
	flush(t, s)
	for partition := range int32(4) {
		want := (rows + 3 - int(partition)) / 4 * each
		if n, err := s.Count(partition); n != want || err != nil {
			t.Errorf("Count(%d) = %d, %v, want %d", partition, n, err, want)
		}
	}
	checkPosition(t, s, 0, at(rows+1))
}

// TestFillWritesWhatIsOverwrittenOnce fills with the same circuits over and over, far more in sum than may wait.
func TestFillWritesWhatIsOverwrittenOnce(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{})
	value := string(make([]byte, 1<<20))
	for round := range int64(300) {
		changes := []state.Change{set("a", value), set("b", value), del("c")}
		if err := s.Fill(context.Background(), 0, changes, at(round+1)); err != nil {
			t.Fatalf("Fill() = %v", err)
		}
	}
	if st := s.Stats(); st.Pending != 3 || st.PositionLag != 299 {
		t.Errorf("Stats() = %+v, want three circuits that wait, and no position on disk", st)
	}
	checkValues(t, s, 0, map[string]string{"a": value, "b": value})
	s.Save(0, nil, at(301))
	flush(t, s)
	checkValues(t, s, 0, map[string]string{"a": value, "b": value})
	checkPosition(t, s, 0, at(301))
}

func TestFillEnds(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{})
	closeStore(t, s)
	if err := s.Fill(context.Background(), 0, nil, at(1)); !errors.Is(err, state.ErrClosed) {
		t.Errorf("Fill() after Close = %v, want %v", err, state.ErrClosed)
	}
}

// TestUnderAndAfter reads a part of the circuits, written and waiting.
func TestUnderAndAfter(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{})
	s.Save(0, []state.Change{set("\x00p/1", "1"), set("\x00p/2", "2"), set("a", "3"), set("b", "4")}, at(1))
	s.Save(1, []state.Change{set("\x00p/9", "9"), set("c", "9")}, at(1))
	flush(t, s)
	s.Save(0, []state.Change{set("\x00p/2", "two"), set("\x00p/3", "3"), del("\x00p/1"), set("d", "5")}, at(2))
	read := func(walk func(int32, string, func(string, []byte) error) error, from string, ordered bool) string {
		got, last := map[string]string{}, ""
		if err := walk(0, from, func(circuit string, value []byte) error {
			if _, waits := got[last]; ordered && waits && circuit <= last {
				t.Errorf("from %q: %q came after %q", from, circuit, last)
			}
			got[circuit], last = string(value), circuit
			return nil
		}); err != nil {
			t.Errorf("read from %q: %v", from, err)
		}
		return fmt.Sprintf("%q", got)
	}
	if got, want := read(s.Under, "\x00p/", false), `map["\x00p/2":"two" "\x00p/3":"3"]`; got != want {
		t.Errorf("Under(p/) = %s, want %s", got, want)
	}
	flush(t, s)
	for from, want := range map[string]string{
		"":       `map["\x00p/2":"two" "\x00p/3":"3" "a":"3" "b":"4" "d":"5"]`,
		"a":      `map["b":"4" "d":"5"]`,
		"\x00p/": `map["\x00p/2":"two" "\x00p/3":"3" "a":"3" "b":"4" "d":"5"]`,
		"b\x00":  `map["d":"5"]`,
		"d":      `map[]`,
	} {
		if got := read(s.After, from, true); got != want {
			t.Errorf("After(%q) = %s, want %s", from, got, want)
		}
	}
}
