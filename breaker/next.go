package breaker

import (
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// Judged returns a record under the policy that judges its circuit from here on, in place of the one that its last
// record names: a reload leaves the records of circuits that are closed as they are. Nil policies are not known, and
// change nothing.
func (p *Policies) Judged(s schemas.State) schemas.State {
	if p == nil {
		return s
	}
	policy := p.For(s.Circuit)
	s.Policy = policy.Name
	if s.State == schemas.Closed {
		s.Enforced = policy.Enforce
	}
	return s
}

// Next says what State.Next says, by the policy that judges the circuit from here on, and that this one is off where it
// is. Nil policies are not known: then the record's own is taken.
func (p *Policies) Next(s *schemas.State, now time.Time) string {
	judged := p.Judged(*s)
	words := judged.Next(now)
	if p != nil && judged.Policy != "" && !p.For(s.Circuit).Enabled {
		words = strings.TrimPrefix(words+", its policy is off", ", ")
	}
	return words
}
