package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/offsets"
	"github.com/fusebox-project/fusebox/schemas"
)

// tripOutcomes is how many failures trip a circuit that is new: the minimum throughput of the built-in policy.
const tripOutcomes = 20

// lastTrips is how long the last trips may take to be seen.
const lastTrips = 10 * time.Second

// trip is one circuit that was made to trip: when its last outcome was sent, when the brokers had it, and when a reader
// held the state.
type trip struct{ sent, acked, seen time.Time }

// tripLedger holds the trips by circuit.
type tripLedger struct {
	mu    sync.Mutex
	trips map[string]*trip
	seen  int
}

func (l *tripLedger) sent(circuit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trips[circuit] = &trip{sent: time.Now()}
}

func (l *tripLedger) acked(circuit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trips[circuit].acked = time.Now()
}

// saw takes note of a state record. It tells nothing of circuits that were not made to trip.
func (l *tripLedger) saw(r *kgo.Record, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.trips[string(r.Key)]
	if t == nil || !t.seen.IsZero() {
		return
	}
	if st, err := schemas.DecodeState(r.Value); err == nil && st.State == schemas.Open {
		t.seen = at
		l.seen++
	}
}

// missing returns how many trips nobody has seen yet.
func (l *tripLedger) missing() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.trips) - l.seen
}

// trips times trips under a steady load.
func (b *bench) trips(ctx context.Context, load *benchLoad, waits *brokerWaits) (*trips, error) {
	l := &tripLedger{trips: make(map[string]*trip)}
	reader, err := b.reader(ctx)
	if err != nil {
		return nil, err
	}
	reading, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer reader.Close()
	defer wg.Wait()
	defer end()
	wg.Go(func() {
		for reading.Err() == nil {
			fetches := reader.PollFetches(reading)
			at := time.Now()
			fetches.EachRecord(func(r *kgo.Record) { l.saw(r, at) })
		}
	})
	load.waits.begin()
	waits.begin()
	rate, err := b.pace(ctx, load, l)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(lastTrips); l.missing() > 0 && time.Now().Before(until) && ctx.Err() == nil; {
		pause(ctx, 20*time.Millisecond)
	}
	if n := l.missing(); n > 0 {
		return nil, fmt.Errorf("%d of %s not seen within %v", n, count(len(l.trips), "trip was", "trips were"),
			lastTrips)
	}
	return l.report(rate, load, waits), ctx.Err()
}

// reader returns a reader of the state topic from its ends of now on, as a router is one.
func (b *bench) reader(ctx context.Context) (*kgo.Client, error) {
	topic := b.site.topics.State
	ends, err := offsets.Ends(ctx, b.site.admin, topic)
	if err != nil {
		return nil, err
	}
	from := map[int32]kgo.Offset{}
	for partition, end := range ends {
		from[partition] = kgo.NewOffset().At(end)
	}
	return b.config.dial(ctx, nil, kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
}

// pace sends good outcomes at the rate, and failures of new circuits in between, not in step with anybody's commits. It
// returns the rate that came of it.
func (b *bench) pace(ctx context.Context, load *benchLoad, l *tripLedger) (float64, error) {
	bar := b.bar("timing trips", int(b.length.Seconds()))
	began, next := time.Now(), b.every
	sent, before := 0, load.written
	for elapsed := time.Duration(0); elapsed < b.length; elapsed = time.Since(began) {
		for due := int(elapsed.Seconds() * float64(b.rate)); sent < due; sent++ {
			load.send(ctx, route(rand.IntN(b.circuits)), schemas.Accepted, nil)
		}
		if elapsed > next {
			next += b.every/2 + rand.N(b.every)
			b.makeTrip(ctx, load, l)
		}
		_ = bar.Set(int(elapsed.Seconds()))
		pause(ctx, time.Millisecond)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	if err := bar.Finish(); err != nil {
		return 0, err
	}
	rate := float64(load.written-before) / time.Since(began).Seconds()
	return rate, load.flush(ctx)
}

// makeTrip makes a circuit that is new trip.
func (b *bench) makeTrip(ctx context.Context, load *benchLoad, l *tripLedger) {
	circuit := fmt.Sprintf("bench:trip-%d:v1", load.written)
	for range tripOutcomes - 1 {
		load.send(ctx, circuit, schemas.TransportFailure, nil)
	}
	l.sent(circuit)
	load.send(ctx, circuit, schemas.TransportFailure, func() { l.acked(circuit) })
}
