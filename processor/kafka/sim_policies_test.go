//go:build synctests

package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// What must have happened to circuits in a long enough run.
const (
	effectSideBySide = "policies side by side"
	effectRanOut     = "override ran out"
	effectShadow     = "shadow moved"
)

// reloaded puts other policies in force in one instance: the others go on with their own.
func (s *simulation) reloaded(e event) {
	i, l := s.target(e)
	i.policies = policies(s.t, simPolicies[e.pick%uint64(len(simPolicies))])
	if l == nil {
		return // Its next life begins with them.
	}
	l.process.Reload(i.policies)
	s.took(e.class)
	for _, other := range s.instances {
		if other.life != nil && other.policies.Version != i.policies.Version {
			s.took(effectSideBySide)
			return
		}
	}
}

// noteEffects notes what the transitions tell that is to have happened.
func (s *simulation) noteEffects(transitions []*kgo.Record) {
	last := map[string]schemas.State{}
	for _, r := range transitions {
		st, err := schemas.DecodeState(r.Value)
		switch {
		case err != nil || string(r.Key) == schemas.PoliciesKey:
			continue
		case st.IsShadow:
			s.took(effectShadow)
			continue
		}
		before := last[st.Circuit].Override
		if before != nil && !before.Until.IsZero() && st.Override == nil && st.ChangedAt.Equal(before.Until) {
			s.took(effectRanOut)
		}
		last[st.Circuit] = st
	}
}
