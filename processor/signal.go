package processor

import (
	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// signal handles a claim, a release or an override.
func (s *step) signal() {
	in := s.in.Signal
	switch in.Type {
	case schemas.Claim:
		granted, change := s.breaker.Claim(s.at, in, s.policy)
		s.result.Granted = granted
		if !granted {
			s.result.Leases.Refused++
		} else if change != breaker.Same {
			s.result.Leases.Granted++
		}
		s.publish(change, true)
	case schemas.Release:
		if !s.breaker.Live(in.Lease) {
			return
		}
		s.result.Leases.Released++
		if in.Unused {
			s.publish(s.breaker.Unused(in.Lease), false)
			return
		}
		s.publish(s.inconclusive(in.Lease), true)
	case schemas.Override:
		s.operator = &schemas.Operator{Mode: in.Mode, Actor: in.Actor, Reason: in.Reason}
		s.publish(s.breaker.Decree(s.at, in, s.policy), true)
	}
}
