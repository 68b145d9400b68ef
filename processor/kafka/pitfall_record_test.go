//go:build synctests

package kafka

import (
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// The rows of the table of known traps that concern single records, each by its number.

// TestPitfall13Partitioners sends outcomes of one circuit as three families of clients would, each to another
// partition: they are counted together.
func TestPitfall13Partitioners(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		circuit, places := w.farApart()
		for i := range 4 {
			record := outcome(circuit, schemas.MissingEvidence, fmt.Sprint(i))
			record.Partition = places[i%3]
			w.ProduceTo(t, record)
		}
		st := w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open })
		if st.Cause.Throughput != 4 {
			t.Errorf("it opened at %d outcomes, want all four", st.Cause.Throughput)
		}
		w.settled()
		w.end(r)
		w.check()
	})
}

// farApart returns a circuit that murmur2, CRC32 and FNV-1a put into three partitions, and those.
func (w *world) farApart() (circuit string, places []int32) {
	for i := 0; ; i++ {
		key := fmt.Appendf(nil, "case:route-%d:v1", i)
		f := fnv.New32a()
		_, _ = f.Write(key) // It never fails.
		n := uint32(w.partitions)
		places = []int32{w.home(string(key)), int32(crc32.ChecksumIEEE(key) % n), int32(f.Sum32() % n)}
		if places[0] != places[1] && places[0] != places[2] && places[1] != places[2] {
			return string(key), places
		}
	}
}

// TestPitfall13ForwardsHoldUpNobody ends a process between its forwards and the end of the transaction that covers
// them: what it forwarded can be read at once.
func TestPitfall13ForwardsHoldUpNobody(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		forwards := false
		r := w.start(nil, func(l *Loop) {
			l.crash = func(point string) error {
				forwards = forwards || point == "after forwards"
				if forwards && point == "before end" {
					return errCrash
				}
				return nil
			}
		})
		w.ready(r)
		w.misrouted(0, 10)
		w.crashes(r)
		admin := kadm.NewClient(w.Client(t))
		ends, err := admin.ListEndOffsets(t.Context(), topics.Outcomes)
		if err != nil {
			t.Fatalf("ListEndOffsets: %v", err)
		}
		stable, err := admin.ListCommittedOffsets(t.Context(), topics.Outcomes)
		if err != nil {
			t.Fatalf("ListCommittedOffsets: %v", err)
		}
		total := int64(0)
		ends.Each(func(end kadm.ListedOffset) {
			total += end.Offset
			if at, _ := stable.Lookup(end.Topic, end.Partition); at.Offset != end.Offset {
				t.Errorf("partition %d can be read up to %d of %d", end.Partition, at.Offset, end.Offset)
			}
		})
		if total <= 10 {
			t.Errorf("%d outcomes after ten were written, want forwards beside them", total)
		}
	})
}

// TestPitfall14PoisonInABatch puts records that cannot be read first, last, in the midst of a batch and alone, into
// both inputs: each ends as a dead letter with its place, and all others are handled.
func TestPitfall14PoisonInABatch(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		good := func() *kgo.Record { return outcome("case:route-0:v1", schemas.MissingEvidence, "") }
		claim := func() *kgo.Record {
			return signal(schemas.Signal{Type: schemas.Claim, Circuit: "case:route-0:v1", Holder: "h", Lease: "L"})
		}
		poisoned := map[string][]int64{}
		next := map[string]int64{}
		for _, pattern := range []string{"x", "xg", "gx", "gxg", "xx", "gg", "x"} {
			for topic, other := range map[string]func() *kgo.Record{topics.Outcomes: good, topics.Signals: claim} {
				var batch []*kgo.Record
				for _, c := range pattern {
					record := other()
					if c == 'x' {
						record.Value = []byte("not JSON")
						poisoned[topic] = append(poisoned[topic], next[topic])
					}
					batch = append(batch, record)
					next[topic]++
				}
				w.Produce(t, batch...)
			}
			time.Sleep(time.Second)
		}
		w.caughtUp()
		w.end(r)
		w.check()
		letters := map[string][]int64{}
		for _, l := range w.letters() {
			letters[l.Topic] = append(letters[l.Topic], l.Offset)
		}
		for topic, want := range poisoned {
			handled := value(t, r.metrics.records.WithLabelValues(topic, "handled"))
			if !slices.Equal(letters[topic], want) || handled != float64(next[topic])-float64(len(want)) {
				t.Errorf("%s: dead letters of offsets %v and %v handled, want letters of %v and %d handled",
					topic, letters[topic], handled, want, next[topic]-int64(len(want)))
			}
		}
	})
}

// brokenText has a policy that breakPolicy makes unfit to judge by.
const brokenText = `version: 1
defaults: {window: 1m, minimum_throughput: 4, break: {duration: 30s, jitter: 0}}
policies:
- {name: broken, match: ["broken:*"], rules: [{name: at-once, type: immediate, kinds: [contradictory_evidence]}]}
- {name: quick, match: ["*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}
`

