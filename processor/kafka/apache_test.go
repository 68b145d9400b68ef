package kafka

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestApacheKafka ends a processor at each point of a transaction and starts it again, on Apache Kafka itself: static
// members, append times of the broker, transactions as it runs them. A second processor comes and goes meanwhile.
// Pitfall 22: append times and replication are the broker's own.
func TestApacheKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	w := newWorld(t, kafkatest.Start(t).Endpoint, 4)
	two := func(c *Config) { c.Workers = 2 }
	round := 0
	produce := func(rounds int) {
		for range rounds {
			w.produceAll(round, 9, waves)
			round++
		}
	}
	for i, point := range []string{"ahead", "before begin", "before end", "before store"} {
		r := w.start(func(c *Config) { two(c); seldom(c) }, crashAt(point, 1+i))
		for began := time.Now(); len(r.ended) == 0 && time.Since(began) < time.Minute; { // A join round may put it off.
			produce(1)
		}
		w.crashes(r)
	}
	w.dir = t.TempDir()
	w.crashes(w.start(two, crashAt("restore of 0", 1)))
	began := time.Now()
	first := w.start(two, nil)
	w.ready(first)
	t.Logf("ready %v after the start", time.Since(began).Round(time.Millisecond))
	second := w.start(func(c *Config) { c.Instance, c.DataDir = "b", t.TempDir() }, nil)
	produce(4)
	w.ready(second)
	w.misrouted(0, 50)
	produce(2)
	w.end(second)
	produce(2)
	w.caughtUp()
	w.ready(first)
	w.end(first)
	w.staysOpen(two)
	w.check()
	w.repairs(two)
	t.Logf("transactions: %s", fmt.Sprint(value(t, first.metrics.transactions.WithLabelValues(committedResult))))
}

// staysOpen lets outcomes wait, so that transactions begin ahead of them: who asks for the offsets of the inputs gets
// them meanwhile, and after it the group still has none of the changelog.
func (w *world) staysOpen(change func(*Config)) {
	w.t.Helper()
	r := w.start(func(c *Config) { change(c); c.CommitInterval = aheadLongest }, nil)
	w.ready(r)
	for i := range 9 {
		w.Produce(w.t, outcome(fmt.Sprintf("case:waits-%d:v1", i), schemas.Accepted, fmt.Sprint(i)))
	}
	w.until("open", func() bool { return w.open("fusebox-a-0") && w.open("fusebox-a-1") })
	if _, err := r.cluster.offsets(w.t.Context()); err != nil {
		w.t.Errorf("offsets while a transaction is open: %v", err)
	}
	w.end(r)
	next := w.start(change, nil) // Not every outcome need have reached the one before.
	w.caughtUp()
	w.end(next)
	offsets, err := kadm.NewClient(w.Client(w.t)).FetchOffsets(w.t.Context(), group)
	if at, ok := offsets.Lookup(topics.Changelog, 0); err != nil || ok && at.At != -1 {
		w.t.Errorf("the group's offset of the changelog is %d, %v, want none", at.At, err)
	}
}

// repairs moves the group's offsets of one partition back. A processor refuses it and works on the others; the repair
// runs beside it, and it goes on with nothing counted twice.
func (w *world) repairs(change func(*Config)) {
	w.t.Helper()
	w.setOffsets(0, 0)
	r := w.start(change, nil)
	w.refusal(r)
	repair := w.openRepair()
	all := w.standings(repair)
	for _, s := range all {
		if s.Relation.Starts() != (s.Partition != 0) {
			w.t.Errorf("Standings has %+v, want partition 0 alone to differ", s)
		}
	}
	if err := repair.Take(w.t.Context(), TakeProgress, all[:1]); err != nil {
		w.t.Fatalf("Take(progress): %v", err)
	}
	w.produceAll(100, 9, waves)
	w.ready(r)
	w.caughtUp()
	w.end(r)
	w.check()
}
