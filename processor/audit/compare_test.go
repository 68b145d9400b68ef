package audit

import (
	"testing"

	"github.com/fusebox-project/fusebox/schemas"
)

func TestOnlyLate(t *testing.T) {
	state := func(late, stale int64, epoch int64) *schemas.State {
		return &schemas.State{Circuit: "a:b:c", State: schemas.Open, Epoch: epoch, Cause: &schemas.Cause{
			Rule: "r", NotCounted: schemas.NotCounted{Late: late, Stale: stale},
		}}
	}
	neutral := func(s *schemas.State, n int64) *schemas.State {
		s.Cause.NotCounted.Neutral = n
		return s
	}
	for _, tt := range []struct {
		name            string
		published, made *schemas.State
		want            bool
	}{
		{"one more was late", state(5, 1, 3), state(4, 1, 3), true},
		{"late and not neutral", neutral(state(5, 1, 3), 4), neutral(state(4, 1, 3), 5), true},
		{"another count", state(5, 1, 3), state(4, 2, 3), false},
		{"another epoch", state(5, 1, 3), state(4, 1, 4), false},
		{"no cause", state(5, 1, 3), &schemas.State{Circuit: "a:b:c", State: schemas.Open, Epoch: 3}, false},
	} {
		if got := onlyLate(tt.published, tt.made, differences(tt.published, tt.made)); got != tt.want {
			t.Errorf("%s: onlyLate = %v, want %v", tt.name, got, tt.want)
		}
	}
}
