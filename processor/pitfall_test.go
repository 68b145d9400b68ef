package processor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// The rows of PITFALLS.md that concern the core, each by its number. More stand in the policy tests.

const plain = `version: 1
defaults:
  minimum_throughput: 2
  break: {duration: 30s, backoff: 1, jitter: 0}
  half_open: {lease: 10s, implicit: false}
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.5}]}]
`

func opened(t *testing.T) *rig {
	r := newRig(t, plain)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract)
	if s := r.state(t, 0); s.State != schemas.Open {
		t.Fatalf("the circuit is %+v, want it open", s)
	}
	return r
}

// TestPitfall23LostProbes loses probes in every way, for days: at no time is a claim refused for longer than a lease
// and a break together.
func TestPitfall23LostProbes(t *testing.T) {
	losses := map[string]func(*rig, time.Duration, string){
		"expired":  func(*rig, time.Duration, string) {},
		"released": func(r *rig, at time.Duration, lease string) { r.release(at, lease) },
		"neutral": func(r *rig, at time.Duration, lease string) {
			r.outcome(at, schemas.Outcome{Kind: schemas.Cancelled, Lease: lease})
		},
	}
	for name, lose := range losses {
		r := opened(t)
		last := time.Duration(0)
		for at := time.Second; at < 48*time.Hour; at += 10 * time.Second {
			lease := fmt.Sprint("lease-", at)
			if r.claim(at, lease).Granted {
				last = at
				lose(r, at, lease)
			}
			if at-last > 51*time.Second {
				t.Fatalf("%s: at %v no claim has been granted since %v", name, at, last)
			}
		}
	}
}

// TestPitfall24NotTheRoutesFault cancels calls and loses evaluators, as many as there may be: the route is not blamed.
func TestPitfall24NotTheRoutesFault(t *testing.T) {
	r := newRig(t, plain)
	for range 100 {
		if got := r.outcomes(0, schemas.Cancelled, schemas.EvaluatorError); got.Why != processor.IsNeutral {
			t.Fatalf("an evaluator's error is %v", got.Why)
		}
	}
	if s := r.state(t, 0); s.State != schemas.Closed || s.Sequence != 1 {
		t.Errorf("the circuit is %+v, want nothing to have happened", s)
	}
}

// TestPitfall25LateResults brings results of calls from before the trip: they move nothing and publish nothing.
func TestPitfall25LateResults(t *testing.T) {
	r := opened(t)
	was := r.state(t, 0)
	for _, kind := range []string{schemas.Accepted, schemas.TransportFailure, schemas.Cancelled} {
		for _, at := range []time.Duration{time.Second, 29 * time.Second, 31 * time.Second, time.Hour} {
			o := schemas.Outcome{Kind: kind, RetryAfterMS: 99_000, LatencyMS: 7_200_000}
			if got := r.outcome(at, o); got.States != nil || got.Why != processor.WhileOpen {
				t.Errorf("a late %s at %v did %+v, want it told apart as while_open", kind, at, got)
			}
		}
	}
	s := r.state(t, time.Hour)
	if s.RetryAt != was.RetryAt || s.ChangedAt != was.ChangedAt || s.Sequence != was.Sequence {
		t.Errorf("the circuit is %+v, was %+v", s, was)
	}
}

// TestPitfall26And27OldProbes lets a probe answer when a newer trip and a newer lease are there: it closes nothing, and
// frees no place for another.
func TestPitfall26And27OldProbes(t *testing.T) {
	r := opened(t)
	r.claim(30*time.Second, "old")
	r.claim(40*time.Second, "new")
	r.outcome(41*time.Second, schemas.Outcome{Kind: schemas.InvalidContract, Lease: "new"})
	r.claim(71*time.Second, "newest")
	for _, lease := range []string{"old", "new"} {
		got := r.outcome(72*time.Second, schemas.Outcome{Kind: schemas.Accepted, Lease: lease})
		if got.Why != processor.Stale || got.States != nil {
			t.Errorf("the result of probe %q did %+v, want it stale", lease, got)
		}
		r.release(72*time.Second, lease)
	}
	if got := r.claim(72*time.Second, "extra"); got.Granted {
		t.Error("results of old probes made room for another")
	}
	s := r.state(t, 72*time.Second)
	if s.State != schemas.HalfOpen || len(s.Leases) != 1 || s.Leases[0].ID != "newest" {
		t.Errorf("the circuit is %+v, want the newest lease in it", s)
	}
}

