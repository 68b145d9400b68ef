package main

import (
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/processor/audit"
)

func TestGapWords(t *testing.T) {
	for reason, want := range map[audit.Reason]string{
		audit.Unchanged:    "3 transitions, from before the first change of their circuit here; 2 circuits never",
		audit.Deleted:      "3 transitions, as retention has deleted the outcomes or signals that made them",
		audit.NoPolicy:     "3 transitions, as the policies in force are not at hand: 0123, 4567",
		audit.ClampedClock: "3 transitions, as a timestamp in the future was clamped to the wall clock, which nobody",
		audit.Repeats:      "3 transitions, as an outcome may repeat one from before the range, whose id",
		audit.Recovery:     "3 transitions, as it is not known when their circuit recovered before the range",
		audit.Beside:       "3 transitions, as a shadow judges their circuit since before the range, and what it has",
		audit.Crowded:      "3 transitions, of 2 circuits or more, as there are more than fit into memory: name",
	} {
		gap := audit.Gap{Reason: reason, Circuits: 2, Records: 3}
		if reason == audit.NoPolicy {
			gap.Policies = []string{"0123", "4567"}
		}
		if got := gapWords(&gap); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

// TestAuditCountsChanges: a change of the policy file is a switch of policies in each partition, and one to a reader.
func TestAuditCountsChanges(t *testing.T) {
	var r auditReport
	for _, switches := range []int{2, 2, 1} { // In the third no circuit is heard of yet when the first one comes.
		r.add(&audit.Report{Same: 1, Circuits: 1, Switches: switches})
	}
	var out strings.Builder
	if err := r.write(&out); err != nil || !strings.Contains(out.String(), " under 2 switches of policies: ") {
		t.Errorf("of 3 partitions with 2, 2 and 1 switches it says %q, %v", out.String(), err)
	}
}

// TestAuditOfNothing tells where nothing was audited, and never that none differs.
func TestAuditOfNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		report auditReport
		want   string
	}{
		{"nothing published", auditReport{Outcomes: 7, Switches: 1},
			"nothing was audited: in this stretch no transition was published of any circuit\n"},
		{"none of the circuit", auditReport{match: "no*"},
			"nothing was audited: in this stretch no transition was published of a circuit that matches no*; "},
		{"none that can be audited", auditReport{Gaps: []audit.Gap{{Reason: audit.Unchanged, Records: 1}}},
			"nothing was audited\nnot auditable: 1 transition, from before the first change"},
		{"one", auditReport{Same: 1, Circuits: 1},
			"1 transition of 1 circuit audited, recomputed from 0 outcomes and 0 signals under 0 switches of "},
	} {
		var out strings.Builder
		if err := tt.report.write(&out); err != nil || !strings.HasPrefix(out.String(), tt.want) {
			t.Errorf("%s: it says %q, %v, want %q", tt.name, out.String(), err, tt.want)
		}
	}
}
