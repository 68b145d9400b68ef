package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Gate knows every circuit, by following the state topic, and answers from memory. Many goroutines may use it.
type Gate struct {
	config   Config
	kafka    *kgo.Client
	reporter *Reporter
	watchers watchers

	known   atomic.Pointer[table]
	routes  atomic.Pointer[[]schemas.Route]
	careful atomic.Bool // Calls have to look at the gate itself: it is not ready, is closed, or is in a silence.
	calls   atomic.Uint64
	counts  meter
	reach   *reach

	heeding sync.Mutex
	heeded  bool // The gate was ready when it last looked which partitions are silent.

	ready  chan struct{} // Closed once it has caught up.
	failed chan error    // What makes it useless to wait for that.
	done   chan struct{} // Closed by Close.
	close  sync.Once
	stop   context.CancelFunc
	work   sync.WaitGroup
	err    error // Of Close.
}

var _ Breaker = (*Gate)(nil)

// Open returns a gate that knows every circuit. It waits until all that was in the state topic is read, as long as the
// context allows, without a deadline for as long as it takes: it logs at once what it waits for, and returns at once
// what no waiting mends, such as a password that is refused. With Config.StartUnready it waits for nothing. The context
// bounds nothing else: the gate works until Close.
func Open(ctx context.Context, c Config) (*Gate, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("the configuration of the gate: %w", err)
	}
	c = c.withDefaults()
	reached := &reach{began: time.Now()}
	// What is fetched at once is bounded: a gate has little memory, and most of what it reads it forgets at once.
	client, err := kgo.NewClient(c.kafka(append(producing(),
		kgo.ConsumeTopics(c.Topics.State), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.KeepRetryableFetchErrors(),
		kgo.FetchMaxWait(500*time.Millisecond), kgo.FetchMaxBytes(8<<20), kgo.FetchMaxPartitionBytes(1<<20),
		kgo.MetadataMaxAge(time.Minute), kgo.WithHooks(reached),
	)...)...)
	if err != nil {
		return nil, fmt.Errorf("make the gate's Kafka client: %w", err)
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	g := &Gate{
		config: c, kafka: client, stop: stop, reach: reached, reporter: newReporter(client, c),
		ready: make(chan struct{}), failed: make(chan error, 1), done: make(chan struct{}),
	}
	g.known.Store(newTable(time.Now()))
	if c.Policies != nil {
		g.routes.Store(&c.Policies.Routes)
	}
	g.careful.Store(true) // Until it is ready.
	f := newFollower(g)
	g.work.Go(func() { f.run(work) })
	g.work.Go(func() { g.listen(work) })
	if c.StartUnready {
		return g, nil
	}
	if err := g.Ready(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Ready waits until the gate knows every circuit, as Open does unless Config.StartUnready is set.
func (g *Gate) Ready(ctx context.Context) error {
	select {
	case <-g.ready:
		return nil
	case err := <-g.failed:
		return err
	case <-g.done:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("the gate has not caught up: %s: %w", g.counts.waits(), context.Cause(ctx))
	}
}

// isReady tells whether the gate has caught up once.
func (g *Gate) isReady() bool {
	select {
	case <-g.ready:
		return true
	default:
		return false
	}
}

// isClosed tells whether Close was called.
func (g *Gate) isClosed() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// State returns a circuit as it is now, and has no side effect.
func (g *Gate) State(circuit string) State {
	t := g.known.Load()
	slot := t.circuits.load(circuit)
	home := t.home(circuit, slot)
	now := home.now()
	derived, seen := slot.at(circuit, now)
	state := State{State: derived, Known: seen != nil, Age: home.age(t), Silent: g.silent(t, home)}
	if state.Silent && g.config.OnSilence != Keep {
		return state
	}
	state.RetryAfter = retryAfter(&derived, now)
	return state
}

// Routes returns where to go while a circuit refuses: nil before any policies are known, and not nil from then on.
// Callers must not change it.
func (g *Gate) Routes() []schemas.Route {
	if routes := g.routes.Load(); routes != nil {
		return *routes
	}
	return nil
}

// Policies returns those that a processor has published as in force, or Config.Policies where they are set; nil before
// any are known, and where they are such as this version cannot read. Local works with them too.
func (g *Gate) Policies() *breaker.Policies {
	if g.config.Policies != nil {
		return g.config.Policies
	}
	return g.reporter.combiner.policies.Load()
}

// closeWait bounds how long Close waits for the brokers, a reporter's too.
const closeWait = 5 * time.Second

// Close gives leases back that nobody has used, sends what waits to be sent, for some seconds at most, and ends what
// runs. The error says how many outcomes could not be sent. Leases that were handed out and not reported are lost:
// whoever holds them has to report before. Of a nil gate, as of an Open that failed, there is nothing to close.
func (g *Gate) Close() error {
	if g == nil {
		return nil
	}
	g.close.Do(func() {
		close(g.done)
		g.stop()
		g.work.Wait()
		g.watchers.close()
		g.careful.Store(true) // From here on calls look, and find it closed.
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		g.giveBackAll()
		g.err = g.reporter.flush(ctx)
		_ = g.kafka.Flush(ctx) // Of claims and releases: each is told of where it is lost.
		g.kafka.Close()
	})
	return g.err
}

// report is what becomes of a lease that was reported. A probe whose outcome was not taken is given back without a
// verdict.
func (g *Gate) report(l Lease, o Outcome) error {
	err := g.reporter.send(&l, &o)
	if err != nil && l.probe != nil && !errors.Is(err, ErrClosed) {
		_ = g.free(l.circuit, l.probe.id, false) // What cannot be sent is counted.
	}
	return err
}

// release gives a probe's lease back. A call through a closed circuit that was cancelled is no evidence, and nobody
// waits for it: there is nothing to send.
func (g *Gate) release(l Lease, unused bool) error {
	if l.probe == nil {
		return nil
	}
	return g.free(l.circuit, l.probe.id, unused)
}
