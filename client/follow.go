package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/offsets"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	pollPatience = 250 * time.Millisecond // How long a gate that catches up waits for records before it looks why.
	askAgain     = 500 * time.Millisecond // After a question that was not answered.
	calm         = 5 * time.Second        // Without trouble, for all to be well again.
	rest         = 100 * time.Millisecond // After a fetch that failed.
)

// follower reads the state topic into what the gate knows.
type follower struct {
	gate  *Gate
	topic string

	// coming is what is read. It takes the place of what the gate knows once it has caught up, so that a topic that was
	// made anew, which is read from its start, takes nothing from calls meanwhile.
	coming  *table
	ends    map[int32]int64  // What there is to catch up with, by partition. A partition leaves it when it is reached.
	next    map[int32]int64  // The offset behind what was read.
	beats   map[int32][]byte // The newest heartbeat while it catches up: of a week of them it wants one.
	told    bool             // The log tells of trouble.
	wrong   time.Time        // When there was trouble last.
	caughUp bool
}

func newFollower(g *Gate) *follower {
	return &follower{gate: g, topic: g.config.Topics.State, coming: g.known.Load()}
}

// run follows the topic until the context ends.
func (f *follower) run(ctx context.Context) {
	for f.begin(ctx); ctx.Err() == nil; {
		fetches := f.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		f.heedErrors(ctx, fetches)
		now := time.Now()
		for r := range fetches.RecordsAll() {
			f.next[r.Partition] = r.Offset + 1
			if !r.Attrs.IsControl() {
				f.take(r, now)
			}
		}
		if !f.caughUp {
			f.reached()
		}
	}
}

// begin asks where the topic ends, again and again until it is told.
func (f *follower) begin(ctx context.Context) {
	f.gate.counts.waitFor("no broker has said so far where %s ends", f.topic)
	f.caughUp, f.ends = false, nil
	f.next, f.beats = map[int32]int64{}, map[int32][]byte{}
	for ctx.Err() == nil {
		err := f.findEnds(ctx)
		if err == nil {
			return
		}
		f.trouble(err)
		if hopeless(err) {
			select {
			case f.gate.failed <- err: // Whoever waits need not.
			default:
			}
		}
		pause(ctx, askAgain)
	}
}

// findEnds notes what there is to catch up with. It goes by the high watermarks: what is behind them may be hidden by
// an open transaction for a while, and newer than all that is seen.
func (f *follower) findEnds(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	admin := kadm.NewClient(f.gate.kafka)
	starts, err := offsets.Starts(ctx, admin, f.topic)
	if err != nil {
		return f.explain(err)
	}
	ends, err := offsets.Ends(ctx, admin, f.topic)
	if err != nil {
		return f.explain(err)
	}
	for id := range ends {
		f.coming.partition(id)
		f.next[id] = starts[id]
	}
	f.ends = ends
	return nil
}

// explain says what to do about a topic that is not there.
func (f *follower) explain(err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("%w: create the topics with `fusebox topics create`, or name them in Topics or Prefix", err)
	}
	return err
}

