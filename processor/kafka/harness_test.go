package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	group    = "fusebox"
	prefix   = "t."
	patience = 5 * time.Minute // Of virtual time.
)

var topics = TopicsWithPrefix(prefix)

// policyText makes circuits open soon: on three failures of four.
const policyText = `version: 1
defaults: {window: 1m, minimum_throughput: 4, break: {duration: 30s, jitter: 0}}
policies:
- {name: quick, match: ["*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}
`

func policies(t testing.TB, text string) *breaker.Policies {
	t.Helper()
	p, err := breaker.Read("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("breaker.Read: %v", err)
	}
	return p
}

// world is a cluster with Fusebox's topics, and the processors that a test starts on it.
type world struct {
	kafkatest.Endpoint
	fake       *kafkatest.Cluster // Nil where the cluster is a real one.
	t          testing.TB
	partitions int32
	dir        string
	policies   *breaker.Policies
	log        syncBuffer
}

// syncBuffer keeps the log for a test that fails.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newWorld makes Fusebox's topics on a cluster.
func newWorld(t testing.TB, cluster kafkatest.Endpoint, partitions int32) *world {
	t.Helper()
	w := &world{Endpoint: cluster, t: t, partitions: partitions, dir: t.TempDir(), policies: policies(t, policyText)}
	w.CreateTopics(t, prefix, partitions)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	return w
}

// process is a Loop at work.
type process struct {
	*Loop
	registry *prometheus.Registry
	stop     context.CancelFunc
	ended    chan error
}

// start starts a processor; change may change its configuration and its Loop before it runs.
func (w *world) start(change func(*Config), hook func(*Loop)) *process {
	w.t.Helper()
	registry := prometheus.NewRegistry()
	c := Config{
		Group: group, Instance: "a", Topics: topics, Client: w.Opts(), DataDir: w.dir, Policies: w.policies, Workers: 1,
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)), Metrics: registry,
	}
	if change != nil {
		change(&c)
	}
	l, err := New(c)
	if err != nil {
		w.t.Fatalf("New: %v", err)
	}
	if hook != nil {
		hook(l)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &process{Loop: l, registry: registry, stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- l.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		<-r.ended
	})
	return r
}

// end stops a processor and waits for it.
func (w *world) end(r *process) {
	w.t.Helper()
	r.stop()
	if err := w.wait(r); err != nil {
		w.t.Fatalf("Run: %v", err)
	}
}

// wait waits until a processor has ended by itself.
func (w *world) wait(r *process) error {
	w.t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		return err
	case <-time.After(patience):
		w.stacks()
		w.t.Fatalf("the processor has not ended after %v", patience)
		return nil
	}
}

