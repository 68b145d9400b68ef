//go:build synctests

package kafka

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The rows of the table of known traps that concern the client and the group, each by its number.

// TestPitfall11And14PollsThatFail lets every poll of a worker end in an error: it says which, asks now and then, lets a
// second process join all the same, and goes on when the error is gone.
func TestPitfall11And14PollsThatFail(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		fault := w.fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Fetch}, Topic: topics.Outcomes, Err: kerr.TopicAuthorizationFailed, Count: -1,
		})
		named := func() bool {
			r := first.Ready()
			said := fmt.Sprint(r.Degraded)
			return !r.Ready && strings.Contains(said, topics.Outcomes+" cannot be read: TOPIC_AUTHORIZATION_FAILED")
		}
		w.until("named", named)
		for range 60 {
			time.Sleep(500 * time.Millisecond)
			if !named() {
				t.Fatalf("%+v while outcomes cannot be read", first.Ready())
			}
		}
		if n := fault.Hits(); n < 4 || n > 40 {
			t.Errorf("the brokers were asked %d times in half a minute, want now and then", n)
		}
		began := time.Now()
		second := w.start(func(c *Config) { c.Instance, c.DataDir = "b", t.TempDir() }, nil)
		w.until("shared", func() bool {
			return len(first.Ready().Partitions) == 1 && len(second.Ready().Partitions) == 1
		})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the group took %v to share the partitions, want a few heartbeats", took)
		}
		w.end(second)
		fault.Remove()
		w.produceAll(0, 5, waves)
		w.ready(first)
		w.caughtUp()
		w.end(first)
		w.check()
	})
}
