package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// retryAfter is how long to wait before a broker is asked again that did not answer, or has trouble.
const retryAfter = 500 * time.Millisecond

// restored is what a pair begins to work with.
type restored struct {
	core     *processor.Partition
	base     progress
	stamp    string
	known    int
	ends     schemas.Inputs // Of both topics, as far as they could be read when the pair was restored.
	outages  map[string]outage
	policies *inForce
	regimes  []processor.Regime
}

// restore makes a pair's memory: the store from its position, or from nothing, and the changelog up to its high
// watermark as it was after the group's offsets were fetched. Those are not given out while a transaction is open that
// could change them, so whatever they speak of lies below that watermark. Then the progress record must agree with
// them.
func (l *Loop) restore(ctx context.Context, p *pair) (r restored, err error) {
	if err := l.claims.acquire(ctx, p); err != nil {
		return r, err
	}
	defer func() {
		if err != nil || ctx.Err() != nil {
			l.claims.release(p)
		}
	}()
	group, err := l.committed(ctx, p.id)
	for err == nil {
		if r, err = l.restoreTo(ctx, p.id, group); !errors.Is(err, errDiffer) {
			break
		}
		// Where others have committed since, what was read is newer than those offsets, and no reason to alarm anybody.
		before, differ := group, err
		if group, err = l.committed(ctx, p.id); err == nil && group == before {
			err = differ
		}
	}
	return r, err
}

// committed returns the group's offsets of a partition, once no transaction is open that could change them.
func (l *Loop) committed(ctx context.Context, partition int32) (committed, error) {
	all, err := again(ctx, l.unstable(partition), func() (map[int32]committed, error) { return l.cluster.offsets(ctx) })
	return all[partition], err
}

// restoreTo makes what a pair begins with, where the group has committed these offsets.
func (l *Loop) restoreTo(ctx context.Context, partition int32, group committed) (r restored, err error) {
	if err := l.readChangelog(ctx, partition); err != nil {
		return r, err
	}
	at, found, err := l.store.Position(partition)
	if err != nil {
		return r, fmt.Errorf("restore: %w", err)
	}
	defer func() { err = l.tellNewer(err, at.Progress) }()
	if len(at.Progress) > 0 {
		if r.base, err = readProgress(at.Progress); err != nil {
			return r, err
		}
	}
	r.stamp = group.stamp
	if err := l.agree(ctx, partition, &r.base, found && len(at.Progress) > 0, group); err != nil {
		return r, err
	}
	return r, l.fillCore(ctx, partition, &r)
}

// trouble says in the report what keeps the restore of a partition.
func (l *Loop) trouble(partition int32) func(error) {
	return func(err error) { l.status.problem(partition, err) }
}

// again asks until there is an answer, or an error that does not go by itself, or the context ends. It tells what keeps
// it.
func again[T any](ctx context.Context, tell func(error), ask func() (T, error)) (T, error) {
	for {
		answer, err := ask()
		if err == nil || ctx.Err() != nil || !transient(err) {
			return answer, err
		}
		tell(err)
		if pause(ctx, retryAfter); ctx.Err() != nil {
			return answer, ctx.Err()
		}
	}
}

// pause waits, and not longer than the context.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// transient tells an error that may go by itself.
func transient(err error) bool {
	var coded *kerr.Error
	return !errors.As(err, &coded) || coded.Retriable
}

// readChangelog brings the store up to the changelog's high watermark of now.
func (l *Loop) readChangelog(ctx context.Context, partition int32) error {
	start, end, err := l.span(ctx, partition, l.config.Topics.Changelog)
	if err != nil {
		return err
	}
	from, err := l.position(partition, start, end)
	if err != nil {
		return err
	}
	c := catchUp{loop: l, partition: partition, end: end,
		reader: logReader{cluster: l.cluster, topic: l.config.Topics.Changelog, partition: partition, position: from}}
	return c.run(ctx)
}

