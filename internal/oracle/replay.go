package oracle

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// logAppendTime is the timestamp type of a record whose timestamp is the broker's.
const logAppendTime = 1

// replay is the core on its way over the inputs of one partition.
type replay struct {
	log  *Log
	id   int32
	core *processor.Partition
	done *Expected

	outcomes, signals []*kgo.Record // What is not handled yet.
	at                schemas.Inputs
	origins           map[Place]int64 // The highest origin offset by topic and partition.
	signalAt          time.Time       // The newest signal handled.
	faults            []string
}

// run handles all records, interleaved as the cuts tell.
func (r *replay) run(cuts []cut) {
	for _, c := range cuts {
		r.until(c)
		r.checkWait()
		if c.policies != nil {
			r.publish(r.core.Reload(c.policies, r.at))
		}
	}
	r.until(cut{at: schemas.Inputs{Outcomes: math.MaxInt64, Signals: math.MaxInt64}})
	for circuit, value := range r.core.Changes() {
		if !value.Forgotten() {
			r.done.Values[circuit], r.done.Homes[circuit] = value.Append(nil), r.id
		}
	}
	r.core.Commit() // A sweep leaves alone what is not committed.
	for _, circuit := range r.core.Sweep(math.MaxInt) {
		r.done.Idle[circuit] = true
	}
}

// until handles the records below a cut, in the order of their timestamps, outcomes first on a tie, and the one that
// triggered it last.
func (r *replay) until(c cut) {
	outcomes, signals := below(r.outcomes, c.at.Outcomes), below(r.signals, c.at.Signals)
	r.outcomes, r.signals = r.outcomes[len(outcomes):], r.signals[len(signals):]
	byOutcome, bySignal := r.made(c, outcomes, c.at.Outcomes), r.made(c, signals, c.at.Signals)
	for len(outcomes)+len(signals) > 0 {
		outcomeNext := len(signals) == 0
		if len(outcomes) > 0 && len(signals) > 0 {
			outcomeNext = !signals[0].Timestamp.Before(outcomes[0].Timestamp)
			switch {
			case byOutcome == bySignal:
			case byOutcome && len(outcomes) == 1:
				outcomeNext = false
			case bySignal && len(signals) == 1:
				outcomeNext = true
			}
		}
		// Offsets that no reader sees lie between records: markers of transactions. The cut knows of them.
		if outcomeNext {
			if len(signals) == 0 && len(outcomes) == 1 {
				r.passMarkers(&r.at.Signals, c.at.Signals)
			}
			r.at.Outcomes = outcomes[0].Offset + 1
			r.record(outcomes[0])
			outcomes = outcomes[1:]
			continue
		}
		if len(outcomes) == 0 && len(signals) == 1 {
			r.passMarkers(&r.at.Outcomes, c.at.Outcomes)
		}
		r.at.Signals = signals[0].Offset + 1
		r.signalAt = signals[0].Timestamp
		r.record(signals[0])
		signals = signals[1:]
	}
	r.passMarkers(&r.at.Outcomes, c.at.Outcomes)
	r.passMarkers(&r.at.Signals, c.at.Signals)
}

// made tells whether the last of the records of one topic made the cut: the one that the cut names, or one of the
// circuit that it is of.
func (r *replay) made(c cut, records []*kgo.Record, next int64) bool {
	if len(records) == 0 {
		return false
	}
	last := records[len(records)-1]
	if c.circuit == "" {
		return last.Topic == c.trigger.Topic && last.Offset == c.trigger.Offset
	}
	circuit, err := read(last, r.log.isSignal(last), &processor.Input{})
	return err == nil && circuit == c.circuit && last.Offset+1 == next
}

func (r *replay) passMarkers(at *int64, to int64) {
	if to < math.MaxInt64 {
		*at = max(*at, to)
	}
}

func below(records []*kgo.Record, offset int64) []*kgo.Record {
	n := 0
	for n < len(records) && records[n].Offset < offset {
		n++
	}
	return records[:n]
}

// checkWait looks whether the signals handled so far have waited for the outcomes before them.
func (r *replay) checkWait() {
	if len(r.outcomes) == 0 || r.outcomes[0].Attrs.TimestampType() != logAppendTime {
		return
	}
	if next := r.outcomes[0]; next.Timestamp.Add(cmp.Or(r.log.Backlog, backlog)).Before(r.signalAt) {
		r.faults = append(r.faults, fmt.Sprintf("a signal of %v was handled before %s/%d offset %d of %v",
			r.signalAt, next.Topic, next.Partition, next.Offset, next.Timestamp))
	}
}

// record takes one record all the way, as the processor does.
func (r *replay) record(record *kgo.Record) {
	place := Place{record.Topic, record.Partition, record.Offset}
	in := processor.Input{
		Trigger: schemas.Trigger{Topic: record.Topic, Partition: record.Partition, Offset: record.Offset},
		Inputs:  r.at,
	}
	circuit, err := read(record, r.log.isSignal(record), &in)
	if err != nil {
		r.done.Letters[place] = true
		return
	}
	from, forwarded := r.log.origin(record)
	if forwarded && from.group != r.log.Group || r.repeats(from) {
		r.done.Dropped++
		return
	}
	home := r.log.home(circuit) == r.id
	switch {
	case from.known && !home:
		r.done.Letters[place] = true
		return
	case !home:
		r.done.Forwarded[place] = record
		return
	case from.known:
		r.done.Arrived[from.place] = record
		if in.Outcome != nil && in.Outcome.Time.IsZero() {
			in.Outcome.Time = from.at
		}
	}
	result := r.core.Step(record.Timestamp, in)
	if in.Outcome != nil {
		r.done.Outcomes[result.Why]++
		r.done.Counts[result.Why] += in.Outcome.Count
		if in.Outcome.ID != "" {
			r.done.Handled[in.Outcome.ID]++
		}
	}
	r.publish(result.States)
	if result.Known != 0 {
		r.done.Idle[circuit] = result.Known < 0
	}
}

// repeats tells whether a record that was forwarded here came before, and remembers it.
func (r *replay) repeats(from origin) bool {
	if !from.known {
		return false
	}
	source := Place{Topic: from.place.Topic, Partition: from.place.Partition}
	if highest, any := r.origins[source]; any && from.place.Offset <= highest {
		return true
	}
	r.origins[source] = from.place.Offset
	return false
}

func (r *replay) publish(states []schemas.State) {
	for i := range states {
		state := &states[i]
		text := string(schemas.AppendState(nil, state))
		r.done.Transitions[r.id] = append(r.done.Transitions[r.id], text)
		r.done.States[state.Circuit] = text
		r.done.Partitions[state.Circuit] = r.id
		r.done.final[state.Circuit] = state
	}
}

// read decodes a record, and tells its circuit.
func read(record *kgo.Record, signal bool, in *processor.Input) (circuit string, err error) {
	if len(record.Value) > schemas.MaxRecord {
		return "", fmt.Errorf("%d bytes", len(record.Value))
	}
	if signal {
		s, err := schemas.DecodeSignal(record.Key, record.Value)
		in.Signal = &s
		return s.Circuit, err
	}
	in.Outcome = &schemas.Outcome{}
	err = schemas.DecodeOutcome(record.Key, record.Value, in.Outcome)
	return in.Outcome.Circuit, err
}