// TestPitfall32CountsBeforeTheyAreCleared finds in the record of a trip what the trip cleared.
func TestPitfall32CountsBeforeTheyAreCleared(t *testing.T) {
	r := newRig(t, plain)
	r.outcomes(0, schemas.Cancelled, schemas.Accepted)
	s := r.outcomes(time.Second, schemas.MissingEvidence).States
	if len(s) != 1 || s[0].Cause == nil || s[0].Cause.Throughput != 2 ||
		s[0].Cause.ByKind[schemas.MissingEvidence] != 1 ||
		s[0].Cause.NotCounted.Neutral != 1 || len(s[0].Cause.Evidence) != 1 {
		t.Errorf("the trip published %+v, want all that it was judged by", s)
	}
}

// TestPitfall28Streaks lets much time pass between failures in a row, and neutral outcomes come: the row goes on. A
// success alone ends it.
func TestPitfall28Streaks(t *testing.T) {
	r := newRig(t, `version: 1
defaults: {window: 1s, idle_after: 720h}
policies: [{name: p, match: ["*"], rules: [{name: s, type: consecutive, threshold: 3}]}]`)
	r.outcomes(0, schemas.InvalidContract, schemas.InvalidContract, schemas.Accepted, schemas.TransportFailure)
	r.outcomes(10*time.Hour, schemas.Cancelled, schemas.EvaluatorError, "made_up")
	if got := r.outcomes(20*time.Hour, schemas.InvalidContract); got.Tripped != nil {
		t.Errorf("tripped for %+v after two in a row", got.Tripped)
	}
	got := r.outcomes(200*time.Hour, schemas.MissingEvidence)
	if got.Tripped == nil || got.Tripped.Observed != 3 || got.Tripped.Since != t0 {
		t.Errorf("the third in a row did %+v, want a trip for three since the first of them", got.Tripped)
	}
}

// TestPitfall30AfterSilence lets the first outcome after a long silence be a failure, under a policy that says nothing
// of a least throughput: it is one of one, and no rate.
func TestPitfall30AfterSilence(t *testing.T) {
	r := newRig(t, `version: 1
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0.01}]}]`)
	for range 1000 {
		r.outcomes(0, schemas.Accepted)
	}
	if got := r.outcomes(12*time.Hour, schemas.InvalidContract); got.Tripped != nil || got.Why != processor.Counted {
		t.Errorf("the first failure after silence did %+v, want it counted and nothing else", got)
	}
}

// TestPitfall31TheClock steps back and forth: no record from the past or the future holds a window up.
func TestPitfall31TheClock(t *testing.T) {
	r := newRig(t, plain)
	r.outcomes(0, schemas.Accepted, schemas.Accepted)
	r.outcome(0, schemas.Outcome{Kind: schemas.InvalidContract, Time: t0.Add(1000 * time.Hour)})
	r.outcomes(-50*time.Second, schemas.Accepted)
	if got := r.Clock(); got != t0 {
		t.Fatalf("Clock = %v after a record from before, want %v", got, t0)
	}
	r.outcomes(61*time.Second, schemas.Accepted)
	r.outcomes(61*time.Second, schemas.Accepted)
	if got := r.outcomes(62*time.Second, schemas.InvalidContract); got.Tripped != nil {
		t.Errorf("tripped for %+v: the outcome from the future is still there", got.Tripped)
	}
	if got := r.outcomes(62*time.Second, schemas.InvalidContract); got.Tripped == nil || got.Tripped.Throughput != 4 {
		t.Errorf("the second failure of four did %+v, want a trip", got)
	}
}

