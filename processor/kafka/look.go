package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor"
)

// ErrElsewhere says that this process does not work on a circuit's partition, and so knows its windows not.
var ErrElsewhere = errors.New("another instance works on the circuit's partition")

// ErrUnknownCircuit says that a circuit is not known.
var ErrUnknownCircuit = errors.New("the circuit is not known")

const (
	lookWithin = time.Second // A worker that does not answer in that time is busy, or in a new session.
	looksAsked = 64          // That wait for their answers at once, of all workers.
)

// look asks a worker for what it knows of a circuit.
type look struct {
	partition int32
	circuit   string
	answer    chan<- lookAnswer // Has room for one.
}

type lookAnswer struct {
	look processor.Look
	err  error
}

// Look returns what a circuit's windows hold now, by the records handled so far, and the circuit's partition. Its error
// is an ErrElsewhere where another process has that partition, or this one not yet; an ErrUnknownCircuit where nobody
// has heard of the circuit. It may be called at any time, by many at once.
func (l *Loop) Look(ctx context.Context, circuit string) (processor.Look, int32, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	select {
	case l.looks <- struct{}{}:
		defer func() { <-l.looks }()
	case <-ctx.Done():
		return processor.Look{}, 0, fmt.Errorf("look at circuit %q behind %d others: %w",
			circuit, looksAsked, ctx.Err())
	}
	partition, worker := l.holder(circuit)
	if worker == nil {
		return processor.Look{}, partition, ErrElsewhere
	}
	answer := make(chan lookAnswer, 1)
	worker.inbox.put(look{partition, circuit, answer})
	select {
	case a := <-answer:
		return a.look, partition, a.err
	case <-ctx.Done():
		return processor.Look{}, partition, fmt.Errorf("look at circuit %q: %w", circuit, ctx.Err())
	}
}

// holder returns a circuit's partition, -1 where that is not known yet, and the worker that has it; nil where none has.
func (l *Loop) holder(circuit string) (int32, *worker) {
	n := l.partitions.Load()
	if n == 0 {
		return -1, nil
	}
	hash := kgo.StickyKeyPartitioner(nil).ForTopic(l.config.Topics.Outcomes)
	partition := int32(hash.Partition(&kgo.Record{Key: []byte(circuit)}, int(n)))
	name := l.status.worker(partition)
	for _, w := range l.workers {
		if w.id == name {
			return partition, w
		}
	}
	return partition, nil
}

// answer looks at a circuit, in memory or in the store.
func (w *worker) answer(l look) lookAnswer {
	p := w.pairs[l.partition]
	if p == nil || !p.phase.works() {
		return lookAnswer{err: ErrElsewhere}
	}
	at := p.core.Clock()
	if now := w.loop.now(); now.After(at) {
		at = now
	}
	found, ok, err := p.core.Look(l.circuit, at)
	if ok || err != nil {
		return lookAnswer{found, err}
	}
	value, known, err := w.loop.store.Load(p.id, l.circuit)
	if err != nil {
		return lookAnswer{err: err}
	}
	if !known {
		return lookAnswer{err: ErrUnknownCircuit}
	}
	found, err = processor.LookAt(l.circuit, value, p.core.Regimes(), at)
	return lookAnswer{found, err}
}
