//go:build synctests

package kafka

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestForgottenAsItJoins has a worker ask to join the next generation of its group until the group has forgotten it and
// another one has worked on its partition. Its client joins then as somebody new, and says of nothing that it was lost:
// what the other one counted is not counted again, neither before the new generation's assignment is known nor after,
// nor where the client joins while the worker commits.
func TestForgottenAsItJoins(t *testing.T) {
	for _, stays := range []bool{false, true} {
		for _, commits := range []bool{false, true} {
			t.Run(fmt.Sprintf("the other one stays %v, commits %v", stays, commits), func(t *testing.T) {
				inWorld(t, 1, func(t *testing.T, w *world) { testForgotten(t, w, stays, commits) })
			})
		}
	}
}

func testForgotten(t *testing.T, w *world, stays, commits bool) {
	var joins, syncs, asked, handedOver atomic.Bool // Who asks to join, or for an assignment, waits while they are set.
	first := w.start(func(c *Config) { c.CommitInterval = time.Minute }, func(l *Loop) {
		l.crash = func(point string) error {
			if point == "before begin" && commits && handedOver.Swap(false) {
				joins.Store(false)
				time.Sleep(beatEvery)
			}
			return nil
		}
	})
	w.ready(first)
	w.fake.ControlKey(int16(kmsg.JoinGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.fake.KeepControl()
		if !joins.Load() || *r.(*kmsg.JoinGroupRequest).InstanceID != "fusebox-a-0" {
			return nil, nil, false
		}
		asked.Store(true)
		answer := r.ResponseKind().(*kmsg.JoinGroupResponse)
		answer.ErrorCode = kerr.CoordinatorLoadInProgress.Code
		return answer, nil, true
	})
	w.fake.ControlKey(int16(kmsg.SyncGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.fake.KeepControl()
		answer := r.ResponseKind().(*kmsg.SyncGroupResponse)
		answer.ErrorCode = kerr.CoordinatorLoadInProgress.Code
		return answer, nil, syncs.Load()
	})
	joins.Store(true)
	second := w.start(func(c *Config) { c.Instance, c.DataDir = "b", t.TempDir() }, nil)
	w.until("asked to join", asked.Load)
	w.fake.Evict(t, group, "fusebox-a-0")
	w.ready(second)
	const n = 3
	for i := range n {
		w.Produce(t, outcome(fmt.Sprintf("case:route-%d:v1", i), schemas.Accepted, "x"))
	}
	w.caughtUp()
	if !stays {
		w.end(second)
	}
	syncs.Store(!commits)
	joins.Store(commits)
	handedOver.Store(true)
	time.Sleep(beatEvery + time.Second)
	syncs.Store(false)
	time.Sleep(time.Minute)
	w.until("ready", func() bool { return first.Ready().Ready })
	w.caughtUp()
	handled := 0.0
	for _, p := range []*process{first, second} {
		handled += value(t, p.metrics.records.WithLabelValues(topics.Outcomes, "handled"))
	}
	if handled != n {
		t.Errorf("%v outcomes were counted, want %d", handled, n)
	}
	if stays {
		w.end(second)
	}
	w.end(first)
	w.check()
}

// TestNobodysPartition asks the group for one more join round where it has a partition that nobody has, or does not
// say, and for none where all is given: a restart costs the others no round.
func TestNobodysPartition(t *testing.T) {
	for _, tt := range []struct {
		name   string
		state  string
		err    *kerr.Error
		rounds int32
	}{
		{"as it is", "", nil, 1},
		{"nobody has one", "Stable", nil, 2},
		{"a round is under way", "PreparingRebalance", nil, 1},
		{"not told", "", kerr.GroupAuthorizationFailed, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, func(t *testing.T, w *world) {
				var rounds atomic.Int32
				w.fake.ControlKey(int16(kmsg.SyncGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
					w.fake.KeepControl()
					rounds.Add(1)
					return nil, nil, false
				})
				w.fake.ControlKey(int16(kmsg.DescribeGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
					w.fake.KeepControl()
					answer := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
					told := kmsg.NewDescribeGroupsResponseGroup()
					told.Group, told.State, told.ProtocolType = group, tt.state, "consumer"
					if tt.err != nil {
						told.ErrorCode = tt.err.Code
					}
					answer.Groups = append(answer.Groups, told)
					return answer, nil, tt.state != "" || tt.err != nil
				})
				r := w.start(nil, nil)
				w.ready(r)
				time.Sleep(2 * time.Second)
				if got := rounds.Load(); got != tt.rounds {
					t.Errorf("%d join rounds, want %d", got, tt.rounds)
				}
				w.produceAll(0, 9, waves)
				w.caughtUp()
				w.end(r)
				w.check()
			})
		})
	}
}

// TestOtherTopicsInTheGroup starts a processor of other topics in the same group, as of a stage that was given a prefix
// and no group of its own: it does not start, says why, and the one that was there works on.
func TestOtherTopicsInTheGroup(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.CreateTopics(t, "stage.", 2)
		r := w.start(nil, nil)
		w.ready(r)
		other := w.start(func(c *Config) {
			c.Instance, c.DataDir, c.Topics = "b", t.TempDir(), TopicsWithPrefix("stage.")
		}, nil)
		err := w.wait(other)
		for _, want := range []string{"group fusebox", topics.Outcomes, "stage.outcomes.v1", "FUSEBOX_GROUP"} {
			if !errors.Is(err, ErrTopics) || !strings.Contains(err.Error(), want) {
				t.Errorf("Run = %v, want ErrTopics that says %s", err, want)
			}
		}
		w.produceAll(0, 9, waves)
		w.caughtUp()
		w.end(r)
		w.check()
	})
}
