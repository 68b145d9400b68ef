package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// feed is what was polled of one input partition and not handled yet.
type feed struct {
	topic  string
	queue  []*kgo.Record
	next   int64 // The offset after the last record handled.
	polled int64 // The offset after the last record polled.
	open   openEnd
}

// reset begins anew at an offset.
func (f *feed) reset(offset int64) {
	clear(f.queue)
	f.queue, f.next, f.polled = f.queue[:0], offset, offset
}

// add takes polled records. Those below what was polled already are left out: a rewind may overlap with a fetch.
func (f *feed) add(records []*kgo.Record) {
	for len(records) > 0 && records[0].Offset < f.polled {
		records = records[1:]
	}
	if len(records) == 0 {
		return
	}
	f.polled = records[len(records)-1].Offset + 1
	if len(f.queue) == 0 {
		f.queue = records // The common case: all that was polled before is handled.
		return
	}
	f.queue = append(f.queue, records...)
}

// head returns the next record, or nil.
func (f *feed) head() *kgo.Record {
	if len(f.queue) == 0 {
		return nil
	}
	return f.queue[0]
}

// pop takes the next record away. It is handled, or about to be.
func (f *feed) pop() {
	f.next = f.queue[0].Offset + 1
	f.queue[0] = nil
	f.queue = f.queue[1:]
}

// stampOf returns the timestamp of a record. One that its producer set, and that lies in the future, is clamped to
// the wall clock.
func stampOf(r *kgo.Record, now time.Time) (at time.Time, clamped bool) {
	if r.Attrs.TimestampType() != logAppendTime && r.Timestamp.After(now) {
		return now.Truncate(time.Millisecond), true
	}
	return r.Timestamp, false
}

// logAppendTime is the timestamp type of a record whose timestamp is the broker's.
const logAppendTime = 1
