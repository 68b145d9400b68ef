//go:build synctests

package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/oracle"
	"github.com/fusebox-project/fusebox/schemas"
)

// nearLimit is what a broker takes by default, and hardly more.
const nearLimit = 1_040_000

// produceLarge writes records as a producer does that is allowed more than this client is by default.
func (w *world) produceLarge(more []kgo.Opt, records ...*kgo.Record) {
	w.t.Helper()
	opts := append([]kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(96 << 20),
		kgo.BrokerMaxWriteBytes(100 << 20),
	}, more...)
	if err := w.Client(w.t, opts...).ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		w.t.Fatalf("produce %d large records: %v", len(records), err)
	}
}

// setLimit sets how large a batch of a topic may be.
func (w *world) setLimit(topic string, bytes int) {
	w.t.Helper()
	value := fmt.Sprint(bytes)
	change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &value}}
	if _, err := kadm.NewClient(w.Client(w.t)).AlterTopicConfigs(context.Background(), change, topic); err != nil {
		w.t.Fatalf("set max.message.bytes of %s: %v", topic, err)
	}
}

// abroad returns an outcome in a partition that is not its circuit's, with a source that tells it from the others.
func (w *world) abroad(circuit, source string) *kgo.Record {
	o := schemas.Outcome{Circuit: circuit, Kind: schemas.Accepted, Source: source, Count: 1}
	r := outcome(circuit, schemas.Accepted, "")
	r.Partition, r.Value = (w.home(circuit)+1)%w.partitions, schemas.AppendOutcome(nil, &o)
	return r
}

func (w *world) settled() {
	w.t.Helper()
	w.caughtUp()
	time.Sleep(time.Second) // What was forwarded last lies behind what was committed.
	w.caughtUp()
}

// TestTooLargeToForward puts records into foreign partitions that no producer of ours could write: with a key, with one
// header, and with very many headers, as large as a broker takes them. They are set aside, and all others go their way.
func TestTooLargeToForward(t *testing.T) {
	for name, grow := range map[string]func(*kgo.Record){
		"a large key": func(r *kgo.Record) { r.Key = make([]byte, nearLimit) },
		"a large header": func(r *kgo.Record) {
			r.Headers = []kgo.RecordHeader{{Key: "h", Value: make([]byte, nearLimit)}}
		},
		"many headers": func(r *kgo.Record) { r.Headers = make([]kgo.RecordHeader, nearLimit/2-1000) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(t *testing.T, w *world) {
				r := w.start(nil, nil)
				w.ready(r)
				const circuit = "case:route-0:v1"
				large := w.abroad(circuit, "large")
				grow(large)
				w.produceLarge([]kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression())},
					w.abroad(circuit, "m0"), large, w.abroad(circuit, "m1"))
				w.settled()
				letters := w.letters()
				if len(letters) != 1 || !strings.Contains(letters[0].Problem, "too large to forward") {
					t.Errorf("dead letters %+v, want the one that is too large", letters)
				}
				if strings.Contains(w.log.String(), "session begins anew") {
					t.Error("the session began anew")
				}
				tooLarge := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "too_large"))
				misrouted := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "misrouted"))
				if tooLarge != 1 || misrouted != 2 {
					t.Errorf("%v records too large and %v misrouted, want 1 and 2", tooLarge, misrouted)
				}
				w.end(r)
			})
		})
	}
}

// TestForwardRefusedAsTooLarge lets the topic's limit fall below records that lie in it: what the broker does not take
// again is set aside, and of what came with it each is counted once.
func TestForwardRefusedAsTooLarge(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		const circuit = "case:route-0:v1"
		var records []*kgo.Record
		for i := range 40 {
			records = append(records, w.abroad(circuit, fmt.Sprint("m", i)))
		}
		for i, at := range []int{10, 25} {
			large := w.abroad(circuit, fmt.Sprint("large", i))
			large.Headers = []kgo.RecordHeader{{Key: "h", Value: make([]byte, 8000)}}
			records = slices.Insert(records, at, large)
		}
		w.produceLarge(nil, records...)
		w.setLimit(topics.Outcomes, 4000)
		r := w.start(func(c *Config) {
			c.Client = append(c.Client, kgo.ProducerBatchCompression(kgo.NoCompression()))
		}, nil)
		w.ready(r)
		w.settled()
		letters := w.letters()
		if len(letters) != 2 || letters[0].Offset != 10 || letters[1].Offset != 25 {
			t.Errorf("dead letters %+v, want those of offsets 10 and 25", letters)
		}
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "too_large")); got != 2 {
			t.Errorf("records too large = %v, want 2", got)
		}
		if strings.Contains(w.log.String(), "session begins anew") {
			t.Error("the session began anew")
		}
		w.end(r)
	})
}