// until asks every so often until the answer is yes.
func (w *world) until(what string, ask func() bool) {
	w.t.Helper()
	for begin := time.Now(); !ask(); {
		if time.Since(begin) > patience {
			w.stacks()
			w.t.Fatalf("still not after %v: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stacks logs what everybody is doing.
func (w *world) stacks() {
	text := make([]byte, 1<<20)
	w.t.Logf("%s", text[:runtime.Stack(text, true)])
}

func (w *world) ready(r *process) {
	w.t.Helper()
	w.until("ready", func() bool { return r.Ready().Ready && len(r.Ready().Partitions) > 0 })
}

// caughtUp waits until the group has committed all of the inputs.
func (w *world) caughtUp() {
	w.t.Helper()
	admin := kadm.NewClient(w.Client(w.t))
	w.until("caught up", func() bool {
		ends, err := admin.ListEndOffsets(w.t.Context(), topics.Outcomes, topics.Signals)
		if err != nil || ends.Error() != nil {
			w.t.Fatalf("ListEndOffsets: %v, %v", err, ends.Error())
		}
		commits, err := admin.FetchOffsets(kadm.RequireStable(w.t.Context()), group)
		if err != nil || commits.Error() != nil {
			return false // A transaction is open.
		}
		behind := false
		ends.Each(func(end kadm.ListedOffset) {
			at, _ := commits.Lookup(end.Topic, end.Partition)
			behind = behind || at.At < end.Offset
		})
		return !behind
	})
}

// home returns the partition where a circuit lives.
func (w *world) home(circuit string) int32 {
	hash := kgo.StickyKeyPartitioner(nil).ForTopic("")
	return int32(hash.Partition(&kgo.Record{Key: []byte(circuit)}, int(w.partitions)))
}

func outcome(circuit, kind, id string) *kgo.Record {
	o := schemas.Outcome{Circuit: circuit, Kind: kind, ID: id, Count: 1, LatencyMS: 20}
	return &kgo.Record{Topic: topics.Outcomes, Key: []byte(circuit), Value: schemas.AppendOutcome(nil, &o)}
}

func signal(s schemas.Signal) *kgo.Record {
	return &kgo.Record{Topic: topics.Signals, Key: []byte(s.Circuit), Value: schemas.AppendSignal(nil, &s)}
}

// produceAll writes outcomes of a pattern over circuits, one of each, failing where the pattern says so, and a few
// signals half a second later. It takes a second.
func (w *world) produceAll(round int, circuits int, fails func(round, circuit int) bool) {
	w.t.Helper()
	var records []*kgo.Record
	for c := range circuits {
		kind := schemas.Accepted
		if fails(round, c) {
			kind = schemas.MissingEvidence
		}
		records = append(records, outcome(fmt.Sprintf("case:route-%d:v1", c), kind, fmt.Sprintf("%d-%d", round, c)))
	}
	w.Produce(w.t, records...)
	time.Sleep(500 * time.Millisecond)
	circuit := fmt.Sprintf("case:route-%d:v1", round%circuits)
	claim := schemas.Signal{Type: schemas.Claim, Circuit: circuit, Holder: "r", Lease: fmt.Sprint("L", round)}
	w.Produce(w.t, signal(claim))
	if round%3 == 0 {
		circuit = fmt.Sprintf("case:route-%d:v1", (round+1)%circuits)
		w.Produce(w.t, signal(schemas.Signal{
			Type: schemas.Override, Circuit: circuit, Mode: schemas.ForceOpen, Actor: "me", Reason: "a test",
			TTL: 1500 * time.Millisecond,
		}))
	}
	time.Sleep(500 * time.Millisecond)
}

// seldom lets records wait, so that transactions begin ahead of them.
func seldom(c *Config) { c.CommitInterval = 700 * time.Millisecond }

// open tells whether a transaction is open.
func (w *world) open(id string) bool {
	w.t.Helper()
	found, err := kadm.NewClient(w.Client(w.t)).DescribeTransactions(w.t.Context(), id)
	if err != nil {
		w.t.Fatalf("DescribeTransactions: %v", err)
	}
	return found[id].State == "Ongoing"
}

// crashAt ends a Loop's life the n-th time that it comes to a point.
func crashAt(point string, n int) func(*Loop) {
	var mu sync.Mutex
	return func(l *Loop) {
		l.crash = func(at string) error {
			mu.Lock()
			defer mu.Unlock()
			if at != point {
				return nil
			}
			if n--; n == 0 {
				return errCrash
			}
			return nil
		}
	}
}

func (w *world) crashes(r *process) {
	w.t.Helper()
	if err := w.wait(r); !errors.Is(err, errCrash) {
		w.t.Fatalf("Run = %v, want a crash", err)
	}
}

// await waits until the state topic shows a circuit as wanted.
func (w *world) await(circuit string, wanted func(schemas.State) bool) schemas.State {
	w.t.Helper()
	var last schemas.State
	w.until("state of "+circuit, func() bool {
		for _, r := range w.ReadCommitted(w.t, topics.State) {
			if string(r.Key) != circuit {
				continue
			}
			st, err := schemas.DecodeState(r.Value)
			if err != nil {
				w.t.Fatalf("DecodeState(%s): %v", r.Value, err)
			}
			last = st
		}
		return wanted(last)
	})
	return last
}

// waves: circuits go bad and recover, each at its own time.
func waves(round, circuit int) bool { return (round/4+circuit)%3 == 0 }

// misrouted puts outcomes where their circuits do not live, as a producer with another hash would.
func (w *world) misrouted(from, to int) {
	w.t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		kind := schemas.Accepted
		if waves(i/5, i%5) {
			kind = schemas.MissingEvidence
		}
		// Without an id: the core cannot know a repeat by itself.
		o := schemas.Outcome{Kind: kind, Source: fmt.Sprint("m", i), Count: 1}
		o.Circuit = fmt.Sprintf("case:route-%d:v1", i%5)
		r := &kgo.Record{Topic: topics.Outcomes, Partition: int32(i) % w.partitions}
		r.Value = schemas.AppendOutcome(nil, &o)
		records = append(records, r)
	}
	w.ProduceTo(w.t, records...)
}
