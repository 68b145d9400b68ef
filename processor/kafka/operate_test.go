//go:build synctests

package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestExpiredOffsets deletes the group's offsets between two lives: the second goes on from the progress records.
// Pitfall 5: it does not begin at the start again.
func TestExpiredOffsets(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		for round := range 8 {
			w.produceAll(round, 5, waves)
		}
		w.caughtUp()
		w.end(first)
		admin := kadm.NewClient(w.Client(t))
		if _, err := admin.DeleteGroups(context.Background(), group); err != nil {
			t.Fatalf("DeleteGroups: %v", err)
		}
		second := w.start(nil, nil)
		for round := range 8 {
			w.produceAll(8+round, 5, waves)
		}
		w.ready(second)
		w.caughtUp()
		if got := value(t, second.metrics.expired); got != 2 {
			t.Errorf("fusebox_offsets_expired_total = %v, want 2", got)
		}
		w.end(second)
		w.check()
	})
}

// TestTwice starts two processes of one name: the older one stops and says why. Pitfall 10: two processes of one id do
// not take turns.
func TestTwice(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		second := w.start(func(c *Config) { c.DataDir = t.TempDir() }, nil)
		if err := w.wait(first); !errors.Is(err, ErrTwice) {
			t.Errorf("Run = %v, want ErrTwice", err)
		}
		w.produceAll(0, 5, waves)
		w.ready(second)
		w.caughtUp()
		w.end(second)
		w.check()
	})
}

// TestFenced takes the transactional id over once, as happens after a transaction that lasted too long: the worker
// begins anew. Pitfall 10: fenced once is nobody else.
func TestFenced(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		for round := range 12 {
			if round == 6 {
				w.fake.Fence(t, "fusebox-a-0")
			}
			w.produceAll(round, 5, waves)
		}
		w.ready(r)
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

// TestFencedByItself answers a join of the group as a broker does that handles it a second time, after the client lost
// patience with the first: there is no other process, and this one must go on.
func TestFencedByItself(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		spoiled := w.fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.SyncGroup}, Err: kerr.FencedInstanceID, Count: 1,
		})
		r := w.start(nil, nil)
		w.ready(r)
		if spoiled.Hits() != 1 {
			t.Errorf("%d answers were spoiled, want 1", spoiled.Hits())
		}
		w.produceAll(0, 5, waves)
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

// TestTopics starts without a topic, and with one that has another number of partitions.
func TestTopics(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		for _, name := range []string{"absent", topics.Transitions + ".more"} {
			if name != "absent" {
				w.Create(t, 3, nil, name)
			}
			r := w.start(func(c *Config) { c.Topics.Transitions = name }, nil)
			if err := w.wait(r); !errors.Is(err, ErrTopics) || !strings.Contains(err.Error(), name) {
				t.Errorf("Run with transitions %s = %v, want ErrTopics that names it", name, err)
			}
		}
	})
}

// TestReloadThatCloses takes an open circuit its policy and switches off that of another: the log warns, and the
// records say why.
func TestReloadThatCloses(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		const text = `version: 1
policies:
- {name: a, match: ["a*"], rules: [{name: two, type: consecutive, threshold: 2}]}
- {name: b, match: ["b*"], rules: [{name: two, type: consecutive, threshold: 2}]}
`
		r := w.start(func(c *Config) { c.Policies = policies(t, text) }, nil)
		w.ready(r)
		for _, circuit := range []string{"a1", "a2", "a3", "a4", "a5", "a6", "b"} {
			w.Produce(t, outcome(circuit, schemas.MissingEvidence, "1"), outcome(circuit, schemas.MissingEvidence, "2"))
		}
		w.caughtUp()
		less := strings.NewReplacer(`["a*"]`, `["c*"]`, "name: b,", "name: b, enabled: false,").Replace(text)
		r.Reload(policies(t, less))
		w.until("switched", func() bool { return strings.Contains(w.log.String(), "a reload closed circuits") })
		w.end(r)
		want := `unmatched=6 off=1 first="[a1 a2 a3 a4 a5]"`
		if log := w.log.String(); !strings.Contains(log, want) || strings.Count(log, "level=WARN") != 1 {
			t.Errorf("the log does not warn once with %s:\n%s", want, log)
		}
		why := map[string]string{}
		for _, record := range w.ReadCommitted(t, topics.State) {
			if s, err := schemas.DecodeState(record.Value); err == nil {
				why[s.Circuit] = s.Because()
			}
		}
		if why["a1"] != "no policy matches it any more" || why["b"] != "its policy was switched off" {
			t.Errorf("the records say why: %q", why)
		}
	})
}

