package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/internal/oracle"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// loadPolicies have short windows and breaks, and rules of every type.
const loadPolicies = `version: 1
kinds: [tool_misuse]
defaults:
  window: 3s
  minimum_throughput: 8
  break: {duration: 700ms, backoff: 1.5, max: 3s, jitter: 0.2, healthy_after: 2s}
  half_open: {concurrency: 2, successes: 2, failures: 1, lease: 1s, implicit: false}
  ramp: [{share: 0.3, for: 200ms}, {share: 0.7, for: 200ms}]
policies:
- name: ratios
  match: ["case:route-0*", "case:route-1*"]
  kinds: {tool_misuse: 2}
  evaluator_weights: {llm: 0.5}
  rules:
  - {name: invented, type: immediate, kinds: [contradictory_evidence], severity: critical}
  - {name: failure-ratio, type: ratio, threshold: 0.5}
  - {name: down, type: consecutive, kinds: [transport_failure], threshold: 3}
  - {name: evidence-watch, type: count, kinds: [missing_evidence], threshold: 3, action: degrade}
- name: unasked
  match: ["case:route-2*"]
  half_open: {implicit: true}
  rules:
  - {name: lately, type: ratio, threshold: 0.5, last: 20}
  - {name: slow, type: slow_ratio, over: 2s, threshold: 0.6}
- name: watched
  match: ["case:route-3*"]
  enforce: false
  rules:
  - {name: spend, type: sum, of: cost_usd, threshold: 0.5}
  - {name: rejections, type: count, kinds: [policy_rejection], threshold: 4}
- name: short-lived
  match: ["brief:*"]
  idle_after: 1s
  rules: [{name: failures, type: count, threshold: 3, window: 1s}]
- name: rest
  match: ["*"]
  rules: [{name: failure-ratio, type: ratio, threshold: 0.4}]
`

// recordedPolicies see a model that was changed without a word.
const recordedPolicies = `version: 1
defaults: {break: {duration: 1h, max: 1h}}
policies:
- {name: all, match: ["*"], rules: [{name: lately, type: ratio, threshold: 0.5, last: 50}]}
`

// TestKafka runs the binary against Apache Kafka in a container.
func TestKafka(t *testing.T) {
	k := kafkatest.Start(t)
	t.Run("killed under load", func(t *testing.T) { testKilled(t, k) })
	t.Run("recorded outcomes", func(t *testing.T) { testRecorded(t, k) })
}

// testKilled kills processors under load three times, one of two and in the end both, and compares what came of it with
// the pure core.
func testKilled(t *testing.T, k *kafkatest.Kafka) {
	kafkatest.Require(t, "kcat")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	f := install(t, k, "killed", loadPolicies)
	a, b := f.run("a", 2), f.run("b", 1)
	a.awaitReady("")
	b.awaitReady("")

	l := newLoad(f, rand.New(rand.NewPCG(seed, 1)))
	l.begin()
	moment := func() { pause(t.Context(), time.Duration(1500+rng.IntN(3500))*time.Millisecond) }
	for _, loseData := range []bool{false, true} {
		moment()
		victim := []*runner{a, b}[rng.IntN(2)]
		t.Logf("kill %s, its data is lost: %v", victim.name, loseData)
		victim.kill()
		if loseData {
			if err := os.RemoveAll(victim.dir); err != nil {
				t.Fatal(err)
			}
		}
		victim.start()
	}
	moment()
	t.Log("kill both")
	a.kill()
	b.kill()
	pause(t.Context(), 4*time.Second) // Outcomes and signals pile up.
	a.start()
	b.start()
	pause(t.Context(), 3*time.Second)
	l.end()
	if l.lost > 0 {
		t.Fatalf("%d records were not acknowledged: %v", l.lost, l.failed)
	}

	f.awaitCaughtUp()
	a.awaitReady("")
	b.stop()
	a.awaitReady("(?s)" + strings.Repeat(`\[\+\] partition \d: ok.*`, partitionsUnderLoad))
	a.checkCounters(l)
	f.awaitCaughtUp()
	status := f.output("status", "--json")
	a.stop()

	want := f.check()
	l.check(want)
	checkStatus(t, status, want)
}

// checkCounters looks whether outcomes that come while one processor has all partitions are counted there once.
func (r *runner) checkCounters(l *load) {
	t := r.f.t
	t.Helper()
	outcomes := func() float64 { return r.metric("fusebox_outcomes_total") }
	handled := func() float64 {
		return r.metric("fusebox_records_total", `result="handled"`, `topic="`+l.topics.Outcomes+`"`)
	}
	const more = 200
	counted, records := outcomes(), handled()
	if records == 0 {
		t.Errorf("fusebox_records_total = 0 after the load")
	}
	r.f.Produce(t, l.more(more)...)
	r.f.until("counters", func() (bool, string) {
		got, read := outcomes()-counted, handled()-records
		return got >= more && read >= more, fmt.Sprintf("%v counted, %v handled, want %d", got, read, more)
	})
	if got, read := outcomes()-counted, handled()-records; got != more || read != more {
		t.Errorf("of %d outcomes fusebox_outcomes_total counts %v, fusebox_records_total %v", more, got, read)
	}
}

// check compares what was published with what the pure core says, and logs what that was.
func (f *installation) check() *oracle.Expected {
	f.t.Helper()
	return f.compare(f.log())
}

