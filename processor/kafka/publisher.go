package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// publisher makes the records of one transaction out of memory that the next one uses again: the client owns a record
// until its promise is kept, and all promises are kept before a transaction ends.
type publisher struct {
	text    []byte         // Keys, values, states and progress lie in it.
	chunks  [][]kgo.Record // Records lie in them, so that pointers to them stay good.
	used    int
	limits  topicSettings // What the topics take, as the session knows it.
	refused error         // Why a record of the transaction was not even handed to the client.
	failure atomic.Pointer[error]
	mu      sync.Mutex     // A client that is given up may still write.
	written []written      // Under mu: of each topic one that the transaction wrote to, and of each epoch.
	newest  map[string]int // By circuit: its last state in the transaction.
	promise func(*kgo.Record, error)
}

const (
	chunkSize    = 1024
	textKeptMost = 32 << 20
)

// reset begins a transaction.
func (b *publisher) reset() {
	if cap(b.text) > textKeptMost {
		b.text = nil
	}
	if b.promise == nil {
		b.promise = b.settled // Made once: made for each record it would be allocated.
	}
	b.text, b.used, b.refused = b.text[:0], 0, nil
	b.forget()
	b.failure.Store(nil)
}

// discard leaves the memory to a client that may still hold records of a transaction that never ended.
func (b *publisher) discard() {
	b.text, b.chunks, b.used = nil, nil, 0
	b.forget()
}

func (b *publisher) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written = b.written[:0]
}

// wrote returns where the records of the transaction were written.
func (b *publisher) wrote() []written {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written
}

// err returns why a record was not written, or nil.
func (b *publisher) err() error {
	if failure := b.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

// record returns a record to a partition of a topic, all else empty.
func (b *publisher) record(topic string, partition int32) *kgo.Record {
	i := b.used / chunkSize
	if i == len(b.chunks) {
		b.chunks = append(b.chunks, make([]kgo.Record, chunkSize))
	}
	r := &b.chunks[i][b.used%chunkSize]
	b.used++
	*r = kgo.Record{Topic: topic, Partition: partition}
	return r
}

// keep copies text into the transaction's memory. Growing it leaves what was handed out before where it was.
func (b *publisher) keep(text string) []byte {
	from := len(b.text)
	b.text = append(b.text, text...)
	return b.since(from)
}

// value writes a circuit's value into the transaction's memory.
func (b *publisher) value(v processor.Value) []byte {
	from := len(b.text)
	b.text = v.Append(b.text)
	return b.since(from)
}

// since returns what was appended to the text from a place on.
func (b *publisher) since(from int) []byte { return b.text[from:len(b.text):len(b.text)] }

func (b *publisher) settled(r *kgo.Record, err error) {
	if err != nil {
		err = fmt.Errorf("publish to %s/%d: %w", r.Topic, r.Partition, err)
		b.failure.CompareAndSwap(nil, &err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.written {
		if one.topic == r.Topic && one.id == r.ProducerID && one.epoch == r.ProducerEpoch {
			return
		}
	}
	b.written = append(b.written, writtenTo(r))
}

// produce hands a record to the client, if its topic takes one of that size.
func (b *publisher) produce(ctx context.Context, client *kgo.Client, r *kgo.Record) {
	const frame = 128 // What a batch has beside its records, and some to spare.
	if size, limit := sizeOf(r)+frame, int(b.limits.limit(r.Topic)); size > limit {
		if b.refused == nil {
			b.refused = fmt.Errorf("%w: %q has %d bytes for %s, whose max.message.bytes is %d: `fusebox topics check` "+
				"says how to raise it, or give it a policy with fewer rules and kinds",
				errTooLarge, r.Key, size, r.Topic, limit)
		}
		return
	}
	client.Produce(ctx, r, b.promise)
}

// errTooLarge says that a partition has something to publish that does not fit.
var errTooLarge = errors.New("a record is larger than its topic takes")

// states publishes all states to the transitions, those of shadows too, with what tells in which order the inputs were
// handled, and to the state topic the last one of each circuit.
func (w *worker) states(ctx context.Context, p *pair) {
	b, topics := &w.publisher, &w.loop.config.Topics
	if b.newest == nil {
		b.newest = map[string]int{}
	}
	clear(b.newest)
	for i := range p.out.states {
		if st := &p.out.states[i]; !st.IsShadow {
			b.newest[st.Circuit] = i
		}
	}
	left := p.out.handled
	for i := range p.out.states {
		for len(left) > 0 && left[0].states == i {
			w.publishHandled(ctx, p, left[0].below)
			left = left[1:]
		}
		st := &p.out.states[i]
		from := len(b.text)
		b.text = schemas.AppendState(b.text, st)
		value := b.since(from)
		key := b.keep(st.Circuit)
		for _, topic := range []string{topics.Transitions, topics.State} {
			if topic == topics.State && b.newest[st.Circuit] != i {
				continue
			}
			r := b.record(topic, p.id)
			r.Key, r.Value = key, value
			b.produce(ctx, w.client, r)
		}
	}
	for _, h := range left {
		w.publishHandled(ctx, p, h.below)
	}
}

// publishHandled says how far the inputs of a pair were handled at some time.
func (w *worker) publishHandled(ctx context.Context, p *pair, below schemas.Inputs) {
	b := &w.publisher
	from := len(b.text)
	b.text = schemas.AppendHandled(b.text, &below)
	r := b.record(w.loop.config.Topics.Transitions, p.id)
	r.Value = b.since(from)
	r.Key = b.keep(schemas.HandledKey)
	b.produce(ctx, w.client, r)
}
