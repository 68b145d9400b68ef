package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// place tells whether a record is to be handled here. One that belongs to another partition is forwarded; one that was
// forwarded before, or by another group, is dropped. It is not asked for a circuit in memory whose record has no
// header: whatever is in memory belongs here.
func (w *worker) place(ctx context.Context, p *pair, from *feed, r *kgo.Record, circuit string) (
	ours bool, err error,
) {
	tally := p.tally(from)
	f, was := w.forwardedFrom(r)
	if was && f.Group != w.loop.config.Group {
		tally.foreign++
		return false, nil
	}
	known := false
	if was {
		if known, err = w.knows(ctx, p, from, f); err != nil {
			return false, err
		}
	}
	if known {
		key := originKey{f.TopicID, f.Partition}
		if highest, any := p.seen(key); any && f.Offset <= highest {
			tally.repeated++
			return false, nil
		}
		if p.out.origins == nil {
			p.out.origins = origins{}
		}
		p.out.origins[key] = f.Offset
		if from == &p.outcomes && w.outcome.Time.IsZero() {
			w.outcome.Time = f.At
		}
	}
	if p.core.Resident(circuit) || w.partitionOf(circuit) == p.id {
		return true, nil
	}
	if known {
		tally.misrouted++
		w.setAside(p, r, "was forwarded to a partition that is not its circuit's")
		return false, nil
	}
	if problem := tooLargeToForward(r); problem != "" {
		tally.tooLarge++
		w.setAside(p, r, problem)
		return false, nil
	}
	tally.misrouted++
	return false, w.forward(ctx, p, r, schemas.Forward{
		Group: w.loop.config.Group, Cluster: w.loop.cluster.id, TopicID: w.loop.cluster.topicIDs[r.Topic],
		Partition: r.Partition, Offset: r.Offset, At: r.Timestamp,
	}, w.partitionOf(circuit))
}

// forwardedFrom reads the header of a record, if it has one that can be read.
func (w *worker) forwardedFrom(r *kgo.Record) (schemas.Forward, bool) {
	for _, h := range r.Headers {
		if h.Key != schemas.ForwardHeader {
			continue
		}
		f, err := schemas.ReadForward(string(h.Value))
		return f, err == nil
	}
	return schemas.Forward{}, false
}

// knows tells whether a record was forwarded from a partition that exists here, by its ids, and from an offset that is
// there. One from elsewhere, of a mirrored cluster or a topic that was deleted, counts as a record that came directly,
// and so does one that nobody can have forwarded: an offset that is beyond the end would silence all later forwards.
func (w *worker) knows(ctx context.Context, p *pair, from *feed, f schemas.Forward) (bool, error) {
	k := w.loop.cluster
	if f.Cluster != k.id || f.TopicID != k.topicIDs[from.topic] || f.Offset < 0 ||
		f.Partition < 0 || f.Partition >= k.partitions || f.Partition == p.id {
		return false, nil
	}
	return w.origins.reaches(ctx, k, from.topic, f.Partition, f.Offset, w.polls)
}

// partitionOf returns the partition where a circuit lives: as Kafka's own producers choose it by the key.
func (w *worker) partitionOf(circuit string) int32 {
	w.hashed.Key = append(w.hashed.Key[:0], circuit...)
	return int32(w.hash.Partition(&w.hashed, int(w.loop.cluster.partitions)))
}