// poll waits for records: while it catches up no longer than it takes to look why none come.
func (f *follower) poll(ctx context.Context) kgo.Fetches {
	if f.caughUp {
		return f.gate.kafka.PollFetches(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, pollPatience)
	defer cancel()
	return f.gate.kafka.PollFetches(ctx)
}

// heedErrors tells of trouble once. The client goes on by itself after most of it; a topic that was made anew has to
// be named to it anew.
func (f *follower) heedErrors(ctx context.Context, fetches kgo.Fetches) {
	anew, wrong := false, false
	fetches.EachError(func(_ string, partition int32, err error) {
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
		wrong, anew = true, anew || errors.Is(err, kerr.UnknownTopicID)
		f.trouble(f.explain(fmt.Errorf("read %s, partition %d: %w", f.topic, partition, err)))
	})
	switch {
	case anew:
		f.anew(ctx)
	case wrong:
		pause(ctx, rest) // The client asks again as fast as it is polled.
	}
	if fetches.NumRecords() > 0 {
		f.well()
	}
}

// anew begins with a topic that was made anew under its name.
func (f *follower) anew(ctx context.Context) {
	client := f.gate.kafka
	client.PurgeTopicsFromConsuming(f.topic)
	pause(ctx, askAgain)
	client.AddConsumeTopics(f.topic)
	f.coming = newTable(time.Now())
	f.begin(ctx)
}

// trouble tells of an error once, until all is well again.
func (f *follower) trouble(err error) {
	f.gate.counts.waitFor("%v", err)
	f.gate.counts.trouble.Store(&err)
	level := slog.LevelWarn
	if f.told {
		level = slog.LevelDebug
	}
	f.told, f.wrong = true, time.Now()
	then := "what is known stays"
	if !f.gate.isReady() {
		then = "the gate waits for them"
	}
	f.gate.config.Log.Log(context.Background(), level, "the states of the circuits cannot be read; "+then, "err", err)
}

// well tells that trouble is over: records come, and there was none for a while.
func (f *follower) well() {
	if f.told && time.Since(f.wrong) > calm {
		f.told = false
		f.gate.counts.trouble.Store(nil)
		f.gate.config.Log.Info("the states of the circuits can be read again", "topic", f.topic)
	}
}

// reached notes which partitions have been read to their ends, and whether that are all. The last offset before an end
// always shows: the client hands out markers of transactions too, and no log is compacted that far.
func (f *follower) reached() {
	for id, end := range f.ends {
		if f.next[id] >= end {
			delete(f.ends, id)
			continue
		}
		f.gate.counts.waitFor("%s, partition %d, is read up to offset %d of %d", f.topic, id, f.next[id], end)
	}
	if len(f.ends) > 0 || f.ends == nil {
		return
	}
	for id, value := range f.beats {
		f.beat(id, value, time.Now(), false)
	}
	f.caughUp, f.beats = true, nil
	f.gate.counts.trouble.Store(nil)
	f.gate.catchUp(f.coming)
}

// catchUp lets the gate go by what was read.
func (g *Gate) catchUp(t *table) {
	g.known.Store(t)
	if !g.isReady() {
		g.config.Log.Info("the gate knows the circuits", "circuits", t.circuits.size(), "topic", g.config.Topics.State)
		g.careful.Store(g.config.OnSilence != Keep) // Before anybody who waits goes on.
		close(g.ready)
	}
	g.heed()
}

// take takes one record in.
func (f *follower) take(r *kgo.Record, now time.Time) {
	f.gate.counts.records.Add(1)
	switch {
	case len(r.Key) == 0:
	case string(r.Key) == schemas.PoliciesKey:
		f.policies(r.Value)
	case bytes.HasPrefix(r.Key, []byte(schemas.HeartbeatKeyPrefix)):
		if f.caughUp {
			f.beat(r.Partition, r.Value, now, true)
			return
		}
		f.beats[r.Partition] = append(f.beats[r.Partition][:0], r.Value...)
	case r.Key[0] == 0: // Of a later version.
	case r.Value == nil:
		f.each(func(t *table) { f.gate.forget(t, string(r.Key), now) })
	default:
		f.state(r, now)
	}
}

// each calls for what is read and, where that is another, for what calls go by meanwhile.
func (f *follower) each(do func(*table)) {
	do(f.coming)
	if known := f.gate.known.Load(); known != f.coming {
		do(known)
	}
}

// state takes the state of a circuit in. One that cannot be read is of a version that this one does not know.
func (f *follower) state(r *kgo.Record, now time.Time) {
	s, err := schemas.DecodeState(r.Value)
	if err != nil {
		f.unreadable(err)
		return
	}
	compact(&s)
	f.each(func(t *table) { f.gate.put(t, &s, t.partition(r.Partition), now) })
}

// put takes a record in and wakes who waits for it.
func (g *Gate) put(t *table, state *schemas.State, home *partition, now time.Time) {
	s := t.put(state, home)
	if s == nil {
		return
	}
	p := s.prober.Load()
	if p == nil && (state.State == schemas.Open || state.State == schemas.HalfOpen) {
		p = g.prober(state.Circuit, s)
	}
	if p != nil {
		p.arrived(state, now)
	}
	if t == g.known.Load() && g.isReady() {
		g.watchers.tell(*state)
	}
}

// forget takes a tombstone in and wakes who waits.
func (g *Gate) forget(t *table, circuit string, now time.Time) {
	if s := t.forget(circuit); s != nil {
		if p := s.prober.Load(); p != nil {
			p.arrived(&schemas.State{}, now)
		}
	}
}

// beat takes a heartbeat in. By its own time, where it may have lain there for long; else it has come just now.
func (f *follower) beat(id int32, value []byte, now time.Time, live bool) {
	h, err := schemas.DecodeHeartbeat(value)
	if err != nil {
		f.unreadable(err)
		return
	}
	heard := now
	if !live {
		heard = now.Add(-max(now.Sub(h.At), 0))
	}
	f.each(func(t *table) {
		p := t.partition(id)
		p.heard.Store(int64(heard.Sub(t.began)))
		p.beat.Store(h.At.UnixMilli())
	})
}

// policies takes the policies in force in.
func (f *follower) policies(value []byte) {
	p, err := schemas.DecodePolicies(value)
	if err != nil {
		f.unreadable(err)
		return
	}
	if f.gate.config.Policies == nil {
		routes := append([]schemas.Route{}, p.Routes...)
		f.gate.routes.Store(&routes)
	}
	read, err := breaker.Read("policies in force", []byte(p.Text))
	if err != nil {
		f.unreadable(err)
	}
	f.gate.reporter.learn(read)
}

// unreadable counts a record, and tells of the first.
func (f *follower) unreadable(err error) {
	if f.gate.counts.unreadable.Add(1) == 1 {
		f.gate.config.Log.Warn("a record of the states cannot be read, and is passed over; later ones are counted",
			"topic", f.topic, "err", err)
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
