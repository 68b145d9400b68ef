package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

const (
	beatEvery    = 5 * time.Second // How often a partition says that it is alive.
	inspectEvery = time.Minute     // How often the topics are looked at: more partitions move all circuits.
)

// beats makes the heartbeats of all pairs due, every so often, and looks how far the pairs are behind. Pairs that did
// not start are tried again. The error is an ErrTopics.
func (w *worker) beats(ctx context.Context, now time.Time) error {
	if now.Before(w.beat) {
		return nil
	}
	w.beat = now.Add(beatEvery)
	if !now.Before(w.inspects) {
		w.inspects = now.Add(inspectEvery)
		if err := w.loop.cluster.check(ctx); errors.Is(err, ErrTopics) {
			return err
		}
	}
	var working []int32
	for id, p := range w.pairs {
		switch {
		case p.phase.works():
			working = append(working, id)
			p.out.heartbeat = true
			p.tick(w.loop.metrics, now)
			w.unmute(p)
		case p.phase == refused && !now.Before(p.again):
			w.begin(id, p.member)
		}
	}
	if w.joined && len(w.pairs) == 0 { // What it had to commit somebody else commits.
		w.failures = 0
		w.loop.status.getsOn(w.id)
	}
	w.fetchAgain()
	if len(working) > 0 {
		w.lags(ctx, working, now)
	}
	return nil
}

// lags looks how far pairs are behind: up to both ends of the inputs, as a transaction that hangs keeps all that is
// behind it from being read.
func (w *worker) lags(ctx context.Context, working []int32, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	for _, topic := range []string{w.loop.config.Topics.Outcomes, w.loop.config.Topics.Signals} {
		ends, err := w.loop.cluster.ends(ctx, topic, working, false)
		stables, also := w.loop.cluster.ends(ctx, topic, working, true)
		if err = cmp.Or(err, also); err != nil {
			w.log.Warn("lag not known", "err", err)
		}
		for _, id := range working {
			end, known := ends[id]
			stable, both := stables[id]
			if !known || !both {
				continue
			}
			p := w.pairs[id]
			if topic == p.signals.topic {
				w.watchOpen(p, &p.signals, stable, end, now)
				continue
			}
			w.watchOpen(p, &p.outcomes, stable, end, now)
			w.lag(p, end, stable, now)
		}
	}
}

// lag shows how far the outcomes of a pair are behind.
func (w *worker) lag(p *pair, end, stable int64, now time.Time) {
	p.high = end
	m, label := w.loop.metrics, strconv.Itoa(int(p.id))
	behind := max(end-p.outcomes.next, 0)
	seconds := 0.0
	if clock := p.core.Clock(); behind > 0 && !clock.IsZero() {
		seconds = max(now.Sub(clock), 0).Seconds()
	}
	m.lagRecords.WithLabelValues(label).Set(float64(behind))
	m.lagSeconds.WithLabelValues(label).Set(seconds)
	m.unstable.WithLabelValues(label).Set(float64(max(end-stable, 0)))
	m.unstableSeconds.WithLabelValues(label).Set(now.Sub(p.outcomes.open.since).Seconds())
}

// hungAfter is how long the last stable offset of an input may stand still below the high watermark before the holder
// of the open transaction is named.
const hungAfter = 30 * time.Second

// openEnd is the end of an input as transactions keep it from being read.
type openEnd struct {
	stable  int64     // The last stable offset, as last seen while it was below the end.
	since   time.Time // Since when it has stood there.
	said    time.Time // When that was last said; the zero time where it was not.
	problem string    // What was said.
}

// watchOpen names who holds an open transaction that keeps an input from being read.
func (w *worker) watchOpen(p *pair, f *feed, stable, end int64, now time.Time) {
	open := &f.open
	if stable >= end || stable != open.stable || open.since.IsZero() {
		said := open.problem != ""
		*open = openEnd{stable: stable, since: now}
		if said {
			w.loop.status.problemText(p.id, p.hung())
		}
		return
	}
	if now.Sub(open.since) < hungAfter || now.Sub(open.said) < hungAfter {
		return
	}
	what := "outcomes"
	if f == &p.signals {
		what = "signals"
	}
	open.said = now
	holder := w.loop.cluster.holder(f.topic, p.id)
	w.log.Warn(what+" cannot be read: a transaction is open", "partition", p.id, "from", stable, "to", end,
		"held by", holder)
	open.problem = fmt.Sprintf("%s from offset %d on cannot be read: an open transaction is held by %s",
		what, stable, holder)
	w.loop.status.problemText(p.id, p.hung())
}

// hung says which inputs cannot be read.
func (p *pair) hung() string {
	both := []string{p.outcomes.open.problem, p.signals.open.problem}
	return strings.Join(slices.DeleteFunc(both, func(s string) bool { return s == "" }), "; ")
}

// publishHeartbeat says how far a pair has come, where it is due.
func (w *worker) publishHeartbeat(ctx context.Context, p *pair) {
	if !p.out.heartbeat {
		return
	}
	now := w.loop.now().UTC().Truncate(time.Millisecond)
	if clock := p.core.Clock(); clock.After(now) {
		now = clock
	}
	p.high = max(p.high, p.outcomes.next)
	b := &w.publisher
	from := len(b.text)
	b.text = schemas.AppendHeartbeat(b.text, &schemas.Heartbeat{
		Partition: p.id, At: now, Watermark: p.high, Lag: p.high - p.outcomes.next, Instance: w.loop.config.Instance,
	})
	r := b.record(w.loop.config.Topics.State, p.id)
	r.Value = b.since(from)
	r.Key = b.keep(schemas.HeartbeatKeyPrefix + strconv.Itoa(int(p.id)))
	b.produce(ctx, w.client, r)
}
