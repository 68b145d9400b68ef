package windows_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/windows"
)

var t0 = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

// slice is a window too simple to be wrong: all that was ever entered, and the rule of the cells read off the page.
type slice struct {
	span, last, width int64
	events            []event
}

type event struct {
	ms int64
	windows.Tally
}

func (s *slice) cell(ms int64) int64 {
	c := ms / s.width
	if ms%s.width < 0 {
		c--
	}
	return c
}

func (s *slice) old(ms, at int64) bool { return (s.cell(ms)+1)*s.width-1 < at-s.span }

func (s *slice) left(at int64) (n int64) {
	for _, e := range s.events {
		if !s.old(e.ms, at) {
			n += e.Count
		}
	}
	return n
}

func (s *slice) distinct() int {
	cells := map[int64]bool{}
	for _, e := range s.events {
		cells[s.cell(e.ms)] = true
	}
	return len(cells)
}

func (s *slice) add(at, ms int64, x windows.Tally) {
	if s.last > 0 {
		s.events = append(s.events, event{ms, x})
		for s.sum().Count-s.events[0].Count >= s.last {
			s.events = s.events[1:]
		}
		return
	}
	s.events = slices.DeleteFunc(s.events, func(e event) bool { return s.old(e.ms, at) })
	if len(s.events) == 0 {
		s.width = 1
	}
	if s.old(ms, at) {
		return
	}
	s.events = append(s.events, event{ms, x})
	for s.distinct() > windows.MaxCells {
		s.width *= 2
	}
}

func (s *slice) sum() (total windows.Tally) {
	for _, e := range s.events {
		total.Count += e.Count
		total.Weight += e.Weight
		total.Measure += e.Measure
	}
	return total
}

func (s *slice) since() (int64, bool) {
	oldest, found := int64(0), false
	for _, e := range s.events {
		if e.Matched && (!found || e.ms < oldest) {
			oldest, found = e.ms, true
		}
	}
	return oldest, found
}

func (s *slice) byKind() map[uint8]int64 {
	counts := map[uint8]int64{}
	for _, e := range s.events {
		counts[e.Kind] += e.Count
	}
	return counts
}

func TestWindowAgainstASlice(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 0))
		span := []int64{1, 100, 1000, 60_000}[rng.IntN(4)]
		w, naive := windows.New(time.Duration(span)*time.Millisecond), slice{span: span, width: 1}
		if seed%4 == 3 {
			n := 1 + rng.Int64N(40)
			w, naive = windows.NewLast(n), slice{last: n, width: 1}
		}
		at := t0.UnixMilli() * rng.Int64N(2)
		for i := range 600 {
			at += rng.Int64N([]int64{2, span/50 + 1, 2*span + 1}[min(rng.IntN(40), 2)])
			ms := at - rng.Int64N(span+2)*rng.Int64N(2)
			x := tally(rng)
			w.Add(time.UnixMilli(at), time.UnixMilli(ms), x)
			naive.add(at, ms, x)
			compare(t, fmt.Sprintf("seed %d, entry %d", seed, i), &w, &naive)
			later := at + rng.Int64N(span+2)
			if got, want := w.Left(time.UnixMilli(later)), naive.left(later); naive.last == 0 && got != want {
				t.Fatalf("seed %d, entry %d: Left(%d) = %d, want %d", seed, i, later, got, want)
			}
			if rng.IntN(20) == 0 {
				w = reread(t, w, span, naive.last)
			}
		}
	}
}

func tally(rng *rand.Rand) windows.Tally {
	x := windows.Tally{Kind: uint8(rng.IntN(3)), Count: 1 + rng.Int64N(3)*rng.Int64N(2)}
	if rng.IntN(3) == 0 {
		x.Kind = uint8(14 + rng.IntN(3))
	}
	if rng.IntN(2) == 0 {
		x.Matched, x.Weight, x.Measure = true, x.Count*1000, x.Count
	}
	if x.Matched && rng.IntN(3) == 0 {
		x.Weight = rng.Int64N(5000)
	}
	if x.Matched && rng.IntN(3) == 0 {
		x.Measure = rng.Int64N(5_000_000)
	}
	return x
}

func compare(t *testing.T, where string, w *windows.Window, naive *slice) {
	t.Helper()
	want := naive.sum()
	if w.Count() != want.Count || w.Weight() != want.Weight || w.Measure() != want.Measure {
		t.Fatalf("%s: sums are %d, %d, %d, want %+v", where, w.Count(), w.Weight(), w.Measure(), want)
	}
	since, found := w.Since()
	if ms, ok := naive.since(); found != ok || ok && since.UnixMilli() != ms {
		t.Fatalf("%s: Since = %v, %v, want %d, %v", where, since.UnixMilli(), found, ms, ok)
	}
	counts := map[uint8]int64{}
	w.Each(func(x windows.Tally) { counts[x.Kind] += x.Count })
	for kind, n := range naive.byKind() {
		if counts[kind] != n {
			t.Fatalf("%s: kind %d was counted %d times, want %d", where, kind, counts[kind], n)
		}
	}
	if naive.last == 0 && w.Len() != naive.distinct() {
		t.Fatalf("%s: Len = %d, want %d", where, w.Len(), naive.distinct())
	}
}

