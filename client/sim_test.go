//go:build synctests

package client_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

var (
	gateSeeds = flag.Int("seeds", 2, "how many seeds TestFiftyGates plays")
	gateSeed  = flag.Uint64("seed", 1, "the first of them")
)

const (
	simGates    = 50
	simCircuits = 3
	simLength   = 90 * time.Second // Of trouble.
	simLease    = 5 * time.Second
)

// TestFiftyGates lets fifty routers go through three circuits, whose routes go bad and recover, with one processor that
// now and then is away. Routers die, hang, answer late and claim twice, and lose the brokers for a while. What they
// were allowed is held against the states that were published.
func TestFiftyGates(t *testing.T) {
	for i := range uint64(*gateSeeds) {
		seed := *gateSeed + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newFifty(t, seed).play() })
		})
	}
}

// fifty is such a run.
type fifty struct {
	*world
	seed        uint64
	began       time.Time
	concurrency int
	over        atomic.Bool
	routers     sync.WaitGroup

	mu         sync.Mutex // Guards what follows.
	admissions []admission
	troubles   []trouble
	gates      []*client.Gate
	counts     map[string]int
}

// admission is what a router was allowed.
type admission struct {
	router, circuit, lease string
	epoch                  int64
	at, until              time.Time // From then on it holds a lease no more.
}

// trouble is a stretch in which a router, or all of them where it has no name, cannot know what is published.
type trouble struct {
	router   string
	from, to time.Time
}

func newFifty(t *testing.T, seed uint64) *fifty {
	fake := kafkatest.New(t, kfake.Ports(9092))
	w := &world{Cluster: fake, t: t, partitions: 2, dir: t.TempDir(), log: &syncBuffer{}}
	f := &fifty{world: w, seed: seed, began: time.Now(), concurrency: 1 + int(seed)%2, counts: map[string]int{}}
	ramp := []string{"", ", ramp: [{share: 0.3, for: 3s}]"}[seed/2%2]
	w.policies = w.read(fmt.Sprintf(`version: 1
defaults:
  {break: {duration: 6s, max: 12s}, half_open: {lease: 5s, concurrency: %d, successes: %[1]d}%s}
policies: [{name: quick, match: ["*"], rules: [{name: row, type: consecutive, threshold: 4}]}]
`, f.concurrency, ramp))
	w.CreateTopics(t, prefix, w.partitions)
	fake.AppendTime(topics.Outcomes, topics.Signals)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: -run TestFiftyGates -args -seeds 1 -seed %d", seed)
		}
	})
	return f
}

func (f *fifty) rng(who uint64) *rand.Rand { return rand.New(rand.NewPCG(f.seed, who)) }

// good tells whether the route of a circuit gives usable answers now. In the end all do.
func (f *fifty) good(circuit int) bool {
	at := time.Since(f.began)
	return at > simLength || (at/(11*time.Second)+time.Duration(circuit))%2 == 1
}

func (f *fifty) took(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what]++
}

func (f *fifty) trouble(router string, from time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.troubles = append(f.troubles, trouble{router, from, time.Now()})
}

// play lets all go on, heals, and judges.
func (f *fifty) play() {
	stop := f.process()
	for i := range simGates {
		f.routers.Go(func() { f.route(i) })
	}
	rng := f.rng(1000)
	for time.Since(f.began) < simLength {
		time.Sleep(time.Duration(15+rng.IntN(20)) * time.Second)
		from := time.Now()
		stop()
		time.Sleep(time.Duration(1+rng.IntN(12)) * time.Second)
		stop = f.process()
		time.Sleep(2 * time.Second)
		f.trouble("", from)
		f.took("the processor was away")
	}
	healed := time.Now()
	for c := range simCircuits {
		f.until(circuitName(c)+" recovers everywhere", func() bool { return f.recovered(circuitName(c)) })
	}
	f.t.Logf("recovered after %v", time.Since(healed))
	f.over.Store(true)
	f.routers.Wait()
	f.closeAll()
	f.judge()
	f.t.Logf("seed %d: %v", f.seed, f.counts)
}

// recovered tells whether all gates that can be asked see a circuit closed, and closed for good.
func (f *fifty) recovered(circuit string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.began) < simLength+10*time.Second {
		return false
	}
	for _, g := range f.gates {
		if s := g.State(circuit); s.State.State != schemas.Closed || len(s.Ramp) > 0 {
			return false
		}
	}
	return true
}

// closeAll closes the gates, and looks for what they have left.
func (f *fifty) closeAll() {
	var closing sync.WaitGroup
	for _, g := range f.gates {
		closing.Go(func() { g.Close() })
	}
	closing.Wait()
	synctest.Wait()
	text := make([]byte, 8<<20)
	for stack := range strings.SplitSeq(string(text[:runtime.Stack(text, true)]), "\n\n") {
		if strings.Contains(stack, "/client.(*") {
			f.t.Errorf("after all gates were closed there is left:\n%s", stack)
		}
	}
}

// join opens the gate of a router on a line of its own.
func (f *fifty) join(router string, line *kafkatest.Line) *client.Gate {
	c := f.config(router)
	c.Kafka = line.Opts()
	g, err := client.Open(context.Background(), c)
	if err != nil {
		f.t.Errorf("Open of %s: %v", router, err)
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gates = append(f.gates, g)
	return g
}
