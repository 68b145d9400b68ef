package audit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestAuditOfRepeatsThatMakeUpForEachOther has an outcome that counts though it seems to repeat one, as its id was
// forgotten, and another that does not count, as it came before the range: by the numbers nothing differs.
func TestAuditOfRepeatsThatMakeUpForEachOther(t *testing.T) {
	r := newRig(t, strict)
	r.outcome(0, "a", good, "one")
	for i := range 62 {
		r.outcome(0, "a", good, fmt.Sprint("before ", i))
	}
	r.outcome(0, "a", good, "two")
	from, first := r.at, len(r.published)
	r.override(1*sec, "a", schemas.Reset)
	r.outcome(2*sec, "a", bad, "one")    // A repeat, as nobody knows who begins here.
	r.outcome(3*sec, "a", good, "after") // One id too many: the first is forgotten.
	r.override(4*sec, "a", schemas.Reset)
	r.outcome(5*sec, "a", bad, "one")
	r.outcome(6*sec, "a", bad, "two") // A repeat.
	r.outcome(7*sec, "a", bad, "three")
	r.outcomesOf(30*sec, "a", good)
	want(t, r.audit(r.since(from), first), "3 same, 0 differ; repeats: 1 of 0 circuits; unchanged: 1 of 0 circuits")
}

// many has rules of every kind that outcomes may move, and a shadow.
const many = `version: 1
defaults: {break: {duration: 2s, backoff: 2, max: 10s, jitter: 0}, half_open: {successes: 2, failures: 1}}
policies:
- name: many
  match: ["*"]
  rules:
  - {name: row, type: consecutive, threshold: 4}
  - {name: ratio, type: ratio, threshold: 0.6, window: 20s, minimum_throughput: 6}
  - {name: count, type: count, kinds: [policy_rejection], threshold: 3, window: 10s}
  - {name: some, type: count, kinds: [missing_evidence], threshold: 2, window: 10s, action: degrade}
- {name: other, shadows: many, rules: [{name: row, type: consecutive, threshold: 3}]}
`

// chance writes traffic of one circuit whose ids repeat: many of few, or few of many. Now and then a day goes by, an
// operator has a word, or policies change.
func chance(r *rig, rng *rand.Rand, policies ...string) {
	at, pool, odds := sec, []int{3, 30, 64, 70, 90, 130, 300}[rng.IntN(7)], rng.IntN(10)
	kinds := []string{good, good, good, bad, schemas.PolicyRejection, schemas.EvaluatorError}
	for i := range 600 {
		at += []time.Duration{0, 300, 600}[rng.IntN(3)] * time.Millisecond
		id := ""
		switch {
		case rng.IntN(10) < odds:
			id = fmt.Sprint(rng.IntN(pool))
		case rng.IntN(5) > 0:
			id = fmt.Sprint("once ", i)
		}
		switch rng.IntN(300) {
		case 0, 1, 2:
			r.override(at, "a", schemas.Reset)
		case 3:
			at += 25 * time.Hour // Begins a new life.
		case 4:
			r.reload(at, policies[rng.IntN(len(policies))])
		case 5:
			r.signal(at, schemas.Signal{
				Type: schemas.Override, Circuit: "a", Mode: schemas.ForceClosed, TTL: 3 * sec,
				Actor: "ann", Reason: "drill",
			})
		}
		lease := fmt.Sprint("lease ", i/10)
		if rng.IntN(5) == 0 {
			r.signal(at, schemas.Signal{Type: schemas.Claim, Circuit: "a", Holder: "r", Lease: lease})
		}
		if rng.IntN(5) > 0 {
			lease = ""
		}
		r.leased(at, "a", kinds[rng.IntN(len(kinds))], id, lease)
	}
}

// TestAuditFromAnywhereWithRepeats audits traffic whose ids repeat from anywhere on, with some of its inputs before.
func TestAuditFromAnywhereWithRepeats(t *testing.T) {
	same, published := int64(0), 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := newRig(t, many)
		chance(r, rng, many, strict, strings.Replace(many, "other", "another", 1))
		want(t, r.audit(r.whole(), 0), fmt.Sprintf("%d same, 0 differ", len(r.published)))
		for range 4 {
			first := rng.IntN(len(r.published))
			report := r.audit(r.anywhere(first, rng), first)
			same, published = same+report.Same, published+len(r.published)-first
			for _, d := range report.Differences {
				t.Errorf("seed %d: the audit from record %d on finds %+v", seed, first, d)
			}
		}
	}
	if same < int64(published)/2 {
		t.Errorf("%d of %d records are audited, want half of them at least", same, published)
	}
}

// anywhere returns the configuration of an audit from a published record on, or from shortly before. One of the changes
// of policies may be missing.
func (r *rig) anywhere(first int, rng *rand.Rand) audit.Config {
	from := r.state(first).Inputs
	from.Outcomes = max(0, from.Outcomes-1-rng.Int64N(40))
	from.Signals = max(0, from.Signals-1)
	c := r.since(from)
	for len(c.Switches) > 0 && c.Switches[0].At.Outcomes < from.Outcomes {
		c.Policies, c.Switches = c.Switches[0].Policies, c.Switches[1:]
	}
	c.Switches = slices.Clone(c.Switches)
	if n := len(c.Switches); n > 1 && rng.IntN(2) == 0 {
		c.Switches[rng.IntN(n-1)].Policies = nil
	}
	return c
}

// TestAuditOfAShadowThatRemembers has a shadow that goes on when its circuit begins a new life: an outcome counts for
// the circuit, and for its shadow it repeats one of before the range.
func TestAuditOfAShadowThatRemembers(t *testing.T) {
	r := newRig(t, strict+`- name: other
  shadows: strict
  half_open: {successes: 2}
  rules: [{name: row, type: consecutive, threshold: 2}]
`)
	r.outcome(0, "a", good, "one")
	from, first := r.at, len(r.published)
	r.outcomesOf(sec, "a", bad, bad)
	r.override(5*sec, "a", schemas.Reset)
	r.outcome(26*time.Hour, "a", good, "one") // The shadow is open still.
	want(t, r.audit(r.since(from), first), "1 same, 0 differ; repeats: 1 of 0 circuits; shadow: 1 of 0 circuits; "+
		"unchanged: 1 of 0 circuits")
}
