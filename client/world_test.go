//go:build synctests

package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	prefix   = "t."
	circuit  = "extraction:gpt-primary:v4"
	patience = 2 * time.Minute // Of virtual time.
)

var topics = kafka.TopicsWithPrefix(prefix)

// quick opens circuits at the second failure in a row.
const quick = `version: 1
defaults: {break: {duration: 30s, jitter: 0}, half_open: {lease: 20s}}
policies:
- {name: quick, match: ["*"], rules: [{name: row, type: consecutive, threshold: 2}]}
routes:
- {use_case: extraction, chain: ["extraction:gpt-primary:v4", "extraction:gpt-secondary:v4"], otherwise: human-review}
`

// world is a cluster in virtual time, the processors on it and the gates of a test.
type world struct {
	*kafkatest.Cluster
	t          *testing.T
	partitions int32
	dir        string
	policies   *breaker.Policies
	log        *syncBuffer
}

// syncBuffer keeps a log that may be read while it is written.
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

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, partitions int32, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := kafkatest.New(t)
		w := &world{Cluster: fake, t: t, partitions: partitions, dir: t.TempDir(), log: &syncBuffer{}}
		w.policies = w.read(quick)
		w.CreateTopics(t, prefix, partitions)
		fake.AppendTime(topics.Outcomes, topics.Signals)
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(w.log.String())
			}
		})
		test(t, w)
	})
}

func (w *world) read(text string) *breaker.Policies {
	w.t.Helper()
	p, err := breaker.Read("test.yaml", []byte(text))
	if err != nil {
		w.t.Fatalf("breaker.Read: %v", err)
	}
	return p
}

func (w *world) logger(name string) *slog.Logger {
	return slog.New(slog.NewTextHandler(w.log, nil)).With("of", name)
}

// process starts a processor, and waits until it is ready. It ends with the test, or by the function returned.
func (w *world) process() (stop func()) {
	w.t.Helper()
	loop, err := kafka.New(kafka.Config{
		Group: "fusebox", Instance: "a", Topics: topics, Client: w.Opts(), DataDir: w.dir, Policies: w.policies,
		Workers: 1, Logger: w.logger("processor"),
	})
	if err != nil {
		w.t.Fatalf("new processor: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var end sync.WaitGroup
	end.Go(func() {
		if err := loop.Run(ctx); err != nil {
			w.t.Errorf("processor: %v", err)
		}
	})
	stop = func() { cancel(); end.Wait() }
	w.t.Cleanup(stop)
	w.until("the processor is ready", func() bool {
		return loop.Ready().Ready && len(loop.Ready().Partitions) == int(w.partitions)
	})
	return stop
}

// config is what a gate of that name is opened with.
func (w *world) config(router string) client.Config {
	return client.Config{Prefix: prefix, Router: router, Kafka: w.Opts(), Log: w.logger(router)}
}

// open opens a gate that is closed at the end of the test.
func (w *world) open(c client.Config) *client.Gate {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	g, err := client.Open(ctx, c)
	if err != nil {
		w.t.Fatalf("Open: %v", err)
	}
	w.t.Cleanup(func() { g.Close() })
	return g
}

// until asks every so often until the answer is yes.
func (w *world) until(what string, ask func() bool) {
	w.t.Helper()
	for begin := time.Now(); !ask(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > patience {
			w.t.Fatalf("still not after %v: %s", patience, what)
		}
	}
}

// becomes waits until a gate sees a circuit in a state.
func (w *world) becomes(g *client.Gate, circuit string, phase schemas.Phase) client.State {
	w.t.Helper()
	w.until(fmt.Sprintf("%s is %v", circuit, phase), func() bool { return g.State(circuit).State.State == phase })
	return g.State(circuit)
}

// enter enters a circuit that admits.
func (w *world) enter(g *client.Gate, circuit string) client.Lease {
	w.t.Helper()
	lease, err := g.Enter(w.t.Context(), circuit)
	if err != nil {
		w.t.Fatalf("Enter(%s) = %v, want a lease", circuit, err)
	}
	return lease
}

// refused enters a circuit that refuses.
func (w *world) refused(g *client.Gate, circuit string) *client.RefusedError {
	w.t.Helper()
	lease, err := g.Enter(w.t.Context(), circuit)
	var refused *client.RefusedError
	if !errors.As(err, &refused) {
		w.t.Fatalf("Enter(%s) = epoch %d, lease %q, %v, want it refused", circuit, lease.Epoch(), lease.ID(), err)
	}
	return refused
}

// report enters a circuit and reports.
func (w *world) report(g *client.Gate, circuit, kind string) {
	w.t.Helper()
	lease := w.enter(g, circuit)
	if err := lease.Report(client.Outcome{Kind: kind}); err != nil {
		w.t.Fatalf("Report: %v", err)
	}
}

// trip opens a circuit by failures.
func (w *world) trip(g *client.Gate, circuit string) {
	w.t.Helper()
	w.report(g, circuit, client.MissingEvidence)
	w.report(g, circuit, client.MissingEvidence)
	w.becomes(g, circuit, schemas.Open)
}

// put writes states to the state topic, as a processor would.
func (w *world) put(states ...schemas.State) {
	w.t.Helper()
	var records []*kgo.Record
	for i := range states {
		records = append(records, &kgo.Record{
			Topic: topics.State, Key: []byte(states[i].Circuit), Value: schemas.AppendState(nil, &states[i]),
		})
	}
	w.Produce(w.t, records...)
}

// addPartitions makes a topic have more of them.
func (w *world) addPartitions(topic string, n int) {
	w.t.Helper()
	admin := kadm.NewClient(w.Client(w.t))
	answer, err := admin.UpdatePartitions(w.t.Context(), n, topic)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		w.t.Fatalf("add partitions to %s: %v", topic, err)
	}
}

// faultOf lets every question for the ends of topics be answered with an error.
func faultOf(err *kerr.Error) kfake.Fault {
	return kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: err, Count: -1}
}
