package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

// load writes outcomes and signals of some fifty circuits until it is ended: by franz-go, which partitions as Java
// does, also in transactions that do not all commit, and by kcat, which partitions otherwise.
type load struct {
	*ledger
	f      *installation
	topics kafka.Topics
	rng    *rand.Rand
	pace   time.Duration // From one batch to the next.
	client *kgo.Client
	hasty  *kgo.Client      // Writes a quarter of it, where there is one, and gives up early.
	kcats  map[string]*kcat // By topic.

	last    []line  // The newest outcomes, for repeating them.
	claimed []lease // The newest claims, for results on them.
	number  int

	transactions chan transaction
	stop         context.CancelFunc
	running      sync.WaitGroup
}

// line is a record to be written.
type line struct{ topic, key, value, id string }

type lease struct{ circuit, id string }

func newLoad(f *installation, rng *rand.Rand) *load {
	return &load{
		ledger: newLedger(), f: f, topics: f.topics, rng: rng, pace: 50 * time.Millisecond,
		client: f.Client(f.t), kcats: map[string]*kcat{}, transactions: make(chan transaction),
	}
}

// begin starts the load, which goes on until end, or the end of the test.
func (l *load) begin() {
	l.f.t.Helper()
	ctx, stop := context.WithCancel(l.f.t.Context())
	l.stop = stop
	for _, topic := range []string{l.topics.Outcomes, l.topics.Signals} {
		l.kcats[topic] = startKcat(l.f.t, l.f.Seeds, topic)
	}
	l.running.Go(func() { l.run(ctx) })
	l.running.Go(l.runTransactions)
	l.f.t.Cleanup(func() {
		stop()
		l.running.Wait()
	})
}

