package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// errReenter says that a pair's memory is in doubt: it is to be restored once more.
var errReenter = errors.New("the partition's memory is in doubt")

// recordTally counts what became of the records of one transaction.
type recordTally struct{ handled, unreadable, tooLarge, misrouted, foreign, repeated, clamped int }

// steps handles all that a pair may handle now. An error is about this pair alone.
func (w *worker) steps(ctx context.Context, p *pair, now time.Time) error {
	for {
		r, from := p.pick(now)
		if r == nil {
			return nil
		}
		if !r.Attrs.IsControl() {
			p.noteOrder(from, r.Timestamp)
		}
		from.pop()
		p.out.records++
		if r.Attrs.IsControl() {
			continue
		}
		if err := w.handle(ctx, p, from, r, now); err != nil {
			return fmt.Errorf("handle %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
	}
}

// handle takes one record all the way: read, placed, stepped, counted.
func (w *worker) handle(ctx context.Context, p *pair, from *feed, r *kgo.Record, now time.Time) error {
	tally := p.tally(from)
	if why, poisoned := p.poison[poisonKey{r.Topic, r.Offset}]; poisoned {
		w.setPoisonAside(p, from, r, why)
		return nil
	}
	if len(r.Value) > schemas.MaxRecord {
		tally.tooLarge++
		w.setAside(p, r, fmt.Sprintf("has %d bytes: want %d or fewer", len(r.Value), schemas.MaxRecord))
		return nil
	}
	isSignal := from == &p.signals
	circuit, err := w.read(r, isSignal)
	if err != nil {
		tally.unreadable++
		w.setAside(p, r, err.Error())
		return nil
	}
	resident := p.core.Resident(circuit)
	if !resident || len(r.Headers) > 0 {
		ours, err := w.place(ctx, p, from, r, circuit)
		if !ours || err != nil {
			return err
		}
	}
	in := processor.Input{
		Trigger: schemas.Trigger{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset},
		Inputs:  p.inputs(),
	}
	if !resident {
		if in.Full, err = w.load(p, circuit); err != nil {
			return err
		}
	}
	var at time.Time
	at, in.Clamped = stampOf(r, now)
	if isSignal {
		in.Signal = &w.signal
	} else {
		in.Outcome = &w.outcome
	}
	tally.handled++
	if in.Clamped {
		tally.clamped++
	}
	return w.step(p, r, at, in)
}

// read decodes a record into the worker's outcome or signal. A decoder that panics is an error like another.
func (w *worker) read(r *kgo.Record, signal bool) (circuit string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic while it was read: %v", v)
		}
	}()
	if err = w.loop.crashes("read"); err != nil {
		return "", err
	}
	if signal {
		w.signal, err = schemas.DecodeSignal(r.Key, r.Value)
		return w.signal.Circuit, err
	}
	err = schemas.DecodeOutcome(r.Key, r.Value, &w.outcome)
	return w.outcome.Circuit, err
}

// load brings a circuit into memory, where the store knows it. It reports whether no further circuit may become known.
func (w *worker) load(p *pair, circuit string) (full bool, err error) {
	value, known, err := w.loop.store.Load(p.id, circuit)
	if err != nil {
		return false, errors.Join(errReenter, err)
	}
	if !known {
		return int(w.loop.known.Load()) >= w.loop.config.MaxCircuits, nil
	}
	if err := p.core.Insert(circuit, value); err != nil {
		return false, fmt.Errorf("circuit %q: %w", circuit, err)
	}
	return false, nil
}

// step hands a record to the core. A panic there leaves the circuit in doubt: the record is marked, the pair goes back
// to its last commit, and when the record comes again it is set aside.
func (w *worker) step(p *pair, r *kgo.Record, at time.Time, in processor.Input) error {
	result, panicked := try(p.core, at, in)
	if panicked != "" {
		p.mark(r.Topic, r.Offset, poison{problem: panicked})
		w.log.Error("a record makes the core panic: it will be set aside",
			"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "panic", panicked)
		w.rewind(p)
		return nil
	}
	w.note(p, r, in, result)
	r.Recycle()
	return nil
}

func try(core *processor.Partition, at time.Time, in processor.Input) (result processor.Result, panicked string) {
	defer func() {
		if v := recover(); v != nil {
			panicked = fmt.Sprintf("panic while it was handled: %v", v)
		}
	}()
	return core.Step(at, in), ""
}

// note takes down what a record did, for the next transaction and for the metrics after it.
func (w *worker) note(p *pair, r *kgo.Record, in processor.Input, result processor.Result) {
	if result.Known != 0 {
		p.out.known += result.Known
		w.loop.known.Add(int64(result.Known))
	}
	if result.Known < 0 {
		p.out.swept = append(p.out.swept, result.Circuit)
	}
	if len(result.States) > 0 {
		p.out.states = append(append(p.out.states, result.States...), result.Shadows...)
		p.out.news = p.out.news || len(result.States) > 1 || result.Known <= 0
		if in.Outcome != nil {
			p.out.appended = append(p.out.appended, r.Timestamp)
		}
	}
	if result.Clamped {
		p.out.clamped++
	}
	s := p.seriesOf(w.loop.metrics, result.Circuit)
	if !s.pending {
		s.pending = true
		p.out.touched = append(p.out.touched, s)
	}
	if in.Outcome != nil {
		s.outcome(in.Outcome, result)
	}
	s.leases.add(result.Leases)
	if cause := result.Tripped; cause != nil {
		last := &result.States[len(result.States)-1]
		s.trips = append(s.trips, trip{cause.Rule, last.Enforced, cause.At.Sub(cause.Since), !cause.Since.IsZero()})
	}
	if cause := result.WouldTrip; cause != nil {
		s.trips = append(s.trips, trip{rule: cause.Rule})
	}
}
