//go:build synctests

package kafka

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/oracle"
)

// simulation is a plan at play.
type simulation struct {
	*world
	plan      plan
	tally     *tally
	began     time.Time
	admin     *kadm.Client
	instances []*instance
	eyes      *eyes
	still     chan struct{} // Holds one token: whoever has it may wait until nothing moves.
	mends     []func()      // What ends the faults that are still under way.

	lives    []*life                      // All that ever began.
	kept     []*kgo.Record                // Of the inputs, before they were deleted.
	lost     map[oracle.Place]*kgo.Record // Of the inputs, deleted before they were handled.
	round    joinRound
	compacts bool               // The changelog was compacted.
	hung     time.Time          // Up to when a transaction of somebody is open.
	counted  map[string]float64 // Outcomes by result, as metrics have them.

	mu        sync.Mutex
	uncounted bool // Something happened after which metrics may have counted less than all.
	acked     int  // Outcomes that were acknowledged, and are in no transaction that was aborted.
	over      bool
}

func newSimulation(w *world, p plan, tally *tally) *simulation {
	s := &simulation{
		world: w, plan: p, tally: tally, began: time.Now(), admin: kadm.NewClient(w.Client(w.t)),
		still: make(chan struct{}, 1), lost: map[oracle.Place]*kgo.Record{},
	}
	s.still <- struct{}{}
	s.eyes = newEyes(w)
	for i, workers := range p.workers {
		s.instances = append(s.instances, newInstance(s, i, workers))
	}
	return s
}

// play lets everybody do as the plan says, until its time is over.
func (s *simulation) play() {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, i := range s.instances {
		i.look()
	}
	wg.Go(func() { s.eyes.follow(s) })
	for i, p := range s.plan.producers {
		wg.Go(func() { s.produces(i, p) })
	}
	for i, p := range s.plan.routers {
		wg.Go(func() { s.routes(i, p) })
	}
	for _, e := range s.plan.events {
		s.await(e.at)
		s.strike(e)
	}
	s.await(s.plan.length)
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
}

// await lets time pass up to a moment of the plan, and starts again what has ended meanwhile.
func (s *simulation) await(at time.Duration) {
	for {
		left := at - time.Since(s.began)
		s.supervise()
		if left <= 0 {
			return
		}
		time.Sleep(min(left, 500*time.Millisecond))
	}
}

// supervise starts instances again whose time has come.
func (s *simulation) supervise() {
	for _, i := range s.instances {
		i.look()
	}
}

func (s *simulation) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// hush waits while nobody is to send anything.
func (s *simulation) hush() {
	const every, loud = 11 * time.Second, 4 * time.Second
	if at := time.Since(s.began) % every; s.plan.quiet && at > loud {
		time.Sleep(every - at)
	}
}

func (s *simulation) took(class string) { s.tally.add(class, 1) }

// heal ends all faults, and waits until everybody works and all is handled.
func (s *simulation) heal() {
	for _, mend := range s.mends {
		mend()
	}
	for _, i := range s.instances {
		i.heal()
	}
	time.Sleep(time.Until(s.hung))
	for range 2 { // What was forwarded last lies behind what was committed.
		s.awaitHealed()
		time.Sleep(time.Second)
	}
	s.count()
	for _, i := range s.instances {
		i.end()
	}
}

func (s *simulation) awaitHealed() {
	for begin := time.Now(); !s.healed(); time.Sleep(250 * time.Millisecond) {
		s.unstick()
		if time.Since(begin) < patience {
			continue
		}
		for _, i := range s.instances {
			if i.life != nil {
				s.t.Logf("%s: %+v", i.name, i.life.process.Ready())
			}
		}
		s.stacks()
		s.t.Fatalf("not healed after %v", patience)
	}
}

// healed tells whether all instances are ready, and the group has committed all that is on the inputs.
func (s *simulation) healed() bool {
	s.supervise()
	for _, i := range s.instances {
		if i.life == nil || !i.life.process.Ready().Ready {
			return false
		}
	}
	return s.committedAll()
}

func (s *simulation) committedAll() bool {
	ctx := s.t.Context()
	ends, err := s.admin.ListEndOffsets(ctx, topics.Outcomes, topics.Signals)
	if err != nil || ends.Error() != nil {
		return false
	}
	commits, err := s.admin.FetchOffsets(kadm.RequireStable(ctx), group)
	if err != nil || commits.Error() != nil {
		return false
	}
	behind := false
	ends.Each(func(end kadm.ListedOffset) {
		at, _ := commits.Lookup(end.Topic, end.Partition)
		behind = behind || at.At < end.Offset
	})
	return !behind
}

// manual returns a client that writes to the partition that each record names.
func (s *simulation) manual(more ...kgo.Opt) *kgo.Client {
	return s.Client(s.t, append(more, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))...)
}