// TestPitfall35Reload keeps counts, state and safety through reloads that say less than before.
func TestPitfall35Reload(t *testing.T) {
	r := newRig(t, plain)
	r.outcomes(0, schemas.InvalidContract)
	r.Reload(read(t, strings.Replace(plain, "duration: 30s, ", "", 1)), schemas.Inputs{})
	s := r.outcomes(time.Second, schemas.InvalidContract).States
	if len(s) != 1 || s[0].State != schemas.Open || s[0].RetryAt != t0.Add(31*time.Second) {
		t.Errorf("after a reload the second failure published %+v, want a trip for 30s, the default", s)
	}
	if states := r.Reload(read(t, plain), schemas.Inputs{}); states != nil || r.state(t, 0).State != schemas.Open {
		t.Errorf("a reload of an open circuit published %+v, want nothing", states)
	}
	const zero = `version: 1
policies: [{name: p, match: ["*"], rules: [{name: r, type: ratio, threshold: 0}]}]`
	if _, err := breaker.Read("p.yaml", []byte(zero)); err == nil {
		t.Error("a threshold of 0 passed")
	}
}

// TestPitfall36StaleTimers lets the time of an override run out that another has replaced.
func TestPitfall36StaleTimers(t *testing.T) {
	r := newRig(t, plain)
	r.override(0, schemas.ForceOpen, time.Minute)
	r.override(30*time.Second, schemas.ForceOpen, 0)
	for _, at := range []time.Duration{59 * time.Second, time.Minute, time.Hour} {
		if s := r.outcomes(at, schemas.Accepted).States; s != nil || r.state(t, at).State != schemas.ForcedOpen {
			t.Errorf("at %v %+v was published, want the newer override to stand", at, s)
		}
	}
}

// TestPitfall37Labels sends a thousand kinds that nobody declared: as labels, and in causes, they are one.
func TestPitfall37Labels(t *testing.T) {
	r := newRig(t, `version: 1
policies: [{name: p, match: ["*"], rules: [{name: s, type: sum, of: tokens, threshold: 1000}]}]`)
	for i := range 1000 {
		got := r.outcome(0, schemas.Outcome{Kind: fmt.Sprint("made_up_", i), InputTokens: 1})
		if got.Kind != schemas.UnknownKind {
			t.Fatalf("the label of a made-up kind is %q", got.Kind)
		}
	}
	c := r.state(t, 0).Cause
	if c == nil || len(c.ByKind) != 1 || c.ByKind[schemas.UnknownKind] != 1000 || c.Kind != schemas.UnknownKind {
		t.Errorf("the cause is %+v, want a thousand of one kind", c)
	}
}

// TestPitfall39And40RetryAfter takes what a route asks for at its word only between nothing and the limit.
func TestPitfall39And40RetryAfter(t *testing.T) {
	for asked, want := range map[int64]time.Duration{
		-1 << 63: 30 * time.Second, -1: 30 * time.Second, 0: 30 * time.Second, 29_999: 30 * time.Second,
		30_001: 30_001 * time.Millisecond, 600_000: 10 * time.Minute, 600_001: 10 * time.Minute,
		86_400_000: 10 * time.Minute, 1<<63 - 1: 10 * time.Minute,
	} {
		r := newRig(t, plain)
		got := r.outcome(0, schemas.Outcome{Kind: schemas.TransportFailure, Count: 2, RetryAfterMS: asked})
		if s := got.States[len(got.States)-1]; s.RetryAt != t0.Add(want) {
			t.Errorf("a trip that asks for %d ms ends at %v, want %v after", asked, s.RetryAt, want)
		}
	}
	var o schemas.Outcome
	if err := schemas.DecodeOutcome([]byte("c"), []byte(`{"kind":"accepted","retry_after_ms":-1}`), &o); err == nil {
		t.Error("a negative retry_after_ms passed the decoder")
	}
}

