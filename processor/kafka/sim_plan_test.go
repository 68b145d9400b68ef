//go:build synctests

package kafka

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// plan is all that a simulation was drawn to be. It follows from the seed alone; what the goroutines make of it need
// not be the same each time.
type plan struct {
	seed       uint64
	partitions int32
	workers    []int // Of each instance.
	policy     int   // Of simPolicies.
	resident   int   // Circuits in memory.
	circuits   int
	producers  []producerPlan
	routers    []partitioner
	length     time.Duration
	quiet      bool // Now and then nobody sends anything: heartbeats are all that is committed.
	events     []event
	recreated  bool // When all is over, the outcomes are deleted and made anew: see epilogue.
}

// producerPlan is one producer of outcomes.
type producerPlan struct {
	partitioner partitioner
	every       time.Duration
	batch       int
	txn         bool // It writes in transactions, and aborts some.
}

// event is something that happens at its time. What the fields mean is for its class to say.
type event struct {
	at       time.Duration
	class    string
	instance int
	point    string // Of the commit.
	nth      int    // Time that the point is come to.
	lasts    time.Duration
	store    string // What the instance finds when it starts again.
	pick     uint64
}

func (e event) String() string {
	return fmt.Sprintf("%6v %s: instance %d, point %q time %d, lasts %v, store %s, pick %d",
		e.at, e.class, e.instance, e.point, e.nth, e.lasts, e.store, e.pick%1000)
}

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d partitions, workers %v, policy %d, %d circuits, %d in memory, producers %+v, "+
		"routers %v, %v, quiet %v, recreated %v\n", p.seed, p.partitions, p.workers, p.policy, p.circuits, p.resident,
		p.producers, p.routers, p.length, p.quiet, p.recreated)
	for _, e := range p.events {
		fmt.Fprintf(&b, "%v\n", e)
	}
	return b.String()
}

// points are where an instance can crash.
var points = []string{
	"ahead", "before begin", "before end", "before store", "after forwards", "forward", "in restore",
}

// stores are what an instance can find when it starts again.
var stores = []string{"kept", "kept", "old", "lost", "damaged", "ahead"}

// drawPlan draws the plan of a seed. Most are small, so that many can be played.
func drawPlan(seed uint64) plan {
	rng := rand.New(rand.NewPCG(seed, 4))
	p := plan{
		seed:       seed,
		partitions: choose(rng, []int32{1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 6, 24}),
		policy:     rng.IntN(len(simPolicies)),
		resident:   choose(rng, []int{4, 100}),
		circuits:   choose(rng, []int{3, 6, 12}),
		length:     time.Duration(8+rng.IntN(12)) * time.Second,
	}
	for range choose(rng, []int{1, 1, 1, 1, 2, 2, 2, 2, 3, 4}) {
		p.workers = append(p.workers, choose(rng, []int{1, 1, 1, 1, 1, 2, 2, 3}))
	}
	for range 1 + rng.IntN(3) {
		p.producers = append(p.producers, producerPlan{
			partitioner: choose(rng, partitioners),
			every:       time.Duration(200+rng.IntN(1000)) * time.Millisecond,
			batch:       1 + rng.IntN(12),
			txn:         rng.IntN(4) == 0,
		})
	}
	for range 1 + rng.IntN(2) {
		p.routers = append(p.routers, choose(rng, partitioners))
	}
	for range rng.IntN(7) {
		p.events = append(p.events, drawEvent(rng, p))
	}
	p.quiet = rng.IntN(3) == 0
	p.recreated = rng.IntN(8) == 0
	slices.SortFunc(p.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return p
}

// drawEvent draws an event. Some come before anything has happened: there is more to go wrong in a first transaction.
func drawEvent(rng *rand.Rand, p plan) event {
	at := time.Duration(rng.Int64N(int64(p.length))).Truncate(time.Millisecond)
	if rng.IntN(6) == 0 {
		at = 0
	}
	return event{
		at:       at,
		class:    choose(rng, weighted),
		instance: rng.IntN(len(p.workers)),
		point:    choose(rng, points),
		nth:      1 + rng.IntN(3),
		lasts:    time.Duration(rng.IntN(25_000)) * time.Millisecond,
		store:    choose(rng, stores),
		pick:     rng.Uint64(),
	}
}

func choose[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// simPolicies make circuits restless in several ways, so that one outcome counted twice shows in what comes next.
var simPolicies = []string{
	restlessText,
	`version: 1
defaults: {window: 10s, minimum_throughput: 4, break: {duration: 2s, max: 5s}, half_open: {lease: 2s}, idle_after: 12s}
policies:
- name: busy
  match: ["*"]
  rules:
  - {name: failure-ratio, type: ratio, threshold: 0.5}
  - {name: down, type: consecutive, kinds: [transport_failure], threshold: 3}
- name: beside
  shadows: busy
  rules: [{name: lately, type: ratio, threshold: 0.3, last: 5}]
`,
	`version: 1
defaults: {window: 30s, break: {duration: 1s, jitter: 0.5, max: 3s}}
policies:
- name: several
  match: ["*"]
  half_open: {concurrency: 2, successes: 2, failures: 2, lease: 3s, implicit: false}
  rules:
  - {name: lately, type: ratio, threshold: 0.4, last: 7}
  - {name: watch, type: count, kinds: [missing_evidence], threshold: 5, action: degrade}
`,
	`version: 1
defaults: {window: 10s, minimum_throughput: 4, break: {duration: 2s, max: 5s}, half_open: {lease: 2s}}
policies:
- {name: off, match: ["case:route-0:*"], enabled: false, rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}
- {name: heard, match: ["case:route-1:*"], enforce: false, rules: [{name: row, type: consecutive, threshold: 2}]}
- {name: most, match: ["case:*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.7}]}
- {name: beside, shadows: most, rules: [{name: row, type: consecutive, threshold: 2}]}
`,
}

func (p plan) has(class string) bool {
	return slices.ContainsFunc(p.events, func(e event) bool { return e.class == class })
}
