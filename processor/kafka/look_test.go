//go:build synctests

package kafka

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestLook looks at circuits of two instances, in memory and in the store: the one that works on the partition knows,
// the other says that it does not.
func TestLook(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		named := func(i int) string { return fmt.Sprintf("case:route-%d:v1", i) }
		start := func(instance string) *process {
			dir := t.TempDir()
			return w.start(func(c *Config) {
				c.Instance, c.DataDir, c.MaxResident = instance, dir, 2
			}, nil)
		}
		a := start("a")
		if _, _, err := a.Look(t.Context(), "case:route-0:v1"); !errors.Is(err, ErrElsewhere) {
			t.Errorf("Look before anything is known = %v, want ErrElsewhere", err)
		}
		b := start("b")
		w.ready(a)
		w.ready(b)
		w.until("shared out", func() bool {
			x, y := a.Ready(), b.Ready()
			return len(x.Partitions) == 2 && len(y.Partitions) == 2 && x.Ready && y.Ready
		})
		const circuits = 12
		for i := range circuits {
			kind := schemas.Accepted
			if i == 7 {
				kind = schemas.MissingEvidence
			}
			w.Produce(t, outcome(named(i), kind, "1"))
		}
		w.caughtUp()
		known := 0
		for _, r := range []*process{a, b} {
			for i := range circuits {
				circuit := named(i)
				look, partition, err := r.Look(t.Context(), circuit)
				if errors.Is(err, ErrElsewhere) {
					continue
				}
				if err != nil || partition != w.home(circuit) {
					t.Fatalf("Look(%s) = partition %d, %v, want %d", circuit, partition, err, w.home(circuit))
				}
				known++
				if rule := look.Rules[0]; rule.Throughput != 1 || (rule.Observed == 1) != (i == 7) {
					t.Errorf("Look(%s) = %v of %d, want one outcome", circuit, rule.Observed, rule.Throughput)
				}
			}
			_, _, err := r.Look(t.Context(), "unheard")
			if !errors.Is(err, ErrElsewhere) && !errors.Is(err, ErrUnknownCircuit) {
				t.Errorf("Look(unheard) = %v, want ErrUnknownCircuit or ErrElsewhere", err)
			}
		}
		if known != circuits {
			t.Errorf("%d of %d circuits are known to one instance and no other", known, circuits)
		}

		w.end(b)
		w.until("b's partitions are a's", func() bool { return len(a.Ready().Partitions) == 4 && a.Ready().Ready })
		time.Sleep(2 * time.Minute)
		look, _, err := a.Look(t.Context(), named(7))
		if err != nil || look.Rules[0].Throughput != 0 || look.Measured {
			t.Errorf("Look after the window = %v, %v, want nothing in it", look.Rules, err)
		}
		w.end(a)
		if _, _, err := a.Look(t.Context(), named(7)); err == nil {
			t.Error("Look after the end = nil, want an error")
		}
	})
}
