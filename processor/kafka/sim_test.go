//go:build synctests

package kafka

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

var (
	simSeeds = flag.Int("seeds", 300, "how many seeds TestSimulation plays")
	simSeed  = flag.Uint64("seed", 1, "the first of them")
)

// TestSimulation plays whole clusters in virtual time: instances, producers, routers and operators, and faults as a
// plan has them that is drawn from a seed. When all has healed, what was published must be what the oracle says.
func TestSimulation(t *testing.T) {
	tally := &tally{counts: map[string]int{}, began: time.Now()}
	t.Run("seeds", func(t *testing.T) {
		for i := range uint64(*simSeeds) {
			seed := *simSeed + i
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				defer tally.done(t, seed)
				synctest.Test(t, func(t *testing.T) { simulate(t, drawPlan(seed), tally) })
			})
		}
	})
	t.Log(tally)
	if *simSeeds < 300 {
		return // Too few to have met all.
	}
	for _, class := range append(slices.Clone(classes), effects...) {
		if tally.counts[class] == 0 {
			t.Errorf("%s never happened in %d seeds", class, *simSeeds)
		}
	}
}

// tally counts what happened, over all seeds.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	seeds  int
	failed []uint64
	began  time.Time
}

func (y *tally) add(what string, n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.counts[what] += n
}

// done notes that a seed was played, and says now and then how far it is.
func (y *tally) done(t *testing.T, seed uint64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.seeds++; t.Failed() {
		y.failed = append(y.failed, seed)
		t.Logf("again: make simulate N=1 SEED=%d", seed)
	}
	if y.seeds%100 == 0 {
		fmt.Fprintf(os.Stderr, "simulation: %d of %d seeds in %v, failed: %v\n",
			y.seeds, *simSeeds, time.Since(y.began).Round(time.Second), y.failed)
	}
}

// String tells what happened, and how often.
func (y *tally) String() string {
	text := fmt.Sprintf("%d seeds in %v, failed: %v", y.seeds, time.Since(y.began).Round(time.Second), y.failed)
	for _, what := range slices.Sorted(maps.Keys(y.counts)) {
		text += fmt.Sprintf("\n%8d %s", y.counts[what], what)
	}
	return text
}

// simulate plays one plan.
func simulate(t *testing.T, p plan, tally *tally) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p)
		}
	})
	fake := kafkatest.New(t)
	w := newWorld(t, fake.Endpoint, p.partitions)
	w.fake, w.policies = fake, policies(t, simPolicies[p.policy])
	fake.AppendTime(topics.Outcomes, topics.Signals)
	s := newSimulation(w, p, tally)
	s.play()
	s.heal()
	s.judge()
	s.epilogue()
}
