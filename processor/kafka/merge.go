package kafka

import (
	"context"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// pick returns the record of a pair to handle next, or nil where there is none yet. Records go in the order of their
// timestamps, outcomes first on a tie. A signal waits until the outcomes are read past its timestamp, or to their end
// as it was after the signal was polled: see listEnds. So a fresh claim does not make a backlog late, and a claim on
// an idle partition waits for one answer of the broker alone.
//
// Outcomes do not wait for signals, save for those that were there when the pair was restored or went back to its last
// commit: what had piled up in both topics is handled in order whichever is polled first.
func (p *pair) pick(now time.Time) (r *kgo.Record, from *feed) {
	outcome, signal := p.outcomes.head(), p.signals.head()
	switch {
	case outcome == nil && signal == nil, signal == nil && p.signals.polled < p.signalsTo:
		return nil, nil
	case signal == nil:
		return outcome, &p.outcomes
	case signal.Attrs.IsControl():
		return signal, &p.signals
	case outcome == nil:
		if p.readToEnd(signal) {
			return signal, &p.signals
		}
		return nil, nil
	}
	signalAt, _ := stampOf(signal, now)
	outcomeAt, _ := stampOf(outcome, now)
	if signalAt.Before(outcomeAt) && !outcome.Attrs.IsControl() {
		return signal, &p.signals
	}
	return outcome, &p.outcomes
}

// readToEnd tells whether the outcomes are handled up to their end as it was after the signal was polled.
func (p *pair) readToEnd(signal *kgo.Record) bool {
	return signal.Offset < p.endCovers && p.outcomes.next >= p.end
}

// newest are the newest timestamps of the records of each input that were handled since the last one of the other.
type newest struct{ outcomes, signals time.Time }

// anyTime is the newest timestamp where it may be any.
var anyTime = time.UnixMilli(math.MaxInt64)

// noteOrder takes note of a record that comes next. Where by its timestamp it should have come before some of the other
// input, which were handled before it could be read, that is to be published: nothing else tells an audit so.
func (p *pair) noteOrder(from *feed, at time.Time) {
	own, other := &p.newest.outcomes, &p.newest.signals
	behind := !at.After(*other)
	if from == &p.signals {
		own, other = other, own
		behind = at.Before(*other)
	}
	if behind {
		p.out.handled = append(p.out.handled, handled{p.inputs(), len(p.out.states)})
		*own = time.Time{}
	}
	*other = time.Time{}
	if at.After(*own) {
		*own = at
	}
}

// waits tells whether a signal waits and no end is known yet that would let it go on.
func (p *pair) waits() bool {
	signal := p.signals.head()
	return signal != nil && p.outcomes.head() == nil && signal.Offset >= p.endCovers
}

// listEnds asks for the ends of the outcomes partitions for which signals wait: for the last stable offset, as nobody
// reads past that, and a hung transaction of some producer must not hold up an operator.
func (w *worker) listEnds(ctx context.Context) {
	w.waiting = w.waiting[:0]
	for p := range w.working() {
		if p.waits() {
			w.waiting = append(w.waiting, p.id)
		}
	}
	if len(w.waiting) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ends, err := w.loop.cluster.ends(ctx, w.loop.config.Topics.Outcomes, w.waiting, true)
	if err != nil {
		w.log.Warn("signals wait for the end of the outcomes", "err", err)
		w.retry = time.Now().Add(100 * time.Millisecond)
	}
	for id, end := range ends {
		p := w.pairs[id]
		p.end, p.endCovers = end, p.signals.polled
	}
}
