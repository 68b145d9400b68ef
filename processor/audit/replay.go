package audit

import (
	"fmt"
	"math"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// Replay takes the records of both inputs of a partition in the order in which a processor handled them, as far as cuts
// tell it: those below a cut by their timestamps, outcomes first on a tie, and the one that made the cut last. It tells
// what a processor does with each before the core has it.
type Replay struct {
	site     Site
	outcomes queue
	signals  queue
	at       schemas.Inputs
	origins  map[origin]int64 // The highest origin offset of what was forwarded here.
}

type origin struct {
	topic     string
	partition int32
}

// NewReplay returns a replay of a partition from its beginning. See Begin.
func NewReplay(site Site) *Replay {
	return &Replay{
		site: site, outcomes: queue{topic: site.Outcomes}, signals: queue{topic: site.Signals},
		origins: map[origin]int64{},
	}
}

// Fate is what a processor does with a record of its inputs.
type Fate uint8

// Fates. What is handled goes into the core, unless it was before.
const (
	ToHandle  Fate = iota
	SetAside       // It goes to the dead letters.
	Elsewhere      // It is forwarded to its circuit's partition.
	Dropped        // It was forwarded here before, or by another group.
)

// Handled is a record at its turn.
type Handled struct {
	Record  Record
	Fate    Fate
	Circuit string           // Where it can be read.
	From    *schemas.Forward // Where it was forwarded from, if that is a place of this cluster.
	At      time.Time        // Its timestamp, clamped where it has to be.
	Input   processor.Input  // For the core.
}

// Take takes records of an input in the order of their offsets, and up to which offset it was read with them.
func (r *Replay) Take(feed Feed, records []Record, read int64) { r.queue(feed).take(records, read) }

// End notes that all of an input was taken.
func (r *Replay) End(feed Feed) { r.queue(feed).end() }

func (r *Replay) queue(feed Feed) *queue {
	if feed == Outcomes {
		return &r.outcomes
	}
	return &r.signals
}

// Wants returns the input of which more has to be taken before Next can be called, or Nothing.
func (r *Replay) Wants(c *Cut) Feed {
	switch {
	case !r.outcomes.ready(c.At.Outcomes):
		return Outcomes
	case !r.signals.ready(c.At.Signals):
		return Signals
	}
	return Nothing
}

// At returns the next offsets of both inputs.
func (r *Replay) At() schemas.Inputs { return r.at }

// Waiting returns the next record of the outcomes, where one was read.
func (r *Replay) Waiting() (Record, bool) {
	if len(r.outcomes.records) == 0 {
		return Record{}, false
	}
	return r.outcomes.records[0], true
}

// Next returns the next record below a cut. It reports false where the cut is reached.
func (r *Replay) Next(c *Cut) (Handled, bool) {
	outcomes, signals := r.outcomes.below(c.At.Outcomes), r.signals.below(c.At.Signals)
	if outcomes+signals == 0 {
		pass(&r.at.Outcomes, c.At.Outcomes)
		pass(&r.at.Signals, c.At.Signals)
		return Handled{}, false
	}
	// Offsets that no reader sees lie between records: markers of transactions. The cut knows of them.
	if r.outcomeNext(c, outcomes, signals) {
		if signals == 0 && outcomes == 1 {
			pass(&r.at.Signals, c.At.Signals)
		}
		record := r.outcomes.pop()
		r.at.Outcomes = record.Offset + 1
		return r.handle(c, record), true
	}
	if outcomes == 0 && signals == 1 {
		pass(&r.at.Outcomes, c.At.Outcomes)
	}
	record := r.signals.pop()
	r.at.Signals = record.Offset + 1
	return r.handle(c, record), true
}

func pass(at *int64, to int64) {
	if to < math.MaxInt64 {
		*at = max(*at, to)
	}
}

// outcomeNext tells whether an outcome comes next, of so many of both below a cut.
func (r *Replay) outcomeNext(c *Cut, outcomes, signals int) bool {
	if outcomes == 0 || signals == 0 {
		return signals == 0
	}
	byOutcome := r.made(c, &r.outcomes, outcomes, c.At.Outcomes)
	bySignal := r.made(c, &r.signals, signals, c.At.Signals)
	switch {
	case byOutcome == bySignal:
	case byOutcome && outcomes == 1:
		return false
	case bySignal && signals == 1:
		return true
	}
	return !r.signals.records[0].Time.Before(r.outcomes.records[0].Time)
}

// made tells whether the last of so many records of an input made the cut: the one that the cut names, or one of the
// circuit that it is of, save one that is dropped: no value tells of that.
func (r *Replay) made(c *Cut, q *queue, n int, next int64) bool {
	if c.Circuit == "" {
		return c.Trigger.Topic == q.topic && c.Trigger.Offset+1 == next
	}
	last := q.records[n-1]
	circuit, err := read(&last, q == &r.signals, &processor.Input{})
	return err == nil && circuit == c.Circuit && last.Offset+1 == next && !r.drops(q, n)
}

// drops tells whether the last of so many records of an input will be dropped at its turn.
func (r *Replay) drops(q *queue, n int) bool {
	last := &q.records[n-1]
	from, forwarded := r.site.forward(last)
	if !forwarded {
		return false
	}
	if from.Group != r.site.Group {
		return true
	}
	if !r.site.knows(&from, q.topic) {
		return false
	}
	highest, any := r.origins[origin{q.topic, from.Partition}]
	for i := range q.records[:n-1] {
		f, forwarded := r.site.forward(&q.records[i])
		if forwarded && f.Partition == from.Partition && f.Group == r.site.Group && r.site.knows(&f, q.topic) {
			highest, any = max(highest, f.Offset), true
		}
	}
	return any && from.Offset <= highest
}

// handle tells what becomes of a record.
func (r *Replay) handle(c *Cut, record Record) Handled {
	h := Handled{Record: record, Input: processor.Input{
		Trigger: schemas.Trigger{Topic: record.Topic, Partition: record.Partition, Offset: record.Offset},
		Inputs:  r.at,
	}}
	h.At, h.Input.Clamped = c.stamp(&record)
	circuit, err := read(&record, record.Topic == r.site.Signals, &h.Input)
	if err != nil {
		h.Fate = SetAside
		return h
	}
	h.Circuit = circuit
	from, forwarded := r.site.forward(&record)
	known := forwarded && r.site.knows(&from, record.Topic)
	if forwarded && from.Group != r.site.Group || known && r.repeats(&from, record.Topic) {
		h.Fate = Dropped
		return h
	}
	if known {
		h.From = &from
	}
	switch home := r.site.Home(circuit) == r.site.Partition; {
	case known && !home:
		h.Fate = SetAside
	case !home:
		h.Fate = Elsewhere
	case known && h.Input.Outcome != nil && h.Input.Outcome.Time.IsZero():
		h.Input.Outcome.Time = from.At
	}
	return h
}

// stamp returns the timestamp of a record below the cut, and whether it was clamped.
func (c *Cut) stamp(r *Record) (time.Time, bool) {
	now := c.Now
	if !c.Clamped.IsZero() && c.Trigger.Topic == r.Topic && c.Trigger.Offset == r.Offset {
		now = c.Clamped
	}
	if r.Appended || now.IsZero() || !r.Time.After(now) {
		return r.Time, false
	}
	return now.Truncate(time.Millisecond), true
}

// read decodes a record, and tells its circuit.
func read(record *Record, signal bool, in *processor.Input) (circuit string, err error) {
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

// forward reads the header of a record that was forwarded, where there is one that can be read.
func (s *Site) forward(r *Record) (schemas.Forward, bool) {
	if r.Forward == "" {
		return schemas.Forward{}, false
	}
	f, err := schemas.ReadForward(r.Forward)
	return f, err == nil
}

// knows tells whether a record came from another partition of this very topic.
func (s *Site) knows(f *schemas.Forward, topic string) bool {
	return f.Cluster == s.Cluster && f.TopicID == s.TopicIDs[topic] && f.Offset >= 0 &&
		f.Partition >= 0 && f.Partition < s.Partitions && f.Partition != s.Partition
}

// repeats tells whether a record that was forwarded here came before, and remembers it.
func (r *Replay) repeats(from *schemas.Forward, topic string) bool {
	source := origin{topic, from.Partition}
	if highest, any := r.origins[source]; any && from.Offset <= highest {
		return true
	}
	r.origins[source] = from.Offset
	return false
}