// log reads the topics.
func (f *installation) log() *oracle.Log {
	f.t.Helper()
	metadata, err := kadm.NewClient(f.Client(f.t)).Metadata(f.t.Context(), f.topics.Outcomes, f.topics.Signals)
	if err != nil {
		f.t.Fatalf("look at the topics: %v", err)
	}
	policies, err := breaker.Read("policies.yaml", []byte(f.policies))
	if err != nil {
		f.t.Fatal(err)
	}
	log := &oracle.Log{
		Outcomes: f.ReadCommitted(f.t, f.topics.Outcomes), Signals: f.ReadCommitted(f.t, f.topics.Signals),
		Transitions: f.ReadCommitted(f.t, f.topics.Transitions), States: f.ReadCommitted(f.t, f.topics.State),
		DeadLetters: f.ReadCommitted(f.t, f.topics.DeadLetters),
		Group:       f.group, Cluster: metadata.Cluster, TopicIDs: map[string]string{},
		Partitions: partitionsUnderLoad, Policies: []*breaker.Policies{policies},
	}
	for name, topic := range metadata.Topics {
		log.TopicIDs[name] = base64.RawURLEncoding.EncodeToString(topic.ID[:])
	}
	return log
}

func (f *installation) compare(log *oracle.Log) *oracle.Expected {
	f.t.Helper()
	want, err := oracle.Check(log)
	if err != nil {
		f.t.Errorf("what was published is not what had to be:\n%v", err)
	}
	f.t.Logf("%d outcomes, %d signals: %v; %d transitions of %d circuits, %d dead letters, %d records forwarded, "+
		"%d of them again", len(log.Outcomes), len(log.Signals), want.Outcomes, want.Count(), len(want.States),
		len(want.Letters), len(want.Forwarded), want.Dropped)
	f.audited(want)
	return want
}

// audited looks whether an audit compares all that was published, and finds no difference.
func (f *installation) audited(want *oracle.Expected) {
	f.t.Helper()
	var got auditReport
	said := f.printed(exitProblems, "audit", "--since", "24h", "--json")
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		f.t.Fatalf("audit --json: %v", err)
	}
	if got.Same < int64(want.Count()) || got.Different > 0 || len(got.Gaps) > 0 {
		f.t.Errorf("audit of %d transitions says\n%s", want.Count(), said)
	}
}

// checkStatus compares what status printed with the newest records, byte for byte.
func checkStatus(t *testing.T, printed string, want *oracle.Expected) {
	t.Helper()
	got := map[string]bool{}
	for line := range strings.Lines(printed) {
		var record struct{ Circuit string }
		line = strings.TrimSuffix(line, "\n")
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("status --json printed %q: %v", line, err)
		}
		if got[record.Circuit] || line != want.States[record.Circuit] {
			t.Errorf("status --json printed\n%s\nof %s, want\n%s", line, record.Circuit, want.States[record.Circuit])
		}
		got[record.Circuit] = true
	}
	for circuit, state := range want.States {
		if !got[circuit] && !want.Idle[circuit] {
			t.Errorf("status --json does not print %s, want %s", circuit, state)
		}
	}
}

// check looks whether every outcome was handled as often as it was sent, and whether the load was what it is meant to
// be.
func (l *load) check(want *oracle.Expected) {
	t := l.f.t
	t.Helper()
	l.compare(t, want)
	for _, why := range processor.Whys {
		if why != processor.OverLimit && want.Outcomes[why] == 0 {
			t.Errorf("the load had no outcome that was %s", why)
		}
	}
	if len(want.Forwarded) == 0 || len(want.Letters) == 0 {
		t.Errorf("the load had %d records for other partitions and %d that cannot be read, want some of both",
			len(want.Forwarded), len(want.Letters))
	}
}

// testRecorded sends recorded outcomes by way of emit, and reads in status what came of them.
func testRecorded(t *testing.T, k *kafkatest.Kafka) {
	const circuit = "happy-number:gpt-4:v1"
	recorded := kafkatest.Shared(t, "data", "llmdrift", "happy-number.gpt-4.jsonl")
	f := install(t, k, "recorded", recordedPolicies)
	r := f.run("a", 1)
	r.awaitReady("")
	got := f.output("emit", "--retime", "--speed", "200", recorded)
	if !strings.HasPrefix(got, "sent 1000, refused 0, ") {
		t.Errorf("emit printed %q, want 1000 sent and none refused", got)
	}
	f.awaitCaughtUp()
	status := f.output("status") + "\n" + f.output("status", circuit)
	t.Logf("status\n%s", status)
	for _, words := range []string{
		"open   " + circuit,
		"lately: 25 of the last 50 outcomes failed (0.5, threshold 0.5), all business_rule_failure (25)",
		"happy-number.gpt-4-00533",
	} {
		if !strings.Contains(status, words) {
			t.Errorf("status does not say %q", words)
		}
	}
	r.stop()
	want := f.check()
	if final, _ := want.Final(circuit); final.State != schemas.Open || final.Cause.Rule != "lately" {
		t.Errorf("final state of %s is %v, want open by lately", circuit, final.State)
	}
	if !slices.Equal(strings.Fields(f.output("status", circuit, "--json")), strings.Fields(want.States[circuit])) {
		t.Errorf("status %s --json printed something else than %s", circuit, want.States[circuit])
	}
}
