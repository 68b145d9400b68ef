package audit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// newest are the ids that a circuit remembers.
type newest []string

// sees takes an id, and tells whether it was remembered.
func (n *newest) sees(id string) bool {
	if slices.Contains(*n, id) {
		return true
	}
	*n = append(*n, id)
	*n = (*n)[max(0, len(*n)-idsKept):]
	return false
}

// TestIDs compares what is sure with what a circuit remembers that remembered anything before, and one that did not.
func TestIDs(t *testing.T) {
	sure, alike := 0, 0
	for seed := uint64(300); seed < 500; seed++ { // Among them one that shows a bound that is one off.
		rng := rand.New(rand.NewPCG(seed, 0))
		pool, ofPool, again, inTurn := 1+rng.IntN(150), rng.IntN(11)*rng.IntN(11), rng.IntN(20), rng.IntN(2) == 0
		var processor, core newest
		for _, id := range rng.Perm(pool) {
			processor.sees(fmt.Sprint(id))
		}
		var i ids
		var came []string
		for n := range 700 {
			id := fmt.Sprint("once ", n)
			switch ago := idsKept - 1 + rng.IntN(3); {
			case n >= ago && rng.IntN(100) < again:
				id = came[n-ago]
			case rng.IntN(100) < ofPool && inTurn:
				id = fmt.Sprint(n % pool)
			case rng.IntN(100) < ofPool:
				id = fmt.Sprint(rng.IntN(pool))
			}
			came = append(came, id)
			told, had, has := i.sees(id), processor.sees(id), core.sees(id)
			if told && had != has {
				t.Fatalf("seed %d: id %d, %q, is said to be sure, and one of two remembers it", seed, n, id)
			}
			if len(i.last) > 2*spanned {
				t.Fatalf("seed %d: it holds %d ids", seed, len(i.last))
			}
			if told {
				sure++
			}
		}
		if i.alike {
			alike++
		}
	}
	if sure < 200*700/4 || alike < 200/4 {
		t.Errorf("%d ids are sure, and %d circuits known at the end: too few", sure, alike)
	}
}

// TestIDsThatComeOnce is sure of all that comes when as many ids have come as may have been remembered, and as many
// again that surely came anew.
func TestIDsThatComeOnce(t *testing.T) {
	var i ids
	for n := range spanned + idsKept {
		if sure := i.sees(fmt.Sprint(n)); sure != (n >= spanned) {
			t.Errorf("id %d: sure is %v", n, sure)
		}
		if known := n == spanned+idsKept-1; i.alike != known {
			t.Errorf("id %d: what the circuit remembers is known: %v", n, i.alike)
		}
	}
}
