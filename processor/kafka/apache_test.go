package kafka

import (
	"fmt"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
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
	for i, point := range []string{"before begin", "before end", "before store"} {
		r := w.start(two, crashAt(point, 2+i))
		produce(4)
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
	w.check()
	w.repairs(two)
	t.Logf("transactions: %s", fmt.Sprint(value(t, first.metrics.transactions.WithLabelValues(committedResult))))
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