// breakPolicy gives a rule a type that needs a window, which it has none of. No reader of policies lets that pass: the
// core panics in the middle of a record, after it has taken the circuit into the overlay and noted the id.
func breakPolicy(p *breaker.Policies) { p.All()[0].Rules[0].Type = breaker.Count }

// TestPitfall14PanicInTheCore lets one record among others make the core panic: it ends as a dead letter with its
// place, nothing of it is left, and all others are handled once, before a restart and after it.
func TestPitfall14PanicInTheCore(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		const fragile, sound = "broken:route:v1", "case:route:v1"
		w.policies = policies(t, brokenText)
		breakPolicy(w.policies)
		r := w.start(nil, nil)
		w.ready(r)
		w.Produce(t,
			outcome(sound, schemas.MissingEvidence, "0"), outcome(fragile, schemas.Cancelled, "1"),
			outcome(sound, schemas.MissingEvidence, "2"), outcome(fragile, schemas.ContradictoryEvidence, "3"),
			outcome(sound, schemas.MissingEvidence, "4"), outcome(fragile, schemas.Cancelled, "3"),
			outcome(sound, schemas.MissingEvidence, "5"),
		)
		st := w.await(sound, func(st schemas.State) bool { return st.State == schemas.Open })
		if st.Cause.Throughput != 4 {
			t.Errorf("it opened at %d outcomes, want each of the four once", st.Cause.Throughput)
		}
		w.caughtUp()
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "handled")); got != 6 {
			t.Errorf("%v outcomes handled, want all but one of seven", got)
		}
		neutral := r.metrics.outcomes.WithLabelValues(fragile, schemas.Cancelled, processor.IsNeutral.String())
		if got := value(t, neutral); got != 2 {
			t.Errorf("%v outcomes are neutral, want both: one has the id of the record that is set aside", got)
		}
		w.end(r)
		r = w.start(nil, nil)
		w.ready(r)
		w.caughtUp()
		w.end(r)
		letters := w.letters()
		if len(letters) != 1 || letters[0].Topic != topics.Outcomes || letters[0].Offset != 3 ||
			!strings.Contains(letters[0].Problem, "panic while it was handled") {
			t.Errorf("dead letters %+v, want the one of offset 3", letters)
		}
	})
}

// TestPitfall14PanicInADecoder lets the decoder panic at one record of each input.
func TestPitfall14PanicInADecoder(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		reads := 0
		r := w.start(nil, func(l *Loop) {
			l.crash = func(point string) error {
				if point != "read" {
					return nil
				}
				if reads++; reads == 3 || reads == 6 {
					panic("out of order")
				}
				return nil
			}
		})
		w.ready(r)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		w.end(r)
		letters := w.letters()
		if len(letters) != 2 || letters[0].Topic != topics.Outcomes || letters[0].Offset != 2 ||
			letters[1].Topic != topics.Signals || letters[1].Offset != 0 {
			t.Fatalf("dead letters %+v, want offset 2 of the outcomes and 0 of the signals", letters)
		}
		for _, l := range letters {
			if !strings.Contains(l.Problem, "panic while it was read: out of order") {
				t.Errorf("dead letter %+v does not tell the panic", l)
			}
		}
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "handled")); got != 4 {
			t.Errorf("%v outcomes handled, want the other four", got)
		}
	})
}

// TestPitfall14TopicDeletedInATransaction deletes a topic while a transaction is open, before records are written to it
// and after: the process stops within a minute and says which topic is gone.
func TestPitfall14TopicDeletedInATransaction(t *testing.T) {
	for _, point := range []string{"before begin", "before end"} {
		for _, topic := range []string{topics.Transitions, topics.Changelog} {
			t.Run(point+" "+topic, func(t *testing.T) {
				inWorld(t, 1, func(t *testing.T, w *world) {
					var once sync.Once
					var armed atomic.Bool
					r := w.start(nil, func(l *Loop) {
						l.crash = func(at string) error {
							if at == point && armed.Load() {
								once.Do(func() { w.deleteTopic(topic) })
							}
							return nil
						}
					})
					w.ready(r)
					armed.Store(true)
					w.Produce(t, outcome("case:new:v1", schemas.Accepted, "x"))
					began := time.Now()
					if err := w.wait(r); !errors.Is(err, ErrTopics) || !strings.Contains(fmt.Sprint(err), topic) {
						t.Errorf("Run = %v, want ErrTopics that names %s", err, topic)
					}
					if took := time.Since(began); took > time.Minute {
						t.Errorf("it took %v to stop", took)
					}
				})
			})
		}
	}
}

func (w *world) deleteTopic(topic string) {
	w.t.Helper()
	gone, err := kadm.NewClient(w.Client(w.t)).DeleteTopics(w.t.Context(), topic)
	if err == nil {
		err = gone.Error()
	}
	if err != nil {
		w.t.Errorf("DeleteTopics(%s): %v", topic, err)
	}
}
