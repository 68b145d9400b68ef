package kafka

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// errRejoin says that the session is to be closed and joined anew: what was committed is read again from Kafka.
var errRejoin = errors.New("the session begins anew")

// ErrTwice says that another process uses the same instance name. Which of the two is right nobody can tell, so this
// one stops.
var ErrTwice = errors.New("another process works under the same instance name")

// fencedLimit is how many times within a minute a worker may be fenced before it takes another process to be the
// reason. A process whose request to join the group the coordinator was slow to answer is fenced once: it sends
// another, and both are handled.
const fencedLimit = 3

// worker is one member of the group: one goroutine, one session, one transactional id. Everything in it belongs to
// that goroutine, save the inbox.
type worker struct {
	loop *Loop
	id   string // The transactional id, and the member's name.
	log  *slog.Logger

	client     *kgo.Client
	cut        context.CancelFunc // Ends what the client still asks for.
	forwarder  *forwarder         // Made with the first record to forward.
	inbox      inbox
	pairs      map[int32]*pair
	member     string // Who the worker was in the group when it last took note of what it has, and in which generation.
	generation int32
	restores   sync.WaitGroup
	publisher  publisher
	ahead      *sending // Nil where no transaction was begun ahead.

	committed time.Time // When a transaction of all pairs was last tried.
	began     time.Time // When the last transaction was begun.
	beat      time.Time // When the next heartbeats are due.
	inspects  time.Time // When the topics are looked at next.
	ended     time.Time // When the last transaction was.
	aheadFrom time.Time // When a transaction may be begun ahead again.
	wake      time.Time // When the client is told to fetch once more; zero where it is not.
	asks      time.Time // When the group is asked whether it has given all partitions; zero where it was.
	retry     time.Time // When signals that wait ask again for the end of the outcomes; zero where none do.
	aborts    int       // In a row, of this session.
	failures  int       // The same over all sessions.
	polls     uint64    // So far.
	origins   originEnds
	joined    bool // The group has given this session its first assignment.
	singly    bool // Forwards go out one by one, up to the next commit.

	outcome schemas.Outcome // What is being handled.
	signal  schemas.Signal
	hash    kgo.TopicPartitioner
	hashed  kgo.Record
	waiting []int32
}

func newWorker(l *Loop, number int) *worker {
	id := fmt.Sprintf("%s-%s-%d", l.config.Group, l.config.Instance, number)
	return &worker{
		loop: l, id: id, log: l.log.With("worker", number),
		hash: kgo.StickyKeyPartitioner(nil).ForTopic(l.config.Topics.Outcomes),
	}
}

