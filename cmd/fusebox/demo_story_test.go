package main

import (
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestStoryOfAFallback tells a trip, a probe that two routers ask for, and the recovery: with a fallback, and under
// policies that have none.
func TestStoryOfAFallback(t *testing.T) {
	closed := schemas.State{Circuit: demoPrimary, ChangedAt: noon}
	open := schemas.State{
		Circuit: demoPrimary, State: schemas.Open, Epoch: 1, ChangedAt: noon, RetryAt: noon.Add(3 * time.Second),
	}
	probed := open
	probed.State, probed.Leases = schemas.HalfOpen, []schemas.Lease{{ID: "L", Holder: "router-2"}}
	again := schemas.State{Circuit: demoPrimary, Epoch: 2, ChangedAt: noon.Add(4 * time.Second)}
	tests := []struct {
		fallback string
		want     []string
	}{
		{"submission-extraction:gpt-primary:v3", []string{
			"routers           now take gpt-primary:v3; a probe of gpt-primary:v4 is due in 3s\n",
			"router-1 asked too, and must go by the fallback\n",
			"away for 4s, while fallbacks gave 1 answer, 1 of them accepted\n",
		}},
		{"", []string{
			"routers           have no fallback in these policies, and wait; a probe of gpt-primary:v4 is due in 3s\n",
			"router-1 asked too, and must wait\n",
			"away for 4s\n",
		}},
	}
	for _, tt := range tests {
		var out strings.Builder
		s := newStory(&out)
		s.tell(&closed, &open, tt.fallback)
		if tt.fallback != "" {
			s.answered(tt.fallback, false, &client.Outcome{Kind: client.Accepted, FallbackFrom: demoPrimary})
		}
		s.asked("router-1")
		s.asked("router-2")
		s.tell(&open, &probed, tt.fallback)
		s.tell(&probed, &again, tt.fallback)
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the story with the fallback %q is\n%swant in it %q", tt.fallback, out.String(), want)
			}
		}
	}
}
