//go:build synctests

package kafka

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestCrash ends a process at each point of a transaction, and starts another one, with its store and without.
func TestCrash(t *testing.T) {
	for _, point := range []string{"ahead", "before begin", "before end", "before store"} {
		for _, n := range []int{1, 3} {
			for _, wiped := range []bool{false, true} {
				name := fmt.Sprintf("%s, time %d, wiped %v", point, n, wiped)
				t.Run(name, func(t *testing.T) { testCrash(t, point, n, wiped) })
			}
		}
	}
}

func testCrash(t *testing.T, point string, n int, wiped bool) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(seldom, crashAt(point, n))
		for round := range 8 {
			w.produceAll(round, 5, waves)
		}
		w.crashes(first)
		if wiped {
			w.dir = t.TempDir()
		}
		second := w.start(nil, nil)
		for round := range 8 {
			w.produceAll(8+round, 5, waves)
		}
		w.ready(second)
		w.caughtUp()
		w.end(second)
		w.check()
	})
}

// TestCrashInRestore ends a process while it restores, after it has handed something to the store.
func TestCrashInRestore(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		for round := range 8 {
			w.produceAll(round, 5, waves)
		}
		w.caughtUp()
		w.end(first)
		w.dir = t.TempDir()
		w.crashes(w.start(nil, crashAt("restore of 0", 1)))
		third := w.start(nil, nil)
		w.produceAll(8, 5, waves)
		w.ready(third)
		w.caughtUp()
		w.end(third)
		w.check()
	})
}

// restlessText makes circuits open and close all the time, so that one outcome counted twice shows in what comes next.
const restlessText = `version: 1
defaults: {window: 1m, minimum_throughput: 7, break: {duration: 100ms, max: 100ms, jitter: 0}}
policies:
- {name: restless, match: ["*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.15}]}
`

// TestMisrouted lets a producer use a partitioner of its own, and ends the process between two forwards, and after
// their acknowledgement, before the offsets that cover them are committed. Pitfall 13: a partitioner of its own.
func TestMisrouted(t *testing.T) {
	for _, point := range []string{"", "forward", "after forwards"} {
		t.Run("crash "+point, func(t *testing.T) {
			inWorld(t, 3, func(t *testing.T, w *world) {
				w.policies = policies(t, restlessText)
				first := w.start(nil, crashAt(point, 3))
				for i := range 6 {
					w.misrouted(40*i, 40*i+40)
					time.Sleep(time.Second)
				}
				if point != "" {
					w.crashes(first)
					first = w.start(nil, nil)
				}
				w.misrouted(240, 280)
				w.ready(first)
				w.caughtUp()
				time.Sleep(time.Second) // What was forwarded last lies behind what was committed.
				w.caughtUp()
				w.end(first)
				w.check()
			})
		})
	}
}

// TestMisroutedBetween lets the receiver of forwards commit them, and stop, after their sender has died and before it
// sends them again: that they were handled stands in the receiver's progress record. Pitfall 13: a forward that comes
// twice.
func TestMisroutedBetween(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.policies = policies(t, restlessText)
		sender := w.start(nil, crashAt("after forwards", 3))
		w.ready(sender)
		receiver := w.start(func(c *Config) { c.Instance, c.DataDir = "b", t.TempDir() }, nil)
		w.ready(receiver)
		for i := range 6 {
			w.misrouted(40*i, 40*i+40)
			time.Sleep(time.Second)
		}
		w.crashes(sender)
		w.end(receiver)
		sender = w.start(nil, nil)
		w.misrouted(240, 280)
		w.ready(sender)
		w.caughtUp()
		time.Sleep(time.Second) // What was forwarded last lies behind what was committed.
		w.caughtUp()
		w.end(sender)
		w.check()
	})
}

// TestForwardRefused lets a broker refuse some forwards for good: the worker begins anew from what is committed, and
// what it sends again is counted once. Pitfall 13: a gap among forwards.
func TestForwardRefused(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.policies = policies(t, restlessText)
		forwards := 0
		plain := func(c *Config) { c.Client = append(c.Client, kgo.ProducerBatchCompression(kgo.NoCompression())) }
		r := w.start(plain, func(l *Loop) {
			l.crash = func(point string) error {
				if point != "forward" {
					return nil
				}
				if forwards++; forwards == 30 {
					w.fake.Fault(kfake.Fault{
						Keys: []kmsg.Key{kmsg.Produce}, Topic: topics.Outcomes, Err: kerr.PolicyViolation, Count: 2,
						When: isForward,
					})
				}
				return nil
			}
		})
		w.ready(r)
		for i := range 6 {
			w.misrouted(40*i, 40*i+40)
			time.Sleep(time.Second)
		}
		w.ready(r)
		w.caughtUp()
		time.Sleep(time.Second)
		w.caughtUp()
		if !strings.Contains(w.log.String(), errForward.Error()) {
			t.Error("the log does not say that a forward failed")
		}
		w.end(r)
		w.check()
	})
}

// isForward tells the forwards of a processor that does not compress from what the test writes itself.
func isForward(r kmsg.Request) bool {
	for _, topic := range r.(*kmsg.ProduceRequest).Topics {
		for _, p := range topic.Partitions {
			if bytes.Contains(p.Records, []byte(schemas.ForwardHeader)) {
				return true
			}
		}
	}
	return false
}
