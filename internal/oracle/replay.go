package oracle

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// logAppendTime is the timestamp type of a record whose timestamp is the broker's.
const logAppendTime = 1

// replay is the core on its way over the inputs of one partition.
type replay struct {
	log    *Log
	id     int32
	inputs *audit.Replay
	core   *processor.Partition
	done   *Expected

	records  map[Place]*kgo.Record // Of both inputs.
	signalAt time.Time             // The newest signal handled.
	faults   []string
}

func newReplay(l *Log, id int32, done *Expected) *replay {
	r := &replay{
		log: l, id: id, done: done, records: map[Place]*kgo.Record{}, core: processor.New(l.Policies[0]),
		inputs: audit.NewReplay(l.site(id)),
	}
	for feed, all := range map[audit.Feed][]*kgo.Record{audit.Outcomes: l.Outcomes, audit.Signals: l.Signals} {
		records := of(all, id)
		for _, record := range records {
			r.records[Place{Topic: record.Topic, Partition: id, Offset: record.Offset}] = record
		}
		r.inputs.Take(feed, plain(records), 0)
		r.inputs.End(feed)
	}
	return r
}

func topicOf(records []*kgo.Record) string {
	if len(records) == 0 {
		return ""
	}
	return records[0].Topic
}

// plain returns records without what belongs to the client.
func plain(records []*kgo.Record) (plain []audit.Record) {
	for _, r := range records {
		plain = append(plain, audit.Record{
			Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Time: r.Timestamp,
			Appended: r.Attrs.TimestampType() == logAppendTime, Key: r.Key, Value: r.Value, Forward: forward(r),
		})
	}
	return plain
}

// forward returns the header of a record that was forwarded.
func forward(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == schemas.ForwardHeader {
			return string(h.Value)
		}
	}
	return ""
}

// home returns the partition where a circuit lives.
func (l *Log) home(circuit string) int32 {
	hash := kgo.StickyKeyPartitioner(nil).ForTopic("")
	return int32(hash.Partition(&kgo.Record{Key: []byte(circuit)}, int(l.Partitions)))
}

// run handles all records, interleaved as the cuts tell.
func (r *replay) run(cuts []cut) {
	for _, c := range cuts {
		r.until(c.Cut)
		r.checkWait()
		if c.policies != nil {
			r.publish(r.core.Reload(c.policies, r.inputs.At()))
		}
	}
	r.until(audit.Cut{At: schemas.Inputs{Outcomes: math.MaxInt64, Signals: math.MaxInt64}})
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

// until handles the records below a cut.
func (r *replay) until(c audit.Cut) {
	for {
		h, any := r.inputs.Next(&c)
		if !any {
			return
		}
		if h.Record.Topic == topicOf(r.log.Signals) {
			r.signalAt = h.Record.Time
		}
		r.handle(&h)
	}
}

// checkWait looks whether the signals handled so far have waited for the outcomes before them.
func (r *replay) checkWait() {
	next, any := r.inputs.Waiting()
	if any && next.Appended && next.Time.Add(cmp.Or(r.log.Backlog, backlog)).Before(r.signalAt) {
		r.faults = append(r.faults, fmt.Sprintf("a signal of %v was handled before %s/%d offset %d of %v",
			r.signalAt, next.Topic, next.Partition, next.Offset, next.Time))
	}
}

// handle takes one record all the way, as the processor does.
func (r *replay) handle(h *audit.Handled) {
	place := h.Record.Place()
	switch h.Fate {
	case audit.SetAside:
		r.done.Letters[place] = true
		return
	case audit.Dropped:
		r.done.Dropped++
		return
	case audit.Elsewhere:
		r.done.Forwarded[place] = r.records[place]
		return
	}
	if h.From != nil {
		from := Place{Topic: h.Record.Topic, Partition: h.From.Partition, Offset: h.From.Offset}
		r.done.Arrived[from] = r.records[place]
	}
	result := r.core.Step(h.At, h.Input)
	if o := h.Input.Outcome; o != nil {
		r.done.Outcomes[result.Why]++
		r.done.Counts[result.Why] += o.Count
		if o.ID != "" {
			r.done.Handled[o.ID]++
		}
	}
	r.publish(result.States)
	for i := range result.Shadows {
		text := string(schemas.AppendState(nil, &result.Shadows[i]))
		r.done.Transitions[r.id] = append(r.done.Transitions[r.id], text)
	}
	if result.Known != 0 {
		r.done.Idle[h.Circuit] = result.Known < 0
	}
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
