package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	good = schemas.Accepted
	bad  = schemas.MissingEvidence
	sec  = time.Second
)

// words writes a report briefly: how many records are the same, how many differ, and the gaps by reason.
func words(r *audit.Report) string {
	text := []string{fmt.Sprintf("%d same, %d differ", r.Same, r.Different)}
	for _, g := range r.Gaps {
		text = append(text, fmt.Sprintf("%s: %d of %d circuits", g.Reason, g.Records, g.Circuits))
	}
	return strings.Join(text, "; ")
}

func want(t *testing.T, r audit.Report, want string) {
	t.Helper()
	if got := words(&r); got != want {
		t.Errorf("the audit finds %s, want %s", got, want)
		for _, d := range r.Differences {
			t.Logf("%+v", d)
		}
	}
}

// life is a circuit that opens, is probed by an outcome that fails, then by one that does not, and closes.
func life(r *rig, from time.Duration, circuit string) {
	r.outcomesOf(from, circuit, good, bad, bad)
	r.outcomesOf(from+20*sec, circuit, bad)
	r.outcomesOf(from+50*sec, circuit, good)
}

func TestAuditOfAll(t *testing.T) {
	r := newRig(t, strict)
	life(r, 0, "a")
	life(r, 100*sec, "b")
	n := len(r.published)
	want(t, r.audit(r.whole(), 0), fmt.Sprintf("%d same, 0 differ", n))
	c := r.whole()
	c.Match = "a"
	want(t, r.audit(c, 0), fmt.Sprintf("%d same, 0 differ", n/2))
	r.alter(1, func(s *schemas.State) { s.Attempt++ })
	want(t, r.audit(r.whole(), 0), fmt.Sprintf("%d same, 1 differ", n-1))
}

// TestAuditUnchanged audits from the middle on: what comes before the first change of a circuit is not audited.
func TestAuditUnchanged(t *testing.T) {
	r := newRig(t, strict)
	r.outcomesOf(0, "a", good, bad, good)
	r.outcomesOf(10*sec, "b", good)
	from, first := r.at, len(r.published)
	r.outcomesOf(20*sec, "b", good)
	r.outcomesOf(30*sec, "a", bad, bad) // Opens: what it had counted before is not known.
	r.outcomesOf(50*sec, "a", good)     // Half-open and closed: empty at the trip.
	want(t, r.audit(r.since(from), first), "2 same, 0 differ; unchanged: 1 of 1 circuits")
}

// TestAuditDeleted audits what was published of inputs that retention has deleted.
func TestAuditDeleted(t *testing.T) {
	r := newRig(t, strict)
	life(r, 0, "a")
	from := r.at
	life(r, 100*sec, "b")
	n := len(r.published)
	want(t, r.audit(r.since(from), 0), fmt.Sprintf("%d same, 0 differ; deleted: %d of 0 circuits", n/2, n/2))
}

// TestAuditAcrossSwitches judges by the policies in force: each trip by those of its time.
func TestAuditAcrossSwitches(t *testing.T) {
	r := newRig(t, strict)
	r.outcomesOf(0, "a", good, bad, bad) // Opens at two.
	r.outcomesOf(20*sec, "b", good, bad)
	r.reload(30*sec, lenient)
	r.outcomesOf(30*sec, "b", bad) // Would have opened.
	r.outcomesOf(32*sec, "b", bad) // Opens at three.
	r.outcomesOf(40*sec, "a", good)
	n := len(r.published)
	report := r.audit(r.whole(), 0)
	want(t, report, fmt.Sprintf("%d same, 0 differ", n))
	if report.Switches != 1 {
		t.Errorf("it counts %d switches, want 1", report.Switches)
	}
	c := r.whole()
	c.Switches = nil
	report = r.audit(c, 0)
	if report.Different == 0 || !slices.ContainsFunc(report.Differences, func(d audit.Difference) bool {
		return strings.HasPrefix(d.Why, "policies ")
	}) {
		t.Errorf("without the switch it finds %s, %+v, want differences because of policies", words(&report),
			report.Differences)
	}
}