// TestReload puts other policies in force while the processor works, and others again at a start.
func TestReload(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		w.produceAll(0, 3, waves)
		w.caughtUp()
		lax := policies(t, strings.Replace(policyText, "threshold: 0.5", "threshold: 0.9", 1))
		reloaded := func() [3]float64 {
			m := r.metrics
			return [3]float64{value(t, m.reloaded), value(t, m.reloads.WithLabelValues("ok")),
				value(t, m.reloads.WithLabelValues("failed"))}
		}
		if r.ReloadFailed("p.yaml:8:51: not so"); reloaded() != [3]float64{0, 0, 1} {
			t.Errorf("after a reload that failed: %v, want 0 and one that failed", reloaded())
		}
		if r.Reload(lax); reloaded() != [3]float64{1, 1, 1} {
			t.Errorf("after a reload: %v, want 1 and one of each", reloaded())
		}
		w.until("switched", func() bool { return len(w.switches()[lax.Version]) == 2 })
		w.end(r)
		strict := policies(t, strings.Replace(policyText, "threshold: 0.5", "threshold: 0.1", 1))
		r = w.start(func(c *Config) { c.Policies = strict }, nil)
		w.until("switched", func() bool { return len(w.switches()[strict.Version]) == 2 })
		w.end(r)
		var last schemas.PoliciesInForce
		for _, record := range w.ReadCommitted(t, topics.State) {
			if string(record.Key) == schemas.PoliciesKey {
				var err error
				if last, err = schemas.DecodePolicies(record.Value); err != nil || record.Partition != 0 {
					t.Errorf("policies in partition %d: %v", record.Partition, err)
				}
			}
		}
		if last.Version != strict.Version || last.Text != strict.Text {
			t.Errorf("policies in force = %s, want %s", last.Version, strict.Version)
		}
	})
}

// switches returns in which partitions which policies came in force.
func (w *world) switches() map[string][]int32 {
	w.t.Helper()
	found := map[string][]int32{}
	for _, r := range w.ReadCommitted(w.t, topics.Transitions) {
		if string(r.Key) != schemas.PoliciesKey {
			continue
		}
		s, err := schemas.DecodeSwitch(r.Value)
		if err != nil {
			w.t.Fatalf("DecodeSwitch: %v", err)
		}
		found[s.Policies.Version] = append(found[s.Policies.Version], r.Partition)
	}
	return found
}

// TestHeartbeats counts those of an idle processor.
func TestHeartbeats(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		time.Sleep(time.Minute)
		w.end(r)
		beats := map[int32]int{}
		for _, record := range w.ReadCommitted(t, topics.State) {
			if strings.HasPrefix(string(record.Key), schemas.HeartbeatKeyPrefix) {
				h, err := schemas.DecodeHeartbeat(record.Value)
				if err != nil || h.Partition != record.Partition || h.Instance != "a" {
					t.Errorf("heartbeat %+v in partition %d: %v", h, record.Partition, err)
				}
				beats[h.Partition]++
			}
		}
		for i := range int32(2) {
			if beats[i] < 11 || beats[i] > 14 {
				t.Errorf("partition %d: %d heartbeats in a minute, want one every 5 s", i, beats[i])
			}
		}
	})
}

