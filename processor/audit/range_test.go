package audit_test

import (
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestAuditFromWherePoliciesChange follows a circuit from a change on at whose very inputs other policies came in
// force: they took its shadow away, and its next record says so.
func TestAuditFromWherePoliciesChange(t *testing.T) {
	r := newRig(t, strict+`- {name: sooner, shadows: strict, rules: [{name: row, type: consecutive, threshold: 3}]}`)
	r.outcomesOf(0, "a", good)
	from, first := r.at, len(r.published)
	r.override(5*sec, "a", schemas.Reset)
	r.reload(6*sec, strict)
	r.outcomesOf(10*sec, "a", good, bad, bad)
	want(t, r.audit(r.since(from), first), "2 same, 0 differ; unchanged: 1 of 0 circuits")
}

// TestAuditFromWhereTheClockIsAhead begins behind a record that lies ahead of what follows: it cannot tell when a
// circuit was born until the clock is known again.
func TestAuditFromWhereTheClockIsAhead(t *testing.T) {
	r := newRig(t, strict)
	r.outcome(100*sec, "a", good, "")
	from, first := r.at, len(r.published)
	r.outcome(50*sec, "b", good, "")
	r.outcome(101*sec, "c", bad, "")
	r.outcome(102*sec, "c", bad, "")
	want(t, r.audit(r.since(from), first), "2 same, 0 differ; unchanged: 1 of 1 circuits")
}

// TestAuditOfTheLastRecord alters how far the other input was when the last record was made: beyond all that is there.
func TestAuditOfTheLastRecord(t *testing.T) {
	r := newRig(t, strict)
	r.outcomesOf(0, "a", good, bad, bad)
	last := len(r.published) - 1
	r.alter(last, func(s *schemas.State) { s.Inputs.Signals += 7 })
	r.outcomesOf(5*sec, "a", good)
	report := r.audit(r.whole(), 0)
	if report.Different != 1 || report.Differences[0].What != audit.Differs ||
		report.Differences[0].Offset != int64(last) {
		t.Errorf("the audit finds %+v, want one record that differs, at %d", report.Differences, last)
	}
}

// TestAuditFromTheMillisecondOfABirth begins between the birth of a circuit and its trip, both of one millisecond: what
// its shadow had counted by then is not known.
func TestAuditFromTheMillisecondOfABirth(t *testing.T) {
	r := newRig(t, strict+`- {name: later, shadows: strict, rules: [{name: row, type: consecutive, threshold: 3}]}`)
	r.outcome(0, "a", bad, "")
	from, first := r.at, len(r.published)
	r.outcome(0, "a", bad, "")
	r.outcome(sec, "a", bad, "") // The third for the shadow.
	want(t, r.audit(r.since(from), first), "0 same, 0 differ; shadow: 2 of 0 circuits; unchanged: 1 of 0 circuits")
}

// TestAuditOfAClockThatWasClamped has outcomes with a producer's timestamps, ahead of the clock of the processor, of
// which no record that was published tells: when exactly they were handled nobody knows.
func TestAuditOfAClockThatWasClamped(t *testing.T) {
	const ms = time.Millisecond
	known := func() *rig {
		r := newRig(t, strict)
		r.outcomesOf(0, "a", good, bad, bad) // Opens until 12 s.
		r.outcome(5*sec, "b", good, "")
		return r
	}
	for name, tt := range map[string]struct {
		then func(*rig)
		want string
	}{
		"ahead of the clock, and not of what was published": {func(r *rig) {
			r.stamped(8*sec+50*ms, 8*sec, "b", good, "")
			r.outcome(8*sec+10*ms, "c", good, "")
		}, "3 same, 0 differ; clamped_clock: 1 of 0 circuits"},
		"a transition more": {func(r *rig) {
			r.stamped(time.Hour, 11*sec, "b", good, "")
			r.handled(13 * sec) // Written later than it was so.
			r.signal(11*sec+500*ms, schemas.Signal{Type: schemas.Claim, Circuit: "a", Holder: "r", Lease: "L"})
			r.override(19*sec, "a", schemas.Reset)
		}, "3 same, 0 differ; clamped_clock: 0 of 0 circuits; unchanged: 1 of 0 circuits"},
		"an altered record": {func(r *rig) {
			r.stamped(8*sec-50*ms, 8*sec, "b", good, "")
			r.alter(1, func(s *schemas.State) { s.Attempt++ })
		}, "2 same, 1 differ"},
	} {
		t.Run(name, func(t *testing.T) {
			r := known()
			tt.then(r)
			want(t, r.audit(r.whole(), 0), tt.want)
		})
	}
}

// TestAuditFromAnOverrideThatEnds begins while an override is in force. The next record ends it, and begins a new life
// of the circuit: the one is of before what can be audited, the other is not.
func TestAuditFromAnOverrideThatEnds(t *testing.T) {
	r := newRig(t, strict)
	r.outcomesOf(0, "a", good)
	r.signal(sec, schemas.Signal{
		Type: schemas.Override, Circuit: "a", Mode: schemas.ForceClosed, TTL: 3 * sec, Actor: "ann", Reason: "drill",
	})
	from, first := r.at, len(r.published)
	r.outcomesOf(25*time.Hour, "b", good)
	r.outcomesOf(26*time.Hour, "a", bad, bad)
	want(t, r.audit(r.since(from), first), "3 same, 0 differ; unchanged: 1 of 0 circuits")
}

// TestAuditFromTheMillisecondOfAChange begins between a change and the next record of the circuit, both of one
// millisecond: the second is none of a change, and does not tell which leases were granted.
func TestAuditFromTheMillisecondOfAChange(t *testing.T) {
	r := newRig(t, strict)
	claim := schemas.Signal{Type: schemas.Claim, Circuit: "a", Holder: "r", Lease: "L"}
	r.outcomesOf(0, "a", good, bad, bad)
	r.signal(20*sec, claim)
	from, first := r.at, len(r.published)
	r.leased(20*sec, "a", schemas.EvaluatorError, "", "L")
	r.signal(21*sec, claim) // Refused, as it was used.
	r.outcomesOf(22*sec, "a", good, bad, bad)
	want(t, r.audit(r.since(from), first), "1 same, 0 differ; unchanged: 2 of 0 circuits")
}

// TestAuditOfAShadowThatOutlives has a shadow that began before the range and is open when its circuit is forgotten: in
// the next life it goes on, and a claim of nobody before that does not end it.
func TestAuditOfAShadowThatOutlives(t *testing.T) {
	r := newRig(t, strict+`- {name: sooner, shadows: strict, rules: [{name: row, type: consecutive, threshold: 1}]}`)
	r.outcomesOf(0, "a", bad)
	from, first := r.at, len(r.published)
	r.override(5*sec, "a", schemas.Reset)
	r.signal(26*time.Hour, schemas.Signal{Type: schemas.Claim, Circuit: "a", Holder: "r", Lease: "L"})
	r.outcomesOf(26*time.Hour, "a", bad)
	want(t, r.audit(r.since(from), first), "1 same, 0 differ; shadow: 2 of 0 circuits; unchanged: 1 of 0 circuits")
}
