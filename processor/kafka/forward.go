package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

const (
	forwardWindow      = 5000      // Records that are forwarded before their acknowledgements are waited for.
	forwardWindowBytes = 512 << 10 // The same in bytes, so that a window is one batch for each target.
	forwardBatchBytes  = 768 << 10 // A batch of forwards, with all that Kafka adds to them.

	// forwardMost bounds a record that is forwarded: its key and headers have as much room as its value. A broker's
	// own limit does not help here: it is one of compressed batches, and what came in compressed goes out otherwise.
	forwardMost = 2 * schemas.MaxRecord
)

// errForward says that a forward failed: the session begins anew, from what is committed, with another producer.
var errForward = errors.New("forward failed")

// forwarder moves records to the partitions of their circuits, with a producer of its own: idempotent, and outside
// the transaction, as transactional records would hold up every reader of the inputs.
//
// The receiver drops what is not above the highest origin offset it has seen, which is right only while forwards of a
// partition come in order and without gaps. So records are sent a window at a time: nothing leaves before Flush, and
// after one that fails nothing is produced any more. A window is one batch for each target, as a broker that has not
// heard of a producer yet would take its second batch without the first.
type forwarder struct {
	client  *kgo.Client
	waiting int // Records, and their bytes.
	bytes   int
	failure atomic.Pointer[error]
}

func newForwarder(opts []kgo.Opt) (*forwarder, error) {
	client, err := kgo.NewClient(append(opts,
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ManualFlushing(),
		kgo.MaxBufferedRecords(2*forwardWindow),
		kgo.ProducerBatchMaxBytes(forwardBatchBytes),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return nil, fmt.Errorf("make the producer of forwards: %w", err)
	}
	return &forwarder{client: client}, nil
}

// add hands over one record. The context bounds the wait for a window that is full.
func (f *forwarder) add(ctx context.Context, r *kgo.Record) error {
	size := sizeOf(r)
	if f.waiting == forwardWindow || f.waiting > 0 && f.bytes+size > forwardWindowBytes {
		if err := f.flush(ctx); err != nil {
			return err
		}
	}
	f.waiting++
	f.bytes += size
	f.client.Produce(ctx, r, f.settled)
	return nil
}

func (f *forwarder) settled(r *kgo.Record, err error) {
	if err != nil {
		err = fmt.Errorf("%w: to %s/%d: %w", errForward, r.Topic, r.Partition, err)
		f.failure.CompareAndSwap(nil, &err)
	}
}

// flushForwards waits until all that was forwarded is acknowledged: the offsets that cover it are committed after that.
// It reports whether a commit may follow.
func (w *worker) flushForwards(ctx context.Context) (ok bool, err error) {
	if w.forwarder == nil || w.forwarder.waiting == 0 {
		return true, nil
	}
	if err := w.forwarder.flush(ctx); err != nil {
		return false, w.refusedForward(nil, nil, err)
	}
	return true, w.loop.crashes("after forwards")
}

// flush sends what waits and returns when all of it is acknowledged.
func (f *forwarder) flush(ctx context.Context) error {
	err := f.client.Flush(ctx)
	f.waiting, f.bytes = 0, 0
	if failure := f.failure.Load(); failure != nil {
		return *failure
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errForward, err)
	}
	return nil
}

// close gives up what waits.
func (f *forwarder) close() {
	if f != nil {
		f.client.Close()
	}
}

// forward sends a record of a pair to another partition of its topic. The header tells where it came from; one that it
// had, of a place that nobody here knows, is replaced.
func (w *worker) forward(ctx context.Context, p *pair, r *kgo.Record, from schemas.Forward, to int32) error {
	if w.forwarder == nil {
		f, err := newForwarder(w.loop.client(w.id + "-forward"))
		if err != nil {
			return err
		}
		w.forwarder = f
	}
	moved := &kgo.Record{Topic: r.Topic, Partition: to, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		if h.Key != schemas.ForwardHeader {
			moved.Headers = append(moved.Headers, h)
		}
	}
	moved.Headers = append(moved.Headers, kgo.RecordHeader{Key: schemas.ForwardHeader, Value: []byte(from.String())})
	err := w.forwarder.add(ctx, moved)
	if err == nil && w.singly {
		err = w.forwarder.flush(ctx)
	}
	if err != nil {
		return w.refusedForward(p, r, err)
	}
	return w.loop.crashes("forward")
}

// refusedForward decides what a forward that failed means. Where a broker says that it is too large, a new session
// would only meet the same again: all pairs go back to their last commits, and what they forward goes out singly from
// there to the next commit, so that it shows which record it is. That one is marked, and set aside when it comes again.
func (w *worker) refusedForward(p *pair, r *kgo.Record, err error) error {
	if !errors.Is(err, kerr.MessageTooLarge) {
		return err
	}
	w.log.Warn("a forward is too large for the broker", "err", err, "found out which", w.singly && r != nil)
	if w.singly && r != nil {
		p.mark(r.Topic, r.Offset, poison{problem: fmt.Sprintf("is too large to forward: %v", err), tooLarge: true})
	}
	w.singly = true
	w.forwarder.close()
	w.forwarder = nil
	w.rewindAll()
	return nil
}

// tooLargeToForward returns what is wrong with a record that is not to be forwarded, or nothing.
func tooLargeToForward(r *kgo.Record) string {
	if size := sizeOf(r); size > forwardMost {
		return fmt.Sprintf("is too large to forward to its circuit's partition: key, headers and value have %d bytes, "+
			"want %d or fewer", size, forwardMost)
	}
	return ""
}

// sizeOf returns how many bytes a record may take in a batch, at most.
func sizeOf(r *kgo.Record) int {
	const most = 10 // Bytes that the length of something may take, and what else stands before it.
	size := 4*most + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += most + len(h.Key) + len(h.Value)
	}
	return size
}