// TestPitfall38Reasons sends outcomes whose free text is a prompt with a key in it: nothing that is published of the
// trip, or kept of the circuit, has a word of it.
func TestPitfall38Reasons(t *testing.T) {
	const secret = "sk-live-0123456789"
	r := newRig(t, plain)
	var result processor.Result
	for range 2 {
		result = r.outcome(0, schemas.Outcome{Kind: schemas.InvalidContract, Reason: "asked with " + secret})
	}
	if len(result.States) != 1 || result.States[0].Cause == nil {
		t.Fatalf("published %+v, want a trip", result.States)
	}
	if text := string(schemas.AppendState(nil, &result.States[0])); strings.Contains(text, secret) {
		t.Errorf("published %s with the text of an outcome", text)
	}
	for circuit, value := range r.values() {
		if strings.Contains(string(value), secret) {
			t.Errorf("the value of %s holds the text of an outcome", circuit)
		}
	}
}

// TestPitfall41OneCounterEach sends many failures of one kind and few of another: each rule counts its own.
func TestPitfall41OneCounterEach(t *testing.T) {
	r := newRig(t, `version: 1
policies:
- name: p
  match: ["*"]
  rules:
  - {name: timeouts, type: count, kinds: [transport_failure], threshold: 12}
  - {name: auth, type: count, kinds: [policy_rejection], threshold: 3}
  - {name: in-a-row, type: consecutive, kinds: [policy_rejection], threshold: 3}`)
	for range 10 {
		r.outcomes(0, schemas.TransportFailure)
	}
	r.outcomes(0, schemas.PolicyRejection, schemas.TransportFailure)
	if got := r.outcomes(0, schemas.PolicyRejection); got.Tripped != nil {
		t.Errorf("tripped for %+v: eleven of one kind and two of the other", got.Tripped)
	}
	if got := r.outcomes(0, schemas.PolicyRejection).Tripped; got == nil || got.Rule != "auth" || got.Observed != 3 {
		t.Errorf("the third of its kind did %+v, want its own rule, for three", got)
	}
}

// TestPitfall42WhyItOpened opens a circuit in every way that is not an operator's: each says why.
func TestPitfall42WhyItOpened(t *testing.T) {
	r := opened(t)
	causes := []*schemas.Cause{r.state(t, 0).Cause}
	r.claim(30*time.Second, "A")
	failed := r.outcome(31*time.Second, schemas.Outcome{Kind: schemas.TransportFailure, Lease: "A"})
	causes = append(causes, failed.Tripped)
	for i, lease := range []string{"B", "C", "D"} {
		r.claim(time.Minute+time.Second+time.Duration(i)*10*time.Second, lease)
	}
	causes = append(causes, r.claim(100*time.Second, "E").Tripped)
	for i, rule := range []string{"r", "probe_failed", "probes_inconclusive"} {
		c := causes[i]
		if c == nil || c.Rule != rule || c.Policy != "p" || c.PolicyVersion == "" || c.At.IsZero() || c.Observed == 0 ||
			c.Threshold == 0 {
			t.Errorf("opening %d says %+v, want why: %s", i, c, rule)
		}
	}
	for i, kind := range []string{schemas.InvalidContract, schemas.TransportFailure} { // Of those that outcomes caused.
		c := causes[i]
		if c.Kind != kind || len(c.ByKind) != 1 || c.ByKind[kind] == 0 || c.Weights[kind] == 0 || c.Since.IsZero() ||
			len(c.Evidence) != int(c.ByKind[kind]) || c.Evidence[0].Kind != kind || i == 0 && c.Throughput != 2 {
			t.Errorf("opening %d says %+v, want how many of which kind, since when, and which", i, c)
		}
	}
	if s := r.override(101*time.Second, schemas.ForceOpen, 0).States; len(s) != 1 || s[0].Override == nil ||
		s[0].Override.Actor != "ana" || s[0].Override.Reason != "drill" {
		t.Errorf("an operator's word published %+v, want who and why", s)
	}
}