// TestLargeKeys gives records keys as large as a broker takes them: one that can be read is handled, as its value names
// the circuit, and the dead letter of one that cannot be read has the beginning of its key.
func TestLargeKeys(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(func(c *Config) { c.DeadLetterPayload = true }, nil)
		w.ready(r)
		good, bad := outcome("case:route-0:v1", schemas.Accepted, "x"), outcome("case:route-0:v1", "", "y")
		good.Key, bad.Key = make([]byte, nearLimit), make([]byte, nearLimit)
		bad.Headers = []kgo.RecordHeader{{Key: "h", Value: make([]byte, 5000)}}
		w.produceLarge(nil, good, bad)
		w.caughtUp()
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "handled")); got != 1 {
			t.Errorf("records handled = %v, want 1", got)
		}
		w.end(r)
		letters := w.ReadCommitted(t, topics.DeadLetters)
		if len(letters) != 1 || len(letters[0].Key) != schemas.MaxRecord {
			t.Fatalf("%d dead letters, want one with a key of %d bytes", len(letters), schemas.MaxRecord)
		}
		told := slices.ContainsFunc(letters[0].Headers, func(h kgo.RecordHeader) bool {
			return h.Key == deadLetterKeySize && string(h.Value) == fmt.Sprint(nearLimit)
		})
		if !told {
			t.Errorf("headers %v do not say that the key had %d bytes", letters[0].Headers, nearLimit)
		}
	})
}

// bomb writes one batch of three records that unpacks to more than a worker unpacks. It is packed with gzip: zstd's
// decoder has a finalizer that does not get along with virtual time.
func (w *world) bomb(topic string) {
	w.t.Helper()
	var records []*kgo.Record
	for range 3 {
		records = append(records, &kgo.Record{Topic: topic, Value: make([]byte, batchMaxBytes/3+1)})
	}
	w.produceLarge([]kgo.Opt{kgo.ProducerBatchCompression(kgo.GzipCompression())}, records...)
}

// checkBesideBombs is check where whole batches were set aside, each with one dead letter for all of its records.
func (w *world) checkBesideBombs() {
	w.t.Helper()
	l := w.published()
	isBomb := func(r *kgo.Record) bool { return len(r.Value) > batchMaxBytes/4 }
	l.Outcomes, l.Signals = slices.DeleteFunc(l.Outcomes, isBomb), slices.DeleteFunc(l.Signals, isBomb)
	l.DeadLetters = nil
	if _, err := oracle.Check(l); err != nil {
		w.t.Errorf("what was published is not what had to be:\n%v", err)
	}
}

// TestBomb ends a topic with a batch that is too large to be unpacked, before and after a restart: it is set aside once
// and passed, and what waits for the end of the topic goes on. Pitfall 14: it is bounded, named, and no loop.
func TestBomb(t *testing.T) {
	for _, topic := range []string{topics.Outcomes, topics.Signals} {
		t.Run(topic, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				r := w.start(nil, nil)
				w.ready(r)
				force := func(circuit string) {
					w.Produce(t, outcome(circuit, schemas.Accepted, "x"))
					time.Sleep(time.Second)
					w.Produce(t, signal(schemas.Signal{
						Type: schemas.Override, Circuit: circuit, Mode: schemas.ForceOpen,
						Actor: "me", Reason: "a test",
					}))
					w.await(circuit, func(st schemas.State) bool { return st.State == schemas.ForcedOpen })
				}
				w.bomb(topic)
				w.caughtUp()
				force("before")
				w.end(r)
				w.bomb(topic)
				r = w.start(nil, nil)
				w.ready(r)
				force("after")
				w.caughtUp()
				w.end(r)
				r = w.start(nil, nil)
				w.ready(r)
				force("later")
				w.end(r)
				w.checkBesideBombs()
				letters := w.letters()
				if len(letters) != 2 {
					t.Fatalf("%d dead letters, want one for each batch: %+v", len(letters), letters)
				}
				first := letters[0]
				if first.Topic != topic || first.Offset != 0 || !strings.Contains(first.Problem, "offsets 0 to 2 ") {
					t.Errorf("dead letter %+v, want topic %s, offset 0, and the last offset, 2", first, topic)
				}
			})
		})
	}
}

