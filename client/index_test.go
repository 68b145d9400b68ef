package client

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// record is the n-th record of a circuit.
func record(circuit string, n int64) *schemas.State {
	return &schemas.State{Circuit: circuit, Enforced: true, Sequence: n, Born: time.Unix(0, n)}
}

// TestTableRemembers plays records and tombstones of circuits with names of every length, and compares with a map.
func TestTableRemembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	table, want := newTable(time.Now()), map[string]int64{}
	for n := range int64(40_000) {
		circuit := fmt.Sprintf("%s:%d", strings.Repeat("r", rng.IntN(70)), rng.IntN(200))
		if grow := n < 20_000; rng.IntN(3) == 0 == grow {
			_, known := want[circuit]
			if table.forget(circuit) != nil != known {
				t.Fatalf("forget(%s) says known = %v, want %v", circuit, !known, known)
			}
			delete(want, circuit)
		} else {
			table.put(record(circuit, n), nil)
			want[circuit] = n
		}
		if got := table.circuits.size(); got != len(want) {
			t.Fatalf("after %d records %d circuits are known, want %d", n, got, len(want))
		}
	}
	for circuit, n := range want {
		if s := table.circuits.load(circuit); s == nil || s.state.Load().Sequence != n {
			t.Errorf("of %s is known %v, want sequence %d", circuit, s, n)
		}
	}
	seen := 0
	for s := range table.circuits.all() {
		if seen++; want[s.state.Load().Circuit] != s.state.Load().Sequence {
			t.Errorf("there is %v, which is not known", s.state.Load())
		}
	}
	if seen != len(want) {
		t.Errorf("there are %d circuits, want %d", seen, len(want))
	}
	if s := table.circuits.load("nobody:has:heard"); s != nil {
		t.Errorf("a circuit that nobody has heard of is known: %v", s.state.Load())
	}
}

// TestTableForgets holds that circuits which come and go take no room for ever.
func TestTableForgets(t *testing.T) {
	table := newTable(time.Now())
	for n := range int64(50_000) {
		table.put(record(fmt.Sprint("route-", n), 1), nil)
		if n >= 100 {
			table.forget(fmt.Sprint("route-", n-100))
		}
	}
	if cells := len(*table.circuits.cells.Load()); cells > 1024 {
		t.Errorf("100 circuits take %d cells, want at most 1024", cells)
	}
}

// TestTableTellsAlikeApart: two names of one hash are two circuits.
func TestTableTellsAlikeApart(t *testing.T) {
	long := strings.Repeat("r", 60)
	for _, names := range [][2]string{{"a", "b"}, {"a", "ab"}, {long + "a", long + "b"}, {long[:47], long[:48]}} {
		x := newIndex()
		x.store(names[0], &slot{})
		s := x.load(names[0])
		cells := *x.cells.Load()
		if find(cells, s.hash, names[0]).Load() != s {
			t.Errorf("%s is not found", names[0])
		}
		if found := find(cells, s.hash, names[1]).Load(); found != nil {
			t.Errorf("%s is taken for %s", names[1], names[0])
		}
	}
}

// TestTableIsReadWhileItGrows reads circuits that are known all the time while others come and go.
func TestTableIsReadWhileItGrows(t *testing.T) {
	table := newTable(time.Now())
	const lasting = 50
	for i := range lasting {
		table.put(record(fmt.Sprint("lasting-", i), 1), nil)
	}
	var over atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for i := 0; !over.Load(); i++ {
				name := fmt.Sprint("lasting-", i%lasting)
				if s := table.circuits.load(name); s == nil || s.state.Load().Circuit != name {
					t.Errorf("%s is not known while others come and go", name)
					return
				}
			}
		})
	}
	for n := range int64(50_000) {
		table.put(record(fmt.Sprint("passing-", n%5000), n+2), nil)
		table.forget(fmt.Sprint("passing-", (n+2500)%5000))
	}
	over.Store(true)
	readers.Wait()
}