// reread returns the window as its bytes read back.
func reread(t *testing.T, w windows.Window, span, last int64) windows.Window {
	t.Helper()
	to := windows.New(time.Duration(span) * time.Millisecond)
	if last > 0 {
		to = windows.NewLast(last)
	}
	rest, err := to.DecodeBinary(w.AppendBinary(nil), func(kind uint8) uint8 { return kind })
	if err != nil || len(rest) > 0 {
		t.Fatalf("DecodeBinary: %v, %d bytes left", err, len(rest))
	}
	return to
}

// TestPitfall31OneOutcomeFromLongAgo keeps a window from freezing when the clock leaps: what is old leaves.
func TestPitfall31OneOutcomeFromLongAgo(t *testing.T) {
	w := windows.New(time.Minute)
	w.Add(t0, t0, windows.Tally{Count: 5})
	w.Add(t0.Add(100*365*24*time.Hour), t0, windows.Tally{Count: 7})
	if w.Count() != 0 {
		t.Errorf("Count after a leap of a century = %d, want 0", w.Count())
	}
	w.Add(t0.Add(100*365*24*time.Hour), t0.Add(100*365*24*time.Hour), windows.Tally{Count: 1})
	if w.Count() != 1 {
		t.Errorf("Count = %d, want 1", w.Count())
	}
}

// TestPitfall29AFullWindowForgetsOneCellAtATime fills a window with 9,000 outcomes and lets time pass.
func TestPitfall29AFullWindowForgetsOneCellAtATime(t *testing.T) {
	w := windows.New(time.Minute)
	for i := range 9000 {
		at := t0.Add(time.Duration(i) * time.Minute / 9000)
		w.Add(at, at, windows.Tally{Count: 1})
	}
	before := w.Count()
	at := t0.Add(61 * time.Second)
	w.Add(at, at, windows.Tally{Count: 1})
	if lost := before + 1 - w.Count(); lost < 70 || lost > 150 {
		t.Errorf("a window of 9,000 lost %d within a second, want 150 or one cell fewer", lost)
	}
}

func TestSumsStayAtTheGreatestNumber(t *testing.T) {
	w := windows.New(time.Second)
	for i := range 4 {
		at := t0.Add(time.Duration(i) * time.Millisecond)
		w.Add(at, at, windows.Tally{Count: math.MaxInt64 / 2, Matched: true, Weight: math.MaxInt64, Measure: 1})
	}
	if w.Count() != math.MaxInt64 || w.Weight() != math.MaxInt64 {
		t.Errorf("sums are %d and %d, want the greatest number", w.Count(), w.Weight())
	}
	at := t0.Add(time.Second + 3*time.Millisecond)
	w.Add(at, at, windows.Tally{Count: 1})
	if want := int64(math.MaxInt64/2 + 1); w.Count() != want || w.Measure() != 1 {
		t.Errorf("after the great ones left, Count = %d and Measure = %d, want %d and 1", w.Count(), w.Measure(), want)
	}
}

func TestAWindowInSteadyUseAllocatesNothing(t *testing.T) {
	w := windows.New(time.Minute)
	at := t0
	add := func() {
		at = at.Add(470 * time.Millisecond)
		w.Add(at, at, windows.Tally{Kind: uint8(at.UnixMilli() % 2), Count: 1})
	}
	for range 1000 {
		add()
	}
	if n := testing.AllocsPerRun(10_000, add); n > 0 {
		t.Errorf("Add allocates %v times, want 0", n)
	}
}

func FuzzDecodeBinary(f *testing.F) {
	w := windows.New(time.Minute)
	w.Add(t0, t0, windows.Tally{Kind: 1, Count: 1})
	w.Add(t0, t0.Add(-time.Second), windows.Tally{Kind: 20, Count: 3, Matched: true, Weight: 5, Measure: 9})
	f.Add(w.AppendBinary(nil))
	f.Add([]byte{3, 2, 0xc0, 1, 1, 1, 1, 1, 0x10, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		w := windows.New(time.Minute)
		rest, err := w.DecodeBinary(b, func(kind uint8) uint8 { return kind })
		if err != nil {
			return
		}
		again := windows.New(time.Minute)
		if _, err := again.DecodeBinary(w.AppendBinary(nil), func(kind uint8) uint8 { return kind }); err != nil {
			t.Fatalf("what was decoded does not read back: %v (%d bytes left at first)", err, len(rest))
		}
		if again.Count() != w.Count() || again.Len() != w.Len() {
			t.Fatalf("read back %d outcomes in %d cells, want %d in %d", again.Count(), again.Len(), w.Count(), w.Len())
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	w := windows.New(time.Minute)
	at := t0
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(470 * time.Millisecond)
		w.Add(at, at, windows.Tally{Kind: 1, Count: 1})
	}
}

func ExampleWindow() {
	w := windows.New(time.Minute)
	w.Add(t0, t0, windows.Tally{Count: 1, Matched: true, Weight: 1000, Measure: 1})
	at := t0.Add(30 * time.Second)
	w.Add(at, at, windows.Tally{Count: 1})
	fmt.Println(w.Count(), w.Weight())
	at = t0.Add(61 * time.Second)
	w.Add(at, at, windows.Tally{Count: 1})
	fmt.Println(w.Count(), w.Weight())
	// Output:
	// 2 1000
	// 2 0
}