// run works until the context ends; then it commits once more. The other context ends when that, too, must be over.
func (w *worker) run(ctx, hard context.Context) error {
	pause, fenced := time.Duration(0), []time.Time(nil)
	for {
		began := time.Now()
		err := w.live(ctx, hard)
		if ctx.Err() != nil || errors.Is(err, errCrash) {
			return nonFatal(err)
		}
		if time.Since(began) > time.Minute {
			pause = 0
		}
		switch {
		case fatal(err):
			return fmt.Errorf("worker %s: %w", w.id, err)
		case isFenced(err) && !w.ranOut(err):
			fenced = append(fenced[max(0, len(fenced)-fencedLimit+1):], time.Now())
			if len(fenced) == fencedLimit && time.Since(fenced[0]) < time.Minute {
				return fmt.Errorf("worker %s: fenced %d times within a minute: %w: %w",
					w.id, fencedLimit, ErrTwice, err)
			}
		}
		w.log.Warn("session begins anew", "err", err, "in", pause)
		w.loop.status.restart(w.id, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(max(2*pause, 100*time.Millisecond), 10*time.Second)
		if err := w.loop.cluster.check(ctx); errors.Is(err, ErrTopics) {
			return err
		}
	}
}

// live is one session, from join to close.
func (w *worker) live(ctx, hard context.Context) error {
	w.pairs, w.joined, w.singly = map[int32]*pair{}, false, false
	w.origins = originEnds{}
	w.publisher.discard()
	w.inbox.take() // What came in a session that is over.
	now := time.Now()
	w.committed, w.beat, w.aborts = now, now, 0
	w.asks, w.retry, w.wake = time.Time{}, time.Time{}, time.Time{}
	w.began, w.inspects = now, now.Add(inspectEvery)
	if err := w.open(); err != nil {
		return err
	}
	err := w.takeOver(ctx)
	if err == nil {
		err = w.turns(ctx, hard)
	}
	if err == nil {
		err = w.commit(hard, true)
	}
	w.close()
	return err
}

// close drops the pairs and leaves the session. What is not committed is lost, and comes again.
func (w *worker) close() {
	for id := range w.pairs {
		w.drop(id)
	}
	w.restores.Wait()
	for _, event := range w.inbox.take() {
		if e, ok := event.(restoration); ok {
			w.loop.claims.release(e.pair)
		}
	}
	w.forwarder.close()
	w.forwarder = nil
	if w.ahead != nil {
		w.ahead.stop()
		<-w.ahead.done
		w.ahead = nil
	}
	defer w.cut()
	defer time.AfterFunc(closeWithin, w.cut).Stop() // The client would wait for its answer from a round of joins.
	w.client.CloseAllowingRebalance()
	w.loop.status.left(w.id)
}

// turns polls, handles and commits until the context ends, which is no error.
func (w *worker) turns(ctx, hard context.Context) error {
	for {
		if err := w.turn(ctx, hard); err != nil || ctx.Err() != nil {
			return err
		}
		w.client.AllowRebalance()
	}
}

// turn is one poll and what follows from it. No rebalance runs until it is over.
func (w *worker) turn(ctx, hard context.Context) error {
	if err := w.poll(ctx); err != nil {
		return err
	}
	if err := w.heed(); err != nil {
		return err
	}
	now := time.Now()
	if !w.wake.IsZero() && !now.Before(w.wake) {
		w.fetchAgain()
	}
	if !w.asks.IsZero() && !now.Before(w.asks) {
		w.claimRest(ctx)
	}
	if !now.Before(w.retry) {
		w.retry = time.Time{}
		w.listEnds(ctx)
	}
	for p := range w.working() {
		if err := w.advance(hard, p, w.loop.now()); err != nil {
			return err
		}
	}
	if err := w.beats(ctx, now); err != nil {
		return err
	}
	if all := w.due(time.Now()); all || w.urgent() {
		return w.commit(hard, all)
	}
	return w.prepare(hard)
}

// working yields the pairs that work.
func (w *worker) working() iter.Seq[*pair] {
	return func(yield func(*pair) bool) {
		for _, p := range w.pairs {
			if p.phase.works() && !yield(p) {
				return
			}
		}
	}
}

// advance handles what a pair has to handle. A fault of the pair alone stops the pair alone.
func (w *worker) advance(ctx context.Context, p *pair, now time.Time) error {
	if p.switches {
		if err := w.switchPolicies(p); err != nil {
			return w.fault(p, err)
		}
	}
	if err := w.steps(ctx, p, now); err != nil {
		return w.fault(p, err)
	}
	w.holdSignals(p)
	w.sweep(p, now)
	w.caughtUp(p)
	return nil
}

// caughtUp lets a pair run once what had piled up is handled and committed.
func (w *worker) caughtUp(p *pair) {
	if p.phase != catchingUp {
		return
	}
	if p.base.Outcomes.Next >= p.target {
		w.setPhase(p, running)
		return
	}
	w.loop.status.progress(p.id, p.base.Outcomes.Next-p.from, p.target-p.from)
}

// fault decides what an error in a pair means for the worker.
func (w *worker) fault(p *pair, err error) error {
	switch {
	case errors.Is(err, errForward), errors.Is(err, errCrash):
		return err
	case errors.Is(err, errReenter):
		w.log.Error("the store is in doubt: the partition is restored from the changelog",
			"partition", p.id, "err", err)
		if err := w.loop.store.Wipe(p.id); err != nil {
			return err
		}
		w.begin(p.id, p.member)
	default:
		w.refuse(p, err)
	}
	return nil
}

// due tells whether it is time for a transaction of all pairs.
func (w *worker) due(now time.Time) bool {
	touched, letters, any, beat := 0, 0, false, false
	for p := range w.working() {
		any = any || !p.out.empty()
		beat = beat || p.out.heartbeat
		touched += p.core.Touched()
		letters += len(p.out.letters)
	}
	return any && (beat || touched >= maxTouched || letters >= maxLetters ||
		now.Sub(w.committed) >= w.loop.config.CommitInterval)
}

// urgent tells whether a pair has something to publish that must not wait until all are due. It goes alone: the fewer
// partitions are in a transaction, the sooner its records can be read.
func (w *worker) urgent() bool {
	for p := range w.working() {
		if p.out.urgent() {
			return true
		}
	}
	return false
}

const (
	maxTouched = 20_000 // Circuits in a transaction.
	maxLetters = 1_000
)

// next returns until when a poll may wait.
func (w *worker) next() time.Time {
	next := w.beat
	for _, other := range [...]time.Time{w.asks, w.retry, w.wake} {
		if !other.IsZero() && other.Before(next) {
			next = other
		}
	}
	for p := range w.working() {
		if due := w.committed.Add(w.loop.config.CommitInterval); !p.out.empty() && due.Before(next) {
			next = due
		}
	}
	return next
}

// fatal tells whether an error ends the process: no new session would mend it.
func fatal(err error) bool {
	return errors.Is(err, ErrTwice) || errors.Is(err, ErrTopics) || errors.Is(err, errCrash) ||
		errors.Is(err, kerr.TransactionalIDAuthorizationFailed) || errors.Is(err, kerr.GroupAuthorizationFailed)
}

// nonFatal leaves out what the end of a worker does not make an error: what its last commit did not take in is handled
// by whoever has its partitions next.
func nonFatal(err error) error {
	if errors.Is(err, errRejoin) || errors.Is(err, errForward) {
		return nil
	}
	return err
}

// isFenced tells whether a broker takes this worker's transactional id, or its name in the group, to be somebody
// else's.
func isFenced(err error) bool {
	return isOneOf(err, kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.FencedInstanceID)
}

func isOneOf(err error, of ...error) bool {
	return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
}

// ranOut tells whether the brokers fenced the worker because its transaction had lasted too long: it, or they, stood
// still meanwhile, and there is no other process.
func (w *worker) ranOut(err error) bool {
	return time.Since(w.began) >= transactionTimeout && !errors.Is(err, kerr.FencedInstanceID)
}