// TestAuditWithoutPolicies goes through a stretch whose policies are not at hand, and on behind it.
func TestAuditWithoutPolicies(t *testing.T) {
	r := newRig(t, strict)
	life(r, 0, "a")
	before := len(r.published)
	r.outcomesOf(90*sec, "a", good)
	r.reload(100*sec, lenient)
	r.outcomesOf(100*sec, "b", good, bad, bad, bad, good) // First seen, and opens.
	r.reload(200*sec, strict)
	r.outcomesOf(210*sec, "b", good)     // Half-open and closed, and so empty: from here on it is audited.
	r.outcomesOf(220*sec, "b", bad, bad) // Opens.
	c := r.whole()
	c.Switches[0].Policies = nil
	report := r.audit(c, 0)
	want(t, report, fmt.Sprintf("%d same, 0 differ; no_policy: 2 of 0 circuits; unchanged: 2 of 0 circuits", before+1))
	if absent := report.Gaps[0].Policies; !slices.Equal(absent, []string{c.Switches[0].Version}) {
		t.Errorf("the gap names policies %q, want %s", absent, c.Switches[0].Version)
	}
}

// TestAuditOfAClampedClock has a producer whose clock is an hour ahead.
func TestAuditOfAClampedClock(t *testing.T) {
	r := newRig(t, strict)
	r.outcomesOf(0, "a", good, bad)
	r.stamped(time.Hour, 2500*time.Millisecond, "a", bad, "") // Opens, and says when.
	want(t, r.audit(r.whole(), 0), "2 same, 0 differ")

	r.outcomesOf(20*sec, "b", good)
	r.stamped(time.Hour, 21*sec, "b", bad, "") // When it was handled nobody knows.
	r.outcome(21*sec+50*time.Millisecond, "b", bad, "")
	want(t, r.audit(r.whole(), 0), "3 same, 0 differ; clamped_clock: 1 of 0 circuits")
	r.outcomesOf(60*sec, "b", good)     // Half-open and closed: from here on it is audited again.
	r.outcomesOf(70*sec, "b", bad, bad) // Opens.
	want(t, r.audit(r.whole(), 0), "4 same, 0 differ; clamped_clock: 1 of 0 circuits; unchanged: 2 of 0 circuits")
}

// TestAuditOfACrowd has more circuits than fit into memory.
func TestAuditOfACrowd(t *testing.T) {
	r := newRig(t, strict)
	for i, circuit := range []string{"a", "b", "c", "d"} {
		life(r, time.Duration(i)*100*sec, circuit)
	}
	c := r.whole()
	c.Most = 2
	n := int64(len(r.published))
	want(t, r.audit(c, 0), fmt.Sprintf("%d same, 0 differ; crowded: %d of 2 circuits", n/2, n/2))

	r = newRig(t, strict)
	r.outcomesOf(0, "a", good)
	for i := range 10_000 { // Until a is swept.
		r.outcome(25*time.Hour+time.Duration(i)*time.Millisecond, "b", good, "")
	}
	r.outcomesOf(26*time.Hour, "c", good)
	r.outcomesOf(26*time.Hour+sec, "a", good, bad, bad) // In the new life there is no room for it.
	c = r.whole()
	c.Most = 2
	want(t, r.audit(c, 0), "3 same, 0 differ; crowded: 2 of 1 circuits")
}

// TestAuditOfRepeats has an outcome that came before the range already.
func TestAuditOfRepeats(t *testing.T) {
	r := newRig(t, strict)
	r.outcome(0, "a", bad, "one")
	from, first := r.at, len(r.published)
	r.override(5*sec, "a", schemas.Reset) // A change: followed from here on.
	r.outcome(10*sec, "a", bad, "one")    // Counts for nothing, as the cause says.
	r.outcome(11*sec, "a", good, "two")
	r.outcome(12*sec, "a", bad, "three")
	r.outcome(13*sec, "a", bad, "four")
	r.outcomesOf(30*sec, "a", good)
	want(t, r.audit(r.since(from), first), "2 same, 0 differ; repeats: 1 of 0 circuits; unchanged: 1 of 0 circuits")
}

