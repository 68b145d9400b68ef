package naive_test

import (
	"fmt"
	"testing"

	"github.com/fusebox-project/fusebox/internal/naive"
)

func TestRepeatDoesNotRenewAnID(t *testing.T) {
	model := naive.New(naive.BuiltIn())
	why := func(id string) string {
		return model.Step(naive.Step{Circuit: "a", Outcome: &naive.Outcome{Kind: "accepted", ID: id}}).Why
	}
	for i := range 64 {
		if got := why(fmt.Sprint(i)); got != "" {
			t.Fatalf("why of id %d, seen for the first time = %q, want none", i, got)
		}
	}
	for _, tt := range []struct{ id, want string }{
		{"0", "duplicate"}, // The oldest of 64.
		{"64", ""},         // Pushes it out, though it has just been repeated.
		{"1", "duplicate"},
		{"0", ""},
		{"1", ""},
	} {
		if got := why(tt.id); got != tt.want {
			t.Errorf("why of id %s = %q, want %q", tt.id, got, tt.want)
		}
	}
}

func TestReload(t *testing.T) {
	rule := naive.Rule{Name: "r", Type: naive.Count, Threshold: 3_000_000, Window: 60_000}
	renamed := rule
	renamed.Name, renamed.Threshold = "other", 4_000_000
	longer := rule
	longer.Window = 61_000
	sameAgain := rule
	sameAgain.MinimumThroughput, sameAgain.Window = 0, 0 // The default window is a minute too.
	for _, tt := range []struct {
		name string
		to   []naive.Rule
		want string
	}{
		{"the same under another name keeps what it counted", []naive.Rule{renamed}, naive.Open},
		{"another window starts empty", []naive.Rule{longer}, naive.Closed},
		{"the same window by default keeps what it counted", []naive.Rule{sameAgain}, naive.Open},
	} {
		model := naive.New(file(rule))
		fail := naive.Step{Circuit: "a", Outcome: &naive.Outcome{Kind: "invalid_contract"}, Repeat: 2}
		model.Step(fail)
		reload := file(tt.to...)
		model.Step(naive.Step{Circuit: "a", Policy: &reload})
		if got := model.Step(fail).State; got != tt.want {
			t.Errorf("%s: state after two and two failures = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func file(rules ...naive.Rule) naive.Policies {
	return naive.Policies{Policies: []naive.Policy{{Name: "p", Match: []string{"*"}, Rules: rules}}}
}
