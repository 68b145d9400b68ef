package processor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

func offsets(evidence []schemas.Evidence) (list []int64) {
	for _, e := range evidence {
		list = append(list, e.Offset)
	}
	return list
}

// TestEvidence checks which outcomes a cause names: the newest ten that matched and still count, newest first.
func TestEvidence(t *testing.T) {
	const policy = `version: 1
defaults: {window: 10s}
policies:
- {name: p, match: ["*"], rules: [{name: %s, %s}, {name: other, type: count, kinds: [cancelled], threshold: 99}]}`
	bad, good := schemas.InvalidContract, schemas.Accepted
	type event struct {
		at    time.Duration
		kinds []string
	}
	tests := []struct {
		name, rule string
		events     []event
		want       []int64
	}{
		{"what left the window is no evidence", "type: count, threshold: 3",
			[]event{{0, []string{bad, good}}, {8 * time.Second, []string{bad}}, {11 * time.Second, []string{bad, bad}}},
			[]int64{4, 3, 2}},
		{"exactly one window old it is", "type: count, threshold: 3",
			[]event{{0, []string{bad}}, {10 * time.Second, []string{bad, bad}}}, []int64{2, 1, 0}},
		{"no more than ten", "type: count, threshold: 14",
			[]event{{0, slices.Repeat([]string{bad}, 14)}}, []int64{13, 12, 11, 10, 9, 8, 7, 6, 5, 4}},
		{"what another rule matched does not stand here", "type: count, threshold: 3",
			[]event{{0, []string{bad, "cancelled", bad}}, {1, slices.Repeat([]string{"cancelled"}, 20)},
				{2, []string{bad}}},
			[]int64{23, 2, 0}},
		{"of the last three", "type: count, threshold: 2, last: 3",
			[]event{{0, []string{bad, good, good, bad}}, {time.Hour, []string{good, bad}}}, []int64{5, 3}},
		{"a sum's are all that it adds up", "type: sum, of: tokens, threshold: 1, kinds: [accepted]",
			[]event{{0, []string{bad, good}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, fmt.Sprintf(policy, "r", tt.rule))
			var c *schemas.Cause
			for _, e := range tt.events {
				c = r.outcomes(e.at, e.kinds...).Tripped
			}
			if tt.want == nil {
				c = r.outcome(time.Second, schemas.Outcome{Kind: good, InputTokens: 1}).Tripped
				tt.want = []int64{2, 1}
			}
			if c == nil || !slices.Equal(offsets(c.Evidence), tt.want) {
				t.Errorf("cause %+v, want evidence at offsets %v", c, tt.want)
			}
		})
	}
}

// TestEvidenceOfAnotherWindow counts an outcome that is too old for the rule's window, though not for another's: it
// takes no place among the ten.
func TestEvidenceOfAnotherWindow(t *testing.T) {
	r := newRig(t, `version: 1
policies:
- name: p
  match: ["*"]
  rules:
  - {name: short, type: count, threshold: 12, window: 10s}
  - {name: long, type: count, threshold: 99, window: 1h}`)
	r.outcomes(20*time.Second, slices.Repeat([]string{schemas.InvalidContract}, 11)...)
	r.outcome(20*time.Second, schemas.Outcome{Kind: schemas.InvalidContract, Time: t0.Add(5 * time.Second)})
	c := r.outcomes(20*time.Second, schemas.InvalidContract).Tripped
	want := []int64{12, 10, 9, 8, 7, 6, 5, 4, 3, 2}
	if c == nil || c.Observed != 12 || !slices.Equal(offsets(c.Evidence), want) {
		t.Errorf("cause %+v, want twelve, and evidence at offsets %v", c, want)
	}
}

// TestEvidenceStartsAnew fills the evidence, empties it by a success or a change, and fills it again; a restore between
// makes no difference.
func TestEvidenceStartsAnew(t *testing.T) {
	for _, how := range []string{"by a success", "by a change", "with a restore"} {
		r := newRig(t, `version: 1
defaults: {break: {jitter: 0}}
policies: [{name: p, match: ["*"], rules: [{name: s, type: consecutive, threshold: 12}]}]`)
		bad := slices.Repeat([]string{schemas.InvalidContract}, 11)
		r.outcomes(0, bad...)
		switch how {
		case "by a success":
			r.outcomes(0, schemas.Accepted)
			r.outcomes(0, bad...)
		case "by a change":
			r.override(0, schemas.Reset, 0)
			r.outcomes(0, bad...)
		default:
			value := r.values()["c"]
			r.Commit()
			r.Evict(0)
			if err := r.Insert("c", value); err != nil {
				t.Fatal(err)
			}
		}
		last := r.offset
		c := r.outcomes(0, schemas.InvalidContract).Tripped
		if c == nil || len(c.Evidence) != 10 || c.Evidence[0].Offset != last || c.Evidence[9].Offset != last-9 {
			t.Errorf("%s: evidence %v, want the ten up to %d", how, c, last)
		}
	}
}

// TestEvidenceAfterAReload names kinds by name where the file has them in another order, and drops what counts no more.
func TestEvidenceAfterAReload(t *testing.T) {
	const file = `version: 1
kinds: %s
policies: [{name: p, match: ["*"], kinds: {a: 1, b: 1}, rules: [%s]}]`
	other, kept := "{name: o, type: count, kinds: [a], threshold: 9}", "{name: s, type: consecutive, threshold: 3}"
	r := newRig(t, fmt.Sprintf(file, "[a, b]", other+", "+kept))
	r.outcomes(0, "a", "b")
	r.Reload(read(t, fmt.Sprintf(file, "[b, x, a]", kept)), schemas.Inputs{})
	c := r.outcomes(0, "b").Tripped
	if c == nil || len(c.Evidence) != 3 || c.Evidence[0].Kind != "b" || c.Evidence[1].Kind != "b" ||
		c.Evidence[2].Kind != "a" || c.Kind != "b" {
		t.Errorf("the cause is %+v, want evidence of b, b and a", c)
	}
}

// TestEvidenceOutOfOrder keeps, of the last outcomes of the log, those that are older than the others too.
func TestEvidenceOutOfOrder(t *testing.T) {
	r := newRig(t, `version: 1
policies: [{name: p, match: ["*"], rules: [{name: n, type: count, threshold: 3, last: 5}]}]`)
	r.outcomes(time.Hour, schemas.InvalidContract)
	r.outcomes(0, schemas.InvalidContract)
	c := r.outcomes(time.Minute, schemas.InvalidContract).Tripped
	if c == nil || !slices.Equal(offsets(c.Evidence), []int64{2, 1, 0}) || c.Since != t0 {
		t.Errorf("the cause is %+v, want all three in it, since the oldest", c)
	}
}
