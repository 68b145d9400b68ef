//go:build synctests

package kafka

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/oracle"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// newest returns the newest record of the changelog with a key, or of a circuit where it is empty.
func (w *world) newest(partition int32, key string) *kgo.Record {
	w.t.Helper()
	all := w.ReadCommitted(w.t, topics.Changelog)
	for _, r := range slices.Backward(all) {
		if r.Partition == partition && (string(r.Key) == key || key == "" && isCircuit(string(r.Key))) {
			return &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: slices.Clone(r.Value)}
		}
	}
	w.t.Fatalf("the changelog of partition %d has no %q", partition, key)
	return nil
}

// newer returns what a newer version of Fusebox might have left in a changelog, its progress record last.
func (w *world) newer(partition int32, what string) []*kgo.Record {
	w.t.Helper()
	p := w.newest(partition, progressKey)
	p.Value = []byte(strings.Replace(string(p.Value), `"by":"fusebox 1.0.0"`, `"by":"fusebox 9.1.0"`, 1))
	changed := []*kgo.Record{p}
	switch what {
	case "progress":
		p.Value = []byte(strings.Replace(string(p.Value), `"schema":1`, `"schema":2`, 1))
	case "circuit":
		r := w.newest(partition, "")
		r.Value[0] = processor.ValueVersion + 1
		changed = []*kgo.Record{r, p}
	case "policies":
		r := w.newest(partition, policiesKey(1))
		r.Value = append([]byte{policiesForm + 1}, r.Value...)
		changed = []*kgo.Record{r, p}
	}
	return changed
}

// old makes a process tell that it is of version 1.0.0.
func old(c *Config) { c.Version = "fusebox 1.0.0" }

// refuses waits until a process refuses a partition of a newer version, and looks at what it says.
func (w *world) refuses(r *process, partition int32) {
	w.t.Helper()
	of := fmt.Sprintf("partition %d is refused", partition)
	w.until(of, func() bool { return strings.Contains(fmt.Sprint(r.Ready().Missing), of) })
	missing := fmt.Sprint(r.Ready().Missing)
	for _, want := range []string{
		"newer version of Fusebox", "fusebox 9.1.0", "this is fusebox 1.0.0", topics.Changelog,
	} {
		if !strings.Contains(missing, want) || !strings.Contains(w.log.String(), want) {
			w.t.Errorf("the report says %s, want %q there and in the log", missing, want)
		}
	}
	if r.Ready().Ready {
		w.t.Error("Ready with a partition that is refused")
	}
}

// trips lets a circuit of a partition fail, and waits until the routers know.
func (w *world) trips(partition int32) {
	w.t.Helper()
	circuit := "case:trips:v1"
	for w.home(circuit) != partition {
		circuit += "1"
	}
	for i := range 4 {
		w.Produce(w.t, outcome(circuit, schemas.MissingEvidence, fmt.Sprint("trips", i)))
	}
	w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open })
}

// TestDowngrade starts on a changelog that a newer version has written to, with the store and without: that partition
// is refused and says by whom it was written, the other one works. Once it can be read again it goes on.
func TestDowngrade(t *testing.T) {
	for _, what := range []string{"progress", "circuit", "policies"} {
		for _, wiped := range []bool{false, true} {
			t.Run(fmt.Sprint(what, ", wiped ", wiped), func(t *testing.T) {
				inWorld(t, 2, func(t *testing.T, w *world) {
					w.policies = breaker.Builtin()
					first := w.start(old, nil)
					w.ready(first)
					first.Reload(policies(t, policyText))
					for round := range 3 {
						w.produceAll(round, 5, waves)
					}
					w.caughtUp()
					w.end(first)
					w.policies = policies(t, policyText)
					newer := w.newer(1, what)
					var was []*kgo.Record
					for _, r := range newer {
						was = append(was, w.newest(1, string(r.Key)))
					}
					w.ProduceTo(t, newer...)
					if wiped {
						w.dir = t.TempDir()
					}
					second := w.start(old, nil)
					w.refuses(second, 1)
					w.trips(0)
					w.ProduceTo(t, was...)
					w.ready(second)
					w.trips(1)
					w.caughtUp()
					w.end(second)
					w.oracle(breaker.Builtin(), w.policies)
				})
			})
		}
	}
}

