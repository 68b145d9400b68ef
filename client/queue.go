package client

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fusebox-project/fusebox/schemas"
)

// queue bounds what waits for the brokers, in records and bytes at once: a record takes the bytes that it has, and at
// least the share of the bytes that falls to each of so many records. What waits lies in the Kafka client.
type queue struct {
	room    *semaphore.Weighted
	all     int64 // Bytes.
	least   int64 // Bytes of a record.
	wait    time.Duration
	full    atomic.Bool // Somebody has waited in vain, and nothing has left since: others need not.
	waiting atomic.Int64
}

func newQueue(records, bytes int, wait time.Duration) *queue {
	return &queue{
		room: semaphore.NewWeighted(int64(bytes)), all: int64(bytes), least: int64(max(bytes/records, 1)), wait: wait,
	}
}

// take makes room for a record of that size, and tells whether there is some, now or within the wait.
func (q *queue) take(size int64) bool {
	size = q.weight(size)
	if !q.room.TryAcquire(size) && !q.await(size) {
		return false
	}
	q.waiting.Add(1)
	return true
}

func (q *queue) await(size int64) bool {
	if q.wait <= 0 || q.full.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), q.wait)
	defer cancel()
	if q.room.Acquire(ctx, size) != nil {
		q.full.Store(true)
		return false
	}
	return true
}

// give gives the room of a record of that size back.
func (q *queue) give(size int64) {
	q.waiting.Add(-1)
	q.full.Store(false)
	q.room.Release(q.weight(size))
}

// weight is what a record of that size takes. No record is greater than the queue.
func (q *queue) weight(size int64) int64 { return min(max(size, q.least), q.all) }

// weigh returns about how many bytes of memory an outcome takes that waits.
func weigh(o *schemas.Outcome) int64 {
	const frame = 640 // The record itself, the names and numbers in it, and what the client keeps of it.
	n := frame + 2*len(o.Circuit)
	for _, text := range [...]string{
		o.Kind, o.ReasonCode, o.Reason, o.Stage, o.Evaluator.Name, o.Evaluator.Version, o.ID, o.Provider, o.Model,
		o.Tenant, o.FallbackFrom, o.EvidenceRef, o.TraceID, o.Lease,
	} {
		n += len(text)
	}
	return int64(n)
}

// losses counts the outcomes that were lost, and logs their number: the first at once, then once a minute.
type losses struct {
	log  *slog.Logger
	all  atomic.Int64
	why  atomic.Pointer[error] // Of the newest.
	some chan struct{}         // Holds one where there are some that nobody has told of.
}

const tellEvery = time.Minute

func newLosses(log *slog.Logger) *losses { return &losses{log: log, some: make(chan struct{}, 1)} }

func (l *losses) add(n int64, why error) {
	l.why.Store(&why)
	l.all.Add(n)
	select {
	case l.some <- struct{}{}:
	default:
	}
}

// tell logs until it is to stop, and then once more where there is something left to tell.
func (l *losses) tell(stop <-chan struct{}) {
	told := int64(0)
	for {
		select {
		case <-l.some:
		case <-stop:
			l.tellOnce(told)
			return
		}
		told = l.tellOnce(told)
		select {
		case <-time.After(tellEvery):
		case <-stop:
		}
	}
}

func (l *losses) tellOnce(told int64) int64 {
	all := l.all.Load()
	if all > told {
		l.log.Warn("outcomes were lost on their way to the brokers", "outcomes", all-told, "since the start", all,
			"why", *l.why.Load())
	}
	return all
}