// TestAuditOfAnOutcomeHeldUp has an outcome handled behind a newer signal, as its partition was slow to show it: it is
// late then, and by the order of the timestamps it would not be. The processor says so.
func TestAuditOfAnOutcomeHeldUp(t *testing.T) {
	for name, tt := range map[string]struct {
		held time.Duration // When the outcome was written that is handled behind a signal of 20 s.
		kind string
	}{
		"a trip more":  {10 * sec, good},
		"a trip less":  {10 * sec, bad},
		"not late yet": {16 * sec, good},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, strings.Replace(strict, "threshold: 2}",
				"threshold: 2}, {name: wide, type: count, threshold: 900, window: 5s}", 1))
			r.outcomesOf(0, "a", good, bad)
			r.signal(20*sec, schemas.Signal{Type: schemas.Claim, Circuit: "b", Holder: "r", Lease: "L"})
			r.handled(20 * sec)
			r.outcome(tt.held, "a", tt.kind, "")
			r.outcomesOf(21*sec, "a", bad, bad)
			r.outcomesOf(60*sec, "a", good)
			want(t, r.audit(r.whole(), 0), fmt.Sprintf("%d same, 0 differ", len(r.published)-1))
			c := r.whole()
			c.Match = "a" // Of the circuits it may be told to pass over, not of the order.
			want(t, r.audit(c, 0), fmt.Sprintf("%d same, 0 differ", len(r.published)-1))
		})
	}
}

// TestAuditOfAnAlteredOrder has what tells of the order say what cannot be.
func TestAuditOfAnAlteredOrder(t *testing.T) {
	r := newRig(t, strict)
	life(r, 0, "a")
	r.at.Outcomes, r.at.Signals = r.at.Outcomes-3, r.at.Signals+7
	r.handled(0)
	r.at.Outcomes, r.at.Signals = r.at.Outcomes+3, r.at.Signals-7
	life(r, 600*sec, "a")
	report := r.audit(r.whole(), 0)
	if report.Different != 1 || report.Differences[0].What != audit.Unreadable {
		t.Errorf("the audit finds %+v, want one record that cannot be read", report.Differences)
	}
}

// TestAuditOfRecovery has a trip whose attempt depends on a recovery before the range.
func TestAuditOfRecovery(t *testing.T) {
	r := newRig(t, strict)
	life(r, 0, "a") // Recovers at 50 s.
	from, first := r.at, len(r.published)
	r.override(600*sec, "a", schemas.ForceClosed)
	r.override(620*sec, "a", schemas.Clear)
	r.outcomesOf(650*sec, "a", bad, bad) // As a first attempt, for ten minutes have gone by.
	want(t, r.audit(r.since(from), first), "1 same, 0 differ; recovery: 1 of 0 circuits; unchanged: 1 of 0 circuits")
}

// TestAuditOfAShadow has a shadow that has counted since before the range.
func TestAuditOfAShadow(t *testing.T) {
	r := newRig(t, strict+`- {name: sooner, shadows: strict, rules: [{name: row, type: consecutive, threshold: 3}]}`)
	r.outcomesOf(0, "a", good, bad)
	from, first := r.at, len(r.published)
	r.outcomesOf(10*sec, "a", bad, bad)
	r.outcomesOf(30*sec, "a", good, good)
	want(t, r.audit(r.since(from), first), "2 same, 0 differ; shadow: 4 of 0 circuits; unchanged: 1 of 0 circuits")
	want(t, r.audit(r.whole(), 0), fmt.Sprintf("%d same, 0 differ", len(r.published)))
}

// TestAuditOfAShadowOfOneMoment begins within the millisecond in which a circuit was born: what its shadow counted
// before that nobody knows, though all that is published of it would be the same.
func TestAuditOfAShadowOfOneMoment(t *testing.T) {
	r := newRig(t, strict+`- {name: sooner, shadows: strict, rules: [{name: row, type: consecutive, threshold: 3}]}`)
	r.outcomesOf(0, "a", bad)
	from, first := r.at, len(r.published)
	r.outcomesOf(0, "a", schemas.EvaluatorError)
	r.outcomesOf(10*sec, "a", bad, bad)
	want(t, r.audit(r.since(from), first), "0 same, 0 differ; shadow: 2 of 0 circuits; unchanged: 1 of 0 circuits")
}
