package naive

import (
	"math/big"
	"slices"
	"testing"
)

// times returns the times that the window holds, in their order.
func (w *window) times() []int64 {
	var times []int64
	for _, e := range w.entries {
		times = append(times, e.t)
	}
	slices.Sort(times)
	return times
}

func TestWindowIsExactUpTo128Times(t *testing.T) {
	w := &window{length: 1_000}
	for i := range int64(128) {
		w.add(2*i, entry{t: 2 * i, count: 1})
	}
	if w.q != 1 || len(w.entries) != 128 {
		t.Fatalf("128 times: q = %d with %d entries, want 1 with 128", w.q, len(w.entries))
	}
	w.add(1_001, entry{t: 1_001, count: 1})
	if w.q != 1 || w.times()[0] != 2 {
		t.Errorf("at 1001: q = %d, oldest %d, want 1, 2", w.q, w.times()[0])
	}
}

func TestWindowDoublesItsCells(t *testing.T) {
	w := &window{length: 1_000}
	for i := range int64(129) {
		w.add(2*i, entry{t: 2 * i, count: 1})
	}
	// In cells of 2 ms the 129 even times are 129 cells still, so that q goes on to 4.
	if w.q != 4 || w.cells() != 65 {
		t.Fatalf("129 even times: q = %d with %d cells, want 4 with 65", w.q, w.cells())
	}
	w.add(1_003, entry{t: 1_003, count: 1})
	if got := w.times()[0]; got != 0 {
		t.Errorf("at 1003, when the cell of 0 to 3 is just in: oldest %d, want 0", got)
	}
	w.add(1_004, entry{t: 3, count: 1})
	if got := w.times()[0]; got != 4 {
		t.Errorf("at 1004, when the cell of 0 to 3 is out, for a new outcome too: oldest %d, want 4", got)
	}
	w.add(5_000, entry{t: 5_000, count: 1})
	if w.q != 1 || len(w.entries) != 1 {
		t.Errorf("after all have left: q = %d with %d entries, want 1 with 1", w.q, len(w.entries))
	}
}

func TestRounding(t *testing.T) {
	p := &Policy{SeverityWeights: map[string]int64{"low": 250}, EvaluatorWeights: map[string]int64{"llm": 500}}
	if got := p.weight(100, "low", "llm"); got != 13 {
		t.Errorf("0.1 x 0.25 x 0.5 = %d thousandths, want 13", got)
	}
	if got := nearest(big.NewRat(7, 3)); got != 2 {
		t.Errorf("nearest(7/3) = %d, want 2", got)
	}
	s := settings{duration: 3_333, backoff: 1_500, max: 60_000}
	if got := s.breakFor(2, 0); got != 5_000 {
		t.Errorf("second break of 3333 ms x 1.5 = %d, want 5000", got)
	}
	if got := s.breakFor(3, 0); got != 7_499 {
		t.Errorf("third break of 3333 ms x 1.5 x 1.5 = %d, want 7499, rounded once", got)
	}
}
