package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/offsets"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	fetchedMost = 64 << 20         // Bytes that all partitions fetch at once.
	fetchStall  = 30 * time.Second // How long a partition may bring nothing.
)

// openTopic makes every partition of the outcomes topic a source, up to the last committed record.
func (r *recorded) openTopic(ctx context.Context, f *recordedFlags) error {
	since, until, err := spanOf(f.since, f.until, time.Now())
	if err != nil {
		return err
	}
	c, err := loadToolConfig()
	if err != nil {
		return err
	}
	topic := c.topics().Outcomes
	client, err := c.dial(ctx, []string{topic})
	if err != nil {
		return err
	}
	r.closes = append(r.closes, client.Close)
	starts, ends, err := ranges(ctx, client, topic, since, until)
	if err != nil {
		return err
	}
	var total int64
	for partition, start := range starts {
		end := ends[partition]
		if start >= end {
			continue
		}
		total += end - start
		p := &partitionOutcomes{r, recordsUpTo(client, topic, partition, start, end, len(starts))}
		r.sources = append(r.sources, &source{place: int(partition), open: func() (sequence, error) { return p, nil }})
	}
	r.bar = newRecordBar(r.out, r.what, total)
	return nil
}

// ranges returns where in each partition what lies between two times begins and ends. Times that are zero bound
// nothing; what a transaction that is still open holds back is beyond the end.
func ranges(ctx context.Context, client *kgo.Client, topic string, since, until time.Time) (
	starts, ends map[int32]int64, err error,
) {
	adm := kadm.NewClient(client)
	from, err := offsetsAt(ctx, adm, topic, since, offsets.Starts)
	if err != nil {
		return nil, nil, err
	}
	committed, err := offsets.Committed(ctx, adm, topic)
	if err != nil {
		return nil, nil, err
	}
	to, err := offsetsAt(ctx, adm, topic, until, offsets.Committed)
	if err != nil {
		return nil, nil, err
	}
	for partition, end := range committed {
		to[partition] = min(to[partition], end)
	}
	return from, to, nil
}

// offsetsAt returns the first offset of each partition at or after a time, or what otherwise says where there is none.
func offsetsAt(ctx context.Context, adm *kadm.Client, topic string, at time.Time,
	otherwise func(context.Context, *kadm.Client, string) (map[int32]int64, error),
) (map[int32]int64, error) {
	if at.IsZero() {
		return otherwise(ctx, adm, topic)
	}
	return offsets.At(ctx, adm, topic, at)
}

// newRecordBar is newBar over records.
func newRecordBar(w io.Writer, what string, total int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w), progressbar.OptionSetVisibility(isTerminal(w)),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("records"),
		progressbar.OptionSetDescription(what), progressbar.OptionThrottle(time.Second),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish())
}

// partitionRecords is the records of one partition up to an offset.
type partitionRecords struct {
	partitionReader
	end   int64
	batch []*kgo.Record
}

// recordsUpTo returns the records of one of so many partitions, which are read side by side.
func recordsUpTo(client *kgo.Client, topic string, partition int32, start, end int64, among int) partitionRecords {
	return partitionRecords{end: end, partitionReader: partitionReader{
		client: client, topic: topic, partition: partition, position: start,
		most: int32(max(64<<10, min(4<<20, fetchedMost/among))),
	}}
}

// partitionOutcomes is the sequence of one partition of the outcomes topic.
type partitionOutcomes struct {
	*recorded
	partitionRecords
}

func (p *partitionOutcomes) close() {}

func (p *partitionOutcomes) next(ctx context.Context, o *schemas.Outcome) error {
	for {
		if err := p.fill(ctx); err != nil {
			return err
		}
		r := p.take()
		_ = p.bar.Add(1) // What a bar cannot show is no fault of the run.
		if forwarded(r) {
			continue // It stands where it was first written, too.
		}
		if err := schemas.DecodeOutcome(r.Key, r.Value, o); err != nil {
			p.unreadable++
			p.leaveOut(fmt.Sprintf("%s, partition %d, offset %d", r.Topic, r.Partition, r.Offset), err)
			continue
		}
		if o.Time.IsZero() {
			o.Time = r.Timestamp.UTC().Truncate(time.Millisecond)
		}
		return nil
	}
}

// fill makes sure that there is a record, and returns io.EOF where there is none any more.
func (p *partitionRecords) fill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchStall)
	defer cancel()
	for len(p.batch) == 0 {
		if p.position >= p.end {
			return io.EOF
		}
		var err error
		if p.batch, err = p.some(ctx, p.end); err != nil {
			return err
		}
	}
	if p.batch[0].Offset >= p.end {
		return io.EOF
	}
	return nil
}

// take takes the first record away, which has to be there.
func (p *partitionRecords) take() *kgo.Record {
	first := p.batch[0]
	p.batch = p.batch[1:]
	return first
}

// forwarded tells whether a record was moved to the partition of its circuit.
func forwarded(r *kgo.Record) bool {
	return slices.ContainsFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == schemas.ForwardHeader })
}
