//go:build synctests

package kafka

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// asked counts the requests that begin a transaction ahead, and fails them where a test wants it.
type asked struct {
	mu   sync.Mutex
	n    int
	fail func(n int) *kerr.Error
}

func (a *asked) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

func (a *asked) watch(w *world) {
	w.fake.ControlKey(int16(kmsg.TxnOffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.fake.KeepControl()
		request := r.(*kmsg.TxnOffsetCommitRequest)
		changelog := w.fake.TopicInfo(topics.Changelog).TopicID
		if len(request.Topics) != 1 || request.Topics[0].TopicID != changelog {
			return nil, nil, false
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.n++
		if a.fail == nil {
			return nil, nil, false
		}
		err := a.fail(a.n)
		if err == nil {
			return nil, nil, false
		}
		response := request.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
		topic := kmsg.NewTxnOffsetCommitResponseTopic()
		topic.TopicID = request.Topics[0].TopicID
		topic.Partitions = []kmsg.TxnOffsetCommitResponseTopicPartition{{ErrorCode: err.Code}}
		response.Topics = append(response.Topics, topic)
		return response, nil, true
	})
}

// TestAhead lets outcomes wait for the commit interval, and then trips a circuit: the transaction is open before, where
// brokers take offsets into it by themselves, and whatever they answer, the trip is published at once.
func TestAhead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		older bool // The brokers take nothing into a transaction by themselves.
		fail  func(n int) *kerr.Error
		open  bool
		asked int
	}{
		{"taken", false, nil, true, 1},
		{"the one before is still being written", false, func(n int) *kerr.Error {
			if n <= 3 {
				return kerr.ConcurrentTransactions
			}
			return nil
		}, true, 4},
		{"refused", false, func(int) *kerr.Error { return kerr.InvalidTxnState }, false, 1},
		{"older brokers", true, nil, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				if tt.older {
					w.lowerTransactions()
				}
				a := &asked{fail: tt.fail}
				a.watch(w)
				r := w.start(func(c *Config) { c.CommitInterval = 4 * time.Second }, nil)
				w.ready(r)
				w.Produce(t, outcome("case:route-0:v1", schemas.Accepted, "first"))
				time.Sleep(100 * time.Millisecond)
				if got := w.open("fusebox-a-0"); got != tt.open {
					t.Errorf("a transaction is open: %v, want %v", got, tt.open)
				}
				if got := a.count(); got != tt.asked {
					t.Errorf("asked %d times to begin ahead, want %d", got, tt.asked)
				}
				for i := range 4 {
					w.Produce(t, outcome("case:route-0:v1", schemas.MissingEvidence, fmt.Sprint(i)))
				}
				sent := time.Now()
				w.await("case:route-0:v1", func(st schemas.State) bool { return st.State == schemas.Open })
				if took := time.Since(sent); took > 50*time.Millisecond {
					t.Errorf("a trip was published after %v, want at once", took)
				}
				w.caughtUp()
				w.end(r)
				w.check()
			})
		})
	}
}

// lowerTransactions makes brokers of the fake cluster those that take nothing into a transaction by themselves.
func (w *world) lowerTransactions() {
	w.t.Helper()
	request := kmsg.NewPtrUpdateFeaturesRequest()
	update := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	update.Feature, update.MaxVersionLevel, update.UpgradeType = "transaction.version", 1, 2
	request.FeatureUpdates = append(request.FeatureUpdates, update)
	response, err := request.RequestWith(w.t.Context(), w.Client(w.t))
	if err == nil {
		err = kerr.ErrorForCode(response.ErrorCode)
	}
	if err != nil {
		w.t.Fatalf("UpdateFeatures: %v", err)
	}
}

// TestAheadGivenUp lets a second process join while the first has begun a transaction ahead, for the partition that it
// gives up: it ends that one at the broker, and is not fenced when it goes on later than a transaction may last.
func TestAheadGivenUp(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		var mu sync.Mutex
		aborted := 0
		w.fake.ControlKey(int16(kmsg.EndTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.fake.KeepControl()
			mu.Lock()
			defer mu.Unlock()
			if end := r.(*kmsg.EndTxnRequest); end.TransactionalID == "fusebox-a-0" && !end.Commit {
				aborted++
			}
			return nil, nil, false
		})
		slow := func(c *Config) { c.CommitInterval = 4 * time.Second }
		first := w.start(slow, nil)
		w.ready(first)
		hash := kgo.StickyKeyPartitioner(nil).ForTopic(topics.Outcomes)
		for c := range 8 {
			r := outcome(fmt.Sprintf("case:route-%d:v1", c), schemas.Accepted, "first")
			if hash.Partition(r, 2) == 1 { // The one that is given up.
				w.Produce(t, r)
			}
		}
		w.until("open", func() bool { return w.open("fusebox-a-0") })
		second := w.start(func(c *Config) {
			slow(c)
			c.Instance, c.DataDir = "b", t.TempDir()
		}, nil)
		w.ready(second)
		w.caughtUp()
		time.Sleep(2 * transactionTimeout)
		w.produceAll(1, 5, waves)
		w.caughtUp()
		w.end(second)
		w.end(first)
		w.check()
		if mu.Lock(); aborted == 0 {
			t.Error("no transaction was aborted, want the one begun ahead")
		}
		mu.Unlock()
		if strings.Contains(w.log.String(), "begins anew") {
			t.Error("a session begins anew, want none")
		}
	})
}

// TestAheadOutlasted has a worker stand still three times within a minute, for longer than the transaction that it has
// begun ahead may last. The brokers fence it each time, and there is no other process: it goes on.
func TestAheadOutlasted(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		left := 3
		r := w.start(seldom, func(l *Loop) {
			l.crash = func(point string) error {
				if point == "before begin" && left > 0 && l.workers[0].ahead != nil {
					left--
					time.Sleep(transactionTimeout + time.Second)
				}
				return nil
			}
		})
		w.ready(r)
		for round := range 50 {
			w.produceAll(round, 5, waves)
		}
		w.caughtUp()
		w.end(r)
		w.check()
		if anew := strings.Count(w.log.String(), `"session begins anew"`); left != 0 || anew != 3 {
			t.Errorf("%d times left to stand still, and the session began anew %d times; want 0 and 3", left, anew)
		}
	})
}
