package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// auditFetch is how many bytes of a topic are fetched at once.
const auditFetch = 4 << 20

func (a *auditor) reader(topic string, partition int32, from int64) *partitionReader {
	return &partitionReader{client: a.client, topic: topic, partition: partition, position: from, most: auditFetch}
}

// some returns what follows in a partition, on the way to an offset: at least one record, or the end is reached.
func (a *auditor) some(ctx context.Context, r *partitionReader, end int64) ([]*kgo.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchStall)
	defer cancel()
	for r.position < end {
		records, err := r.some(ctx, end)
		if len(records) > 0 || err != nil {
			return records, err
		}
	}
	return nil, nil
}

// audit audits a partition.
func (a *auditor) audit(ctx context.Context, s *auditSpan) (audit.Report, error) {
	run := audit.New(s.Config)
	ends := map[audit.Feed]int64{
		audit.Outcomes: s.End.Outcomes, audit.Signals: s.End.Signals, audit.Transitions: s.to,
	}
	readers := map[audit.Feed]*partitionReader{
		audit.Outcomes:    a.reader(a.topics.Outcomes, s.partition, s.From.Outcomes),
		audit.Signals:     a.reader(a.topics.Signals, s.partition, s.From.Signals),
		audit.Transitions: a.reader(a.topics.Transitions, s.partition, s.from),
	}
	for feed := run.Run(); feed != audit.Nothing; feed = run.Run() {
		r, end := readers[feed], ends[feed]
		if r.position >= end {
			run.End(feed)
			continue
		}
		before := r.position
		records, err := a.some(ctx, r, end)
		if err != nil {
			return audit.Report{}, err
		}
		for len(records) > 0 && records[len(records)-1].Offset >= end {
			records = records[:len(records)-1]
		}
		_ = a.bar.Add64(r.position - before) // What a bar cannot show is no fault of the run.
		if feed == audit.Transitions {
			run.TakePublished(published(records))
		} else {
			run.Take(feed, auditInputs(records), r.position)
		}
	}
	return run.Report(), nil
}

// published returns records without what belongs to the client.
func published(records []*kgo.Record) []audit.Published {
	plain := make([]audit.Published, len(records))
	for i, r := range records {
		plain[i] = audit.Published{Offset: r.Offset, Time: r.Timestamp, Value: r.Value}
	}
	return plain
}

// auditInputs does the same for those of the inputs.
func auditInputs(records []*kgo.Record) []audit.Record {
	plain := make([]audit.Record, 0, len(records))
	for _, r := range records {
		p := audit.Record{
			Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Time: r.Timestamp,
			Appended: r.Attrs.TimestampType() == appendTime, Key: r.Key, Value: r.Value,
		}
		for _, h := range r.Headers {
			if h.Key == schemas.ForwardHeader {
				p.Forward = string(h.Value)
				break
			}
		}
		plain = append(plain, p)
	}
	return plain
}

// appendTime is the timestamp type of a record whose timestamp is the broker's.
const appendTime = 1