// TestNewerWhileItRuns lets a process take a partition back from one that was upgraded meanwhile: it refuses that one
// and goes on with its own.
func TestNewerWhileItRuns(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		a := w.start(old, nil)
		w.ready(a)
		var killed atomic.Bool
		b := w.start(func(c *Config) { c.Instance, c.DataDir, c.Version = "b", t.TempDir(), "fusebox 1.0.0" },
			func(l *Loop) {
				l.crash = func(string) error {
					if killed.Load() {
						return errCrash
					}
					return nil
				}
			})
		w.until("both have one", func() bool {
			x, y := a.Ready(), b.Ready()
			return x.Ready && y.Ready && len(x.Partitions) == 1 && len(y.Partitions) == 1
		})
		for round := range 3 {
			w.produceAll(round, 5, waves)
		}
		w.caughtUp()
		its, own := b.Ready().Partitions[0].Partition, a.Ready().Partitions[0].Partition
		killed.Store(true)
		w.crashes(b)
		w.ProduceTo(t, w.newer(its, "progress")...) // The group does not know yet that it is dead.
		w.refuses(a, its)
		w.trips(own)
		w.end(a)
	})
}

// TestTwoPolicies restarts one of two processes with other policies: both are in force side by side, a partition that
// moves switches at a record and back, and each record says by which it was judged.
func TestTwoPolicies(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		strict := policies(t, strings.Replace(policyText, "threshold: 0.5", "threshold: 0.26", 1))
		lax := policies(t, strings.Replace(policyText, "threshold: 0.5", "threshold: 0.9", 1))
		begin := func(name string, p *breaker.Policies, dir string) *process {
			return w.start(func(c *Config) { c.Instance, c.Policies, c.DataDir = name, p, dir }, nil)
		}
		dirs := map[string]string{"a": t.TempDir(), "b": t.TempDir()}
		round := 0
		work := func() {
			for range 6 {
				w.produceAll(round, 12, waves)
				round++
			}
		}
		a, b := begin("a", strict, dirs["a"]), begin("b", strict, dirs["b"])
		w.ready(a)
		work()
		w.end(b)
		work() // All of it is a's for a moment.
		b = begin("b", lax, dirs["b"])
		w.until("both have some", func() bool {
			return a.Ready().Ready && b.Ready().Ready && len(b.Ready().Partitions) == 2
		})
		work()
		for name, r := range map[string]*process{strict.Version: a, lax.Version: b} {
			if got := shown(t, r, "fusebox_policy_info", "version"); !slices.Equal(got, []string{name}) {
				t.Errorf("fusebox_policy_info shows %v, want %s", got, name)
			}
		}
		w.end(b) // Its partitions move back.
		work()
		w.caughtUp()
		w.end(a)

		expected := w.oracle(strict, lax)
		judged := map[string]int{}
		for _, states := range expected.Transitions {
			for _, text := range states {
				st, err := schemas.DecodeState([]byte(text))
				if err != nil {
					t.Fatalf("DecodeState: %v", err)
				}
				judged[st.PolicyVersion]++
				c := st.Cause
				if c != nil && c.At.Equal(st.ChangedAt) && c.PolicyVersion != st.PolicyVersion {
					t.Errorf("%s was judged by %s, and its cause by %s", text, st.PolicyVersion, c.PolicyVersion)
				}
			}
		}
		switches := w.switches()
		if judged[strict.Version] == 0 || judged[lax.Version] == 0 || len(switches[lax.Version]) != 2 ||
			len(switches[strict.Version]) < 6 {
			t.Errorf("judged by version %v, switched %v: want both, and two partitions to have gone there and back",
				judged, switches)
		}
	})
}

// oracle compares all that was published with what must have been.
func (w *world) oracle(all ...*breaker.Policies) *oracle.Expected {
	w.t.Helper()
	found, err := kadm.NewClient(w.Client(w.t)).ListTopics(w.t.Context(), topics.Outcomes, topics.Signals)
	if err != nil {
		w.t.Fatalf("ListTopics: %v", err)
	}
	ids := map[string]string{}
	for name, topic := range found {
		ids[name] = base64.RawURLEncoding.EncodeToString(topic.ID[:])
	}
	log := &oracle.Log{
		Outcomes: w.ReadCommitted(w.t, topics.Outcomes), Signals: w.ReadCommitted(w.t, topics.Signals),
		Transitions: w.ReadCommitted(w.t, topics.Transitions), States: w.ReadCommitted(w.t, topics.State),
		DeadLetters: w.ReadCommitted(w.t, topics.DeadLetters),
		Group:       group, TopicIDs: ids, Partitions: w.partitions, Policies: all,
	}
	expected, err := oracle.Check(log)
	if err != nil {
		w.t.Fatalf("oracle: %v", err)
	}
	return expected
}

// shown returns the values of a label of a metric that stand at 1.
func shown(t *testing.T, r *process, metric, label string) (values []string) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatalf("Gather: %v", err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if f.GetName() == metric && l.GetName() == label && m.GetGauge().GetValue() == 1 {
					values = append(values, l.GetValue())
				}
			}
		}
	}
	return values
}