// TestBombBehindOutcomes lets a claim wait on the end of the outcomes where that is a batch that cannot be unpacked.
// Pitfall 14: it holds up no signal.
func TestBombBehindOutcomes(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		const circuit = "case:route:v1"
		for i := range 4 {
			w.Produce(t, outcome(circuit, schemas.MissingEvidence, fmt.Sprint(i)))
		}
		time.Sleep(time.Minute)
		w.bomb(topics.Outcomes)
		w.Produce(t, signal(schemas.Signal{Type: schemas.Claim, Circuit: circuit, Holder: "r", Lease: "L"}))
		r := w.start(nil, nil)
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.HalfOpen })
		w.caughtUp()
		w.end(r)
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "too_large")); got != 3 {
			t.Errorf("outcomes too large = %v, want 3", got)
		}
		w.checkBesideBombs()
	})
}

// TestCircuitTooLarge gives the changelog a limit that a circuit outgrows: its partition is refused, and names it. The
// other partition of the same worker goes on, and so does that one when the limit is raised and the process restarted.
func TestCircuitTooLarge(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		const fat, slim = "case:route-0:v1", "case:route-1:v1"
		if w.home(fat) == w.home(slim) {
			t.Fatal("the circuits share a partition")
		}
		w.setLimit(topics.Changelog, 3000)
		r := w.start(nil, nil)
		w.ready(r)
		for i := range 20 {
			o := schemas.Outcome{
				Circuit: fat, Kind: schemas.MissingEvidence, Count: 1, ID: fmt.Sprint(i),
				EvidenceRef: strings.Repeat("x", 500),
			}
			w.Produce(t, &kgo.Record{Topic: topics.Outcomes, Key: []byte(fat), Value: schemas.AppendOutcome(nil, &o)})
		}
		w.until("refused and named", func() bool {
			missing := fmt.Sprint(r.Ready().Missing)
			return strings.Contains(missing, "refused") && strings.Contains(missing, fat) &&
				strings.Contains(missing, topics.Changelog)
		})
		for i := range 4 {
			w.Produce(t, outcome(slim, schemas.MissingEvidence, fmt.Sprint(i)))
		}
		w.await(slim, func(st schemas.State) bool { return st.State == schemas.Open })
		if strings.Contains(w.log.String(), "session begins anew") {
			t.Error("the session began anew")
		}
		w.end(r)
		w.setLimit(topics.Changelog, ownMost)
		r = w.start(nil, nil)
		w.ready(r)
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

const manyKinds = 130

// fatText makes the value of a circuit large: forty rules, each with a window of its own and up to 128 cells of many
// kinds.
func fatText() string {
	var kinds, weights, rules []string
	for i := range manyKinds {
		kinds = append(kinds, fmt.Sprintf("k%03d", i))
		weights = append(weights, fmt.Sprintf("k%03d: 1", i))
	}
	for i := range 40 {
		rules = append(rules, fmt.Sprintf("  - {name: r%d, type: count, threshold: 1000000, window: %dh}\n", i, i+3))
	}
	return fmt.Sprintf("version: 1\nkinds: [%s]\npolicies:\n- name: p\n  match: [\"*\"]\n  kinds: {%s}\n  rules:\n%s",
		strings.Join(kinds, ", "), strings.Join(weights, ", "), strings.Join(rules, ""))
}

// TestLargeCircuit lets a circuit grow beyond what a topic takes by default, in topics with the settings they should
// have: it is committed, and comes back with its store and without.
func TestLargeCircuit(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.policies = policies(t, fatText())
		for _, topic := range []string{topics.State, topics.Transitions, topics.Changelog, topics.DeadLetters} {
			w.setLimit(topic, ownMost)
		}
		const circuit = "case:route-0:v1"
		var records []*kgo.Record
		for minute := range 125 {
			for kind := range manyKinds {
				o := schemas.Outcome{
					Circuit: circuit, Kind: fmt.Sprintf("k%03d", kind), Count: 1,
					Time: epoch.Add(time.Duration(minute-125) * time.Minute),
				}
				records = append(records, &kgo.Record{
					Topic: topics.Outcomes, Key: []byte(circuit), Value: schemas.AppendOutcome(nil, &o),
				})
			}
		}
		r := w.start(nil, nil)
		w.ready(r)
		w.Produce(t, records...)
		w.caughtUp()
		w.end(r)
		largest := 0
		for _, record := range w.ReadCommitted(t, topics.Changelog) {
			largest = max(largest, len(record.Value))
		}
		if largest <= 1<<20 {
			t.Fatalf("the largest value has %d bytes: the test tests nothing", largest)
		}
		for _, dir := range []string{w.dir, t.TempDir()} {
			w.dir = dir
			r = w.start(nil, nil)
			w.ready(r)
			w.Produce(t, outcome(circuit, schemas.Accepted, ""))
			w.caughtUp()
			if known := r.known.Load(); known != 1 || !r.Ready().Ready {
				t.Errorf("%d circuits known, %+v; want 1 and ready", known, r.Ready())
			}
			w.end(r)
		}
	})
}