// run writes a batch every so often.
func (l *load) run(ctx context.Context) {
	defer close(l.transactions)
	tick := time.NewTicker(l.pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		for range 16 {
			l.write(l.outcome())
		}
		for range 8 {
			l.writeByKcat(l.outcome())
		}
		l.write(l.signal())
		if l.rng.IntN(2) == 0 {
			l.writeByKcat(l.signal())
		}
		if l.rng.IntN(6) == 0 {
			l.writeAtomically()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// end stops the load and waits until what becomes of all of it is known.
func (l *load) end() {
	t := l.f.t
	t.Helper()
	l.stop()
	l.running.Wait()
	for _, client := range []*kgo.Client{l.client, l.hasty} {
		if client == nil {
			continue
		}
		if err := client.Flush(t.Context()); err != nil {
			t.Fatalf("flush: %v", err)
		}
	}
	for topic, c := range l.kcats {
		err := c.end()
		if err != nil {
			err = fmt.Errorf("kcat to %s: %w", topic, err)
		}
		for _, id := range c.ids {
			l.settle(id, err)
		}
	}
}

func (l *load) write(n line) {
	l.note(n.id)
	client := l.client
	if l.hasty != nil && l.rng.IntN(4) == 0 {
		client = l.hasty
	}
	client.Produce(context.Background(), n.record(), func(_ *kgo.Record, err error) { l.settle(n.id, err) })
}

func (l *load) writeByKcat(n line) {
	l.note(n.id)
	l.kcats[n.topic].write(n)
}

func (n line) record() *kgo.Record {
	r := &kgo.Record{Topic: n.topic, Value: []byte(n.value)}
	if n.key != "" {
		r.Key = []byte(n.key)
	}
	return r
}

// more returns plain outcomes for what comes after the load.
func (l *load) more(count int) []*kgo.Record {
	records := make([]*kgo.Record, count)
	for i := range records {
		o := l.plain(l.circuit())
		n := l.line(o)
		l.note(n.id)
		l.settle(n.id, nil) // Whoever writes them fails the test where it cannot.
		records[i] = n.record()
	}
	return records
}

// circuit is one of fifty.
func (l *load) circuit() string {
	return fmt.Sprintf("case:route-%02d:v1", l.rng.IntN(46))
}

// brief is a circuit that is soon forgotten.
func (l *load) brief() string { return fmt.Sprintf("brief:route-%d:v1", l.rng.IntN(4)) }

// plain is an outcome without anything odd. A route is bad for two seconds of five, each at its own time.
func (l *load) plain(circuit string) *schemas.Outcome {
	l.number++
	o := &schemas.Outcome{
		ID: fmt.Sprint("o-", l.number), Circuit: circuit, Kind: schemas.Accepted, Count: 1,
		LatencyMS: int64(l.rng.IntN(200)), CostMicros: int64(l.rng.IntN(20_000)), OutputTokens: 10, Stage: "model",
	}
	phase := (time.Now().UnixMilli() + 700*int64(circuit[len(circuit)-4])) % 5000
	if bad := phase < 2000; bad && l.rng.IntN(10) < 8 || l.rng.IntN(20) == 0 {
		kinds := []string{
			"transport_failure", "invalid_contract", "business_rule_failure", "missing_evidence",
			"contradictory_evidence", "tool_misuse",
		}
		o.Kind, o.ReasonCode = kinds[l.rng.IntN(len(kinds))], "seen"
	}
	return o
}

func (l *load) line(o *schemas.Outcome) line {
	return line{l.topics.Outcomes, o.Circuit, string(schemas.AppendOutcome(nil, o)), o.ID}
}

// outcome is the next outcome to write: mostly a plain one, else one of all that may come.
func (l *load) outcome() line {
	o := l.plain(l.circuit())
	now := time.Now().UTC().Truncate(time.Millisecond)
	switch l.rng.IntN(40) {
	case 0:
		if len(l.last) > 0 {
			return l.last[l.rng.IntN(len(l.last))]
		}
	case 1:
		o.Kind = []string{"cancelled", "evaluator_error", "policy_rejection", "never_heard_of"}[l.rng.IntN(4)]
	case 2:
		o.Time = now.Add(-time.Hour)
	case 3:
		o.Epoch, o.HasEpoch = int64(l.rng.IntN(6)), true
	case 4:
		o.Time = now.Add(-time.Duration(l.rng.IntN(1000)) * time.Millisecond)
	case 5:
		o.LatencyMS, o.RetryAfterMS = 3000, 900
	case 6:
		o.Count, o.Evaluator.Type = 3, schemas.LLM
	case 7:
		o.Severity = schemas.Critical
	case 8:
		return l.unreadable()
	case 9:
		if l.number/100%5 == 0 { // In bursts, between which their lives end.
			o.Circuit = l.brief()
		}
	case 10:
		n := l.line(o)
		n.key = []string{"", "another-key"}[l.rng.IntN(2)]
		return n
	case 11, 12, 13:
		if len(l.claimed) > 0 {
			claimed := l.claimed[0]
			l.claimed = l.claimed[1:]
			o.Circuit, o.Lease = claimed.circuit, claimed.id
		}
	}
	n := l.line(o)
	if l.last = append(l.last, n); len(l.last) > 50 {
		l.last = l.last[1:]
	}
	return n
}

// unreadable is a record for the dead letters.
func (l *load) unreadable() line {
	values := []string{
		"not json", `{"kind":"accepted"`, `{"circuit":"a:b:c"}`, `{"circuit":"a:b:c","kind":"accepted","count":0}`,
		`{"circuit":"a:b:c","kind":"accepted","time":"yesterday"}`,
		`{"circuit":"a:b:c","kind":"accepted","latency_ms":-1}`,
		`{"circuit":"a:b:c","kind":"accepted","reason":"` + strings.Repeat("x", schemas.MaxRecord) + `"}`,
	}
	return line{topic: l.topics.Outcomes, key: "k", value: values[l.rng.IntN(len(values))]}
}

// signal is the next signal to write.
func (l *load) signal() line {
	l.number++
	s := schemas.Signal{
		Type: schemas.Claim, Circuit: l.circuit(), Holder: "router-1", Lease: fmt.Sprint("lease-", l.number),
	}
	switch pick := l.rng.IntN(20); {
	case pick == 0:
		return line{topic: l.topics.Signals, key: s.Circuit, value: `{"type":"claim","holder":7}`}
	case pick == 1 && len(l.claimed) > 0:
		s.Circuit, s.Lease, s.Holder = l.claimed[0].circuit, l.claimed[0].id, "router-2"
	case pick == 2 && len(l.claimed) > 0:
		s = schemas.Signal{Type: schemas.Release, Circuit: l.claimed[0].circuit, Lease: l.claimed[0].id,
			Unused: l.rng.IntN(2) == 0}
	case pick < 5:
		modes := []schemas.Mode{
			schemas.ForceOpen, schemas.ForceClosed, schemas.Disable, schemas.Reset, schemas.Clear,
		}
		s = schemas.Signal{Type: schemas.Override, Circuit: s.Circuit, Mode: modes[l.rng.IntN(len(modes))],
			Actor: "an operator", Reason: "a test"}
		if s.Mode <= schemas.Disable {
			s.TTL = time.Duration(500+l.rng.IntN(1000)) * time.Millisecond
		}
	case pick == 5:
		s.Circuit = l.brief()
	default:
		if l.claimed = append(l.claimed, lease{s.Circuit, s.Lease}); len(l.claimed) > 20 {
			l.claimed = l.claimed[1:]
		}
	}
	return line{topic: l.topics.Signals, key: s.Circuit, value: string(schemas.AppendSignal(nil, &s))}
}
