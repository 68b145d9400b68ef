package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// forwardWindow is how many records are forwarded before their acknowledgements are waited for.
const forwardWindow = 5000

// errForward says that a forward failed: the session begins anew, from what is committed, with another producer.
var errForward = errors.New("forward failed")

// forwarder moves records to the partitions of their circuits, with a producer of its own: idempotent, and outside
// the transaction, as transactional records would hold up every reader of the inputs.
//
// The receiver drops what is not above the highest origin offset it has seen, which is right only while forwards of a
// partition come in order and without gaps. So records are sent a window at a time: nothing leaves before Flush, one
// that fails takes all later ones of its target with it, and after that nothing is produced any more.
type forwarder struct {
	client  *kgo.Client
	waiting int
	failure atomic.Pointer[error]
}

func newForwarder(opts []kgo.Opt) (*forwarder, error) {
	client, err := kgo.NewClient(append(opts,
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ManualFlushing(),
		kgo.MaxBufferedRecords(2*forwardWindow),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return nil, fmt.Errorf("make the producer of forwards: %w", err)
	}
	return &forwarder{client: client}, nil
}

// add hands over one record. The context bounds the wait for a window that is full.
func (f *forwarder) add(ctx context.Context, r *kgo.Record) error {
	if f.waiting == forwardWindow {
		if err := f.flush(ctx); err != nil {
			return err
		}
	}
	f.waiting++
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
func (w *worker) flushForwards(ctx context.Context) error {
	if w.forwarder == nil || w.forwarder.waiting == 0 {
		return nil
	}
	if err := w.forwarder.flush(ctx); err != nil {
		return err
	}
	return w.loop.crashes("after forwards")
}

// flush sends what waits and returns when all of it is acknowledged.
func (f *forwarder) flush(ctx context.Context) error {
	err := f.client.Flush(ctx)
	f.waiting = 0
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

// forward sends a record to another partition of its topic. The header tells where it came from; one that it had, of
// a place that nobody here knows, is replaced.
func (w *worker) forward(ctx context.Context, r *kgo.Record, from forwarded, to int32) error {
	if w.forwarder == nil {
		f, err := newForwarder(w.loop.client(w.id + "-forward"))
		if err != nil {
			return err
		}
		w.forwarder = f
	}
	moved := &kgo.Record{Topic: r.Topic, Partition: to, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		if h.Key != forwardHeader {
			moved.Headers = append(moved.Headers, h)
		}
	}
	moved.Headers = append(moved.Headers, kgo.RecordHeader{Key: forwardHeader, Value: []byte(from.String())})
	if err := w.forwarder.add(ctx, moved); err != nil {
		return err
	}
	return w.loop.crashes("forward")
}
