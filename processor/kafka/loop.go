package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/state"
)

// Loop is the processor of one process: workers that share a store and what they know of the cluster.
type Loop struct {
	config  Config
	log     *slog.Logger
	metrics *metrics
	status  *status
	workers []*worker
	claims  *claims
	crash   func(point string) error // See crashes.
	skew    time.Duration            // See now.

	policies atomic.Pointer[inForce]
	refused  atomic.Pointer[RefusedFile] // Nil where the newest policies that were to be put in force are.
	readings readings
	memory   memory
	known    atomic.Int64 // Circuits, of all partitions of this process.
	resident atomic.Int64 // Those in memory.

	unpacking chan struct{} // Taken by each restore that unpacks records.
	looks     chan struct{} // Taken by each Look that waits.

	partitions atomic.Int32 // Of every topic but the dead letters; 0 until Run knows it.

	cluster        *cluster // From here on set by Run before it starts the workers.
	store          *state.Store
	opened         atomic.Pointer[state.Store] // The same, for those who ask from outside.
	tombstonesKept time.Duration               // How long the changelog keeps them.
}

// New makes a Loop. It reaches for nothing yet; its metrics are registered.
func New(config Config) (*Loop, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	c := config.withDefaults()
	m, err := newMetrics(c.Metrics, c.MetricsMaxCircuits)
	if err != nil {
		return nil, err
	}
	m.begin(&c.Topics)
	l := &Loop{config: c, log: c.Logger, metrics: m, claims: newClaims()}
	l.unpacking = make(chan struct{}, runtime.GOMAXPROCS(0))
	l.looks = make(chan struct{}, looksAsked)
	l.status = newStatus(func(partition int32, records int64) {
		m.remain.WithLabelValues(strconv.Itoa(int(partition))).Set(float64(records))
	})
	l.policies.Store(&inForce{c.Policies, time.Now().UTC().Truncate(time.Millisecond)})
	m.policyInfo.WithLabelValues(c.Policies.Version).Set(1)
	if err := l.gauges(c.Metrics); err != nil {
		return nil, err
	}
	for i := range c.Workers {
		l.workers = append(l.workers, newWorker(l, i))
	}
	return l, nil
}

// Run works until the context ends, or until something happens that no new session would mend. Then it commits what is
// under way, leaves the group and writes out the store, within the shutdown timeout. A store that another process holds
// is a *state.LockedError; topics that are not as they have to be are an ErrTopics; another process of the same
// instance name is an ErrTwice. It may be called once.
func (l *Loop) Run(ctx context.Context) (err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(l.config.ShutdownTimeout, cut) })()

	c := &l.config
	l.cluster, err = connect(ctx, c.Topics, c.Group, l.client(c.Group+"-"+c.Instance), func(err error) {
		l.log.Warn("brokers do not answer, and are asked again", "err", err)
	})
	if ctx.Err() != nil && err != nil {
		return nil // It was told to stop before it had begun.
	}
	if err != nil {
		return err
	}
	defer l.cluster.client.Close()
	if err := l.cluster.strangers(ctx, l.members()); errors.Is(err, ErrTopics) {
		return err
	}
	l.metrics.partitions.Set(float64(l.cluster.partitions))
	l.partitions.Store(l.cluster.partitions)
	l.tombstonesKept = l.cluster.known().tombstonesKept(l.config.Topics.Changelog)
	l.store, err = state.Open(filepath.Clean(l.config.DataDir), state.Identity{
		ClusterID: l.cluster.id, TopicID: l.cluster.topicIDs[l.config.Topics.Changelog],
	}, l.config.Store)
	if err != nil {
		return err
	}
	l.opened.Store(l.store)
	l.log.Info("processor starts", "group", l.config.Group, "instance", l.config.Instance,
		"workers", len(l.workers), "partitions", l.cluster.partitions, "policies", l.config.Policies.Version)
	err = l.work(ctx, hard, stop)
	return errors.Join(err, l.finish(hard, err))
}

// work runs the workers. One that fails stops the others.
func (l *Loop) work(ctx, hard context.Context, stop context.CancelCauseFunc) error {
	var wg sync.WaitGroup
	faults := make([]error, len(l.workers))
	for i, w := range l.workers {
		wg.Go(func() {
			if faults[i] = w.run(ctx, hard); faults[i] != nil {
				stop(faults[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}

// finish leaves the group and writes out the store.
func (l *Loop) finish(ctx context.Context, why error) error {
	var faults []error
	if !errors.Is(why, errCrash) && !errors.Is(why, ErrTwice) {
		if err := l.cluster.leave(ctx, l.members()); err != nil {
			l.log.Warn("group not left: others wait for the session to time out", "err", err)
		}
		if err := l.store.Flush(ctx); err != nil {
			l.log.Warn("store not written out: the changelog has the rest", "err", err)
		}
	}
	l.opened.Store(nil)
	if err := l.store.Close(); err != nil {
		faults = append(faults, fmt.Errorf("close the store: %w", err))
	}
	l.log.Info("processor stopped")
	return errors.Join(faults...)
}

// members returns by which names the workers are in the group.
func (l *Loop) members() (names []string) {
	for _, w := range l.workers {
		names = append(names, w.id)
	}
	return names
}

// askAgain is how soon a client asks again who leads the partitions. It does so before it sends again what a broker has
// turned down, whatever for: a transaction that begins while the one before is still being written to its end is, now
// and then. The client's own five seconds would hold up a transition for as long.
const askAgain = 100 * time.Millisecond

// client returns the options of a client with this id.
func (l *Loop) client(id string) []kgo.Opt {
	opts := append([]kgo.Opt{}, l.config.Client...)
	return append(opts, kgo.ClientID(id), clientMetrics(l.config.Metrics), kgo.MetadataMinAge(askAgain),
		kgo.WithLogger(clientLog{l.log.With("client", id)}))
}