// position returns where the changelog is to be read from: where the store stands, or else from the start. What the
// store has is dropped where it is of another log, or so old that tombstones may be gone which it never saw.
func (l *Loop) position(partition int32, start, end int64) (int64, error) {
	at, found, err := l.store.Position(partition)
	if err != nil {
		return 0, fmt.Errorf("restore: %w", err)
	}
	if !found {
		return start, nil
	}
	why := ""
	switch age := l.now().Sub(at.At); {
	case at.Offset < start:
		why = "its position is below the start of the changelog"
	case at.Offset > end:
		why = "its position is beyond the end of the changelog"
	case age > l.tombstonesKept/2:
		why = fmt.Sprintf("its position is %v old, and tombstones are kept for %v",
			age.Round(time.Second), l.tombstonesKept)
	default:
		return at.Offset, nil
	}
	l.log.Warn("the store's memory of a partition is dropped and restored", "partition", partition, "why", why)
	if err := l.store.Wipe(partition); err != nil {
		return 0, fmt.Errorf("restore: %w", err)
	}
	return start, nil
}

// fillCore makes the pair's circuits. All are brought into memory where there is room for them: to read them here one
// after the other takes a tenth of what it takes to look each up with its next record. Where there is not, those are
// that are not closed, so that they show in the metrics.
func (l *Loop) fillCore(ctx context.Context, partition int32, r *restored) error {
	r.policies = l.policies.Load()
	regimes, err := l.regimes(partition, r.base.Regime)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if r.regimes = regimes; len(regimes) == 0 {
		r.regimes = []processor.Regime{{Number: r.base.Regime, Policies: r.policies.Policies}}
	}
	r.core = processor.Restore(r.regimes)
	if newest := r.regimes[len(r.regimes)-1].Policies; newest.Version != r.policies.Version {
		r.policies = &inForce{Policies: newest} // Those of now come in force before the next record.
	}
	r.core.SetClock(r.base.clock())
	r.outages = map[string]outage{}
	now, room := time.Now(), l.config.MaxResident/int(l.cluster.partitions)
	all := r.base.Circuits <= room+room/8
	err = l.store.Each(partition, func(circuit string, value []byte) error {
		if !isCircuit(circuit) {
			return ctx.Err()
		}
		r.known++
		if _, err := processor.LastRecord(value); errors.Is(err, processor.ErrNewerValue) {
			return fmt.Errorf("circuit %q: %w", circuit, err) // Better now than with its next record.
		}
		if !all && !processor.NeedsReload(value) {
			return ctx.Err()
		}
		if err := r.core.Insert(circuit, value); err != nil {
			return fmt.Errorf("circuit %q: %w", circuit, err)
		}
		if st, _ := r.core.State(circuit, r.core.Clock()); st.State != schemas.Closed {
			r.outages[st.Circuit] = outage{st.State, now}
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if lost := r.base.Circuits - r.known; lost > 0 {
		l.log.Error("circuits are gone from the changelog, and begin anew: records that were still needed were deleted",
			"partition", partition, "gone", lost, "left", r.known)
	}
	r.ends, err = l.inputEnds(ctx, partition)
	return err
}

// inputEnds returns up to where both inputs can be read.
func (l *Loop) inputEnds(ctx context.Context, partition int32) (ends schemas.Inputs, err error) {
	for topic, end := range map[string]*int64{
		l.config.Topics.Outcomes: &ends.Outcomes, l.config.Topics.Signals: &ends.Signals,
	} {
		all, err := again(ctx, l.trouble(partition), func() (map[int32]int64, error) {
			return l.cluster.ends(ctx, topic, []int32{partition}, true)
		})
		if err != nil {
			return ends, err
		}
		*end = all[partition]
	}
	return ends, nil
}

// fill makes a pair ready to work.
func (p *pair) fill(r restored) {
	p.core, p.base, p.stamp, p.known = r.core, r.base, r.stamp, r.known
	p.from, p.target, p.signalsTo = r.base.Outcomes.Next, r.ends.Outcomes, r.ends.Signals
	p.searches = time.Now().Add(searchEvery + time.Duration(p.id%searchSpread)*sweepEvery)
	p.policies, p.regimes, p.outages = r.policies, r.regimes, r.outages
	p.begin()
	for _, o := range r.base.Origins {
		p.origins[originKey{o.TopicID, o.Partition}] = o.Offset
	}
	for circuit := range p.outages {
		p.seriesOf(p.others.m, circuit)
	}
}