// TestSeries lets a circuit live a whole life and counts its series as Prometheus stores them, a native histogram as
// one. All six states are among them, 0 for those that it is not in. Pitfall 37: circuits beyond the limit share their
// series.
func TestSeries(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(func(c *Config) { c.MetricsMaxCircuits = 2 }, nil)
		w.ready(r)
		rich := schemas.Outcome{Count: 1, LatencyMS: 900, CostMicros: 15_300, InputTokens: 4000}
		send := func(circuit, kind, lease string, n int) {
			for i := range n {
				o := rich
				o.Circuit, o.Kind, o.Lease, o.ID = circuit, kind, lease, fmt.Sprint(kind, lease, i)
				record := outcome(circuit, kind, "")
				record.Value = schemas.AppendOutcome(nil, &o)
				w.Produce(t, record)
			}
		}
		send("healthy", schemas.Accepted, "", 10)
		for _, kind := range []string{schemas.MissingEvidence, schemas.InvalidContract} {
			send("healthy", kind, "", 1)
		}
		send("ill", schemas.Accepted, "", 2)
		send("ill", schemas.MissingEvidence, "", 2)
		w.await("ill", func(st schemas.State) bool { return st.State == schemas.Open })
		time.Sleep(31 * time.Second)
		w.Produce(t, signal(schemas.Signal{Type: schemas.Claim, Circuit: "ill", Holder: "r", Lease: "L"}))
		w.await("ill", func(st schemas.State) bool { return st.State == schemas.HalfOpen })
		send("ill", schemas.Accepted, "L", 1)
		w.await("ill", func(st schemas.State) bool { return st.State == schemas.Closed && st.Epoch == 2 })
		send("one too many", schemas.Accepted, "", 1)
		w.caughtUp()
		metrics, lines := r.count(t, "ill")
		if healthy, _ := r.count(t, "healthy"); metrics > 25 || healthy > 25 || healthy < 15 {
			t.Errorf("series of a circuit that tripped = %d, of a healthy one = %d, want at most 25", metrics, healthy)
		}
		for _, phase := range schemas.Phases {
			want := float64(index(phase == schemas.Closed))
			if got := value(t, r.metrics.state.WithLabelValues("ill", phase.String())); got != want {
				t.Errorf("fusebox_circuit_state of %v = %v, want %v", phase, got, want)
			}
		}
		shown := make(chan prometheus.Metric, 10)
		r.metrics.acceptance.Collect(shown)
		if len(shown) != 1 {
			t.Errorf("%d circuits show an acceptance, want one: the other has an empty window", len(shown))
		}
		t.Logf("a whole life: %d series, %d lines", metrics, lines)
		if n, _ := r.count(t, "one too many"); n != 0 {
			t.Errorf("the third circuit of two has %d series", n)
		}
		if n, _ := r.count(t, otherCircuits); n == 0 {
			t.Error("the third circuit of two is not counted among the others")
		}
		if got := value(t, r.metrics.open.WithLabelValues("ill")); got < 31 || got > 32 {
			t.Errorf("open seconds = %v, want 31", got)
		}
		w.end(r)
		if n, _ := r.count(t, "ill"); n != 0 {
			t.Errorf("%d series are left of a circuit that is worked on no more", n)
		}
	})
}

// count returns how many series there are of a circuit, and how many lines they take as text.
func (p *process) count(t *testing.T, circuit string) (metrics, lines int) {
	t.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		t.Fatalf("Gather: %v", err)
	}
	var text bytes.Buffer
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "circuit" && l.GetValue() == circuit {
					metrics++
				}
			}
		}
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatalf("MetricFamilyToText: %v", err)
		}
	}
	return metrics, strings.Count(text.String(), fmt.Sprintf("circuit=%q", circuit))
}

// TestCleanupPolicies gives topics, each in its turn, a policy of another kind: nothing starts.
func TestCleanupPolicies(t *testing.T) {
	for _, tt := range []struct {
		topic, policy string
		starts        bool
	}{
		{topics.Changelog, "delete", false},
		{topics.State, "delete", false},
		{topics.Outcomes, "compact", false},
		{topics.Signals, "compact,delete", false},
		{topics.Changelog, "compact,delete", false},
		{topics.State, "delete, compact", false},
		{topics.Transitions, "compact", true},
	} {
		t.Run(tt.topic+" "+tt.policy, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: &tt.policy}}
				admin := kadm.NewClient(w.Client(t))
				if _, err := admin.AlterTopicConfigs(context.Background(), change, tt.topic); err != nil {
					t.Fatalf("AlterTopicConfigs: %v", err)
				}
				r := w.start(nil, nil)
				if tt.starts {
					w.ready(r)
					w.end(r)
					return
				}
				err := w.wait(r)
				if !errors.Is(err, ErrTopics) || !strings.Contains(err.Error(), tt.topic) ||
					!strings.Contains(err.Error(), "fusebox topics check") {
					t.Errorf("Run = %v, want ErrTopics that names %s and what to do", err, tt.topic)
				}
			})
		})
	}
}

// TestSettingsNotTold lets the brokers refuse to tell the settings of topics: the processor works all the same.
func TestSettingsNotTold(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.fake.ControlKey(int16(kmsg.DescribeConfigs), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.fake.KeepControl()
			return nil, errors.New("not told"), true
		})
		r := w.start(nil, nil)
		w.ready(r)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

// TestSettingsOfOneTold gives no right to see the settings of one topic: those of the others count all the same.
func TestSettingsOfOneTold(t *testing.T) {
	for _, hidden := range []string{topics.Outcomes, topics.DeadLetters} {
		t.Run(hidden, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				policy := "delete"
				change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: &policy}}
				admin := kadm.NewClient(w.Client(t))
				if _, err := admin.AlterTopicConfigs(context.Background(), change, topics.Changelog); err != nil {
					t.Fatalf("AlterTopicConfigs: %v", err)
				}
				w.fake.Fault(kfake.Fault{
					Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: hidden, Err: kerr.TopicAuthorizationFailed,
					Count: -1,
				})
				if err := w.wait(w.start(nil, nil)); !errors.Is(err, ErrTopics) {
					t.Errorf("Run = %v, want ErrTopics, as the changelog is not compacted", err)
				}
			})
		})
	}
}
