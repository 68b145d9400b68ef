package policytest

import (
	"math"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// does are the keys of what a step can do.
var does = []string{"outcome", "claim", "release", "override", "policy"}

func (r *reader) step(n *yaml.Node, circuit string) Step {
	fields := r.fields(n, "a step", append(slices.Clone(does), "at", "circuit", "repeat", "every", "expect")...)
	s := Step{Line: n.Line, Circuit: r.circuit(fields["circuit"], circuit), Repeat: 1}
	r.times(n, fields, &s)
	done := r.action(n, fields, &s)
	if expect := fields["expect"]; expect != nil {
		s.Expect = r.expect(expect, done)
	}
	needs := done != "" && done != "policy" ||
		slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.Field != "state_of" })
	if s.Circuit == "" && needs {
		r.fault(n, "the step has no circuit; name one in it or in the test")
	}
	return s
}

// times reads when and how often the step happens.
func (r *reader) times(n *yaml.Node, fields map[string]*yaml.Node, s *Step) {
	if at := fields["at"]; at != nil {
		s.At = r.duration(at, "at")
	} else {
		r.fault(n, "the step has no at; write the offset at which it happens, such as at: 0s")
	}
	if s.At < 0 {
		r.fault(fields["at"], "at is %v; write an offset of 0s or more", s.At)
	}
	if repeat := fields["repeat"]; repeat != nil {
		times, err := strconv.Atoi(repeat.Value)
		if err != nil || times < 1 || times > maxRepeat {
			r.fault(repeat, "repeat is %q; write a whole number from 1 to %d", repeat.Value, maxRepeat)
			return
		}
		s.Repeat = times
	}
	every := fields["every"]
	if every == nil {
		return
	}
	s.Every = r.duration(every, "every")
	switch more := s.Repeat - 1; {
	case s.Every < 0:
		r.fault(every, "every is %v; write a duration of 0s or more", s.Every)
	case more > 0 && s.Every > (math.MaxInt64-max(s.At, 0))/time.Duration(more):
		r.fault(every, "every is %v, and %d times that is beyond what a clock shows; write less", s.Every, s.Repeat)
	}
}

// action reads what the step does, which is one thing at most, and returns its key.
func (r *reader) action(n *yaml.Node, fields map[string]*yaml.Node, s *Step) string {
	done := ""
	for _, key := range does {
		value := fields[key]
		if value == nil {
			continue
		}
		if done != "" {
			r.fault(n, "the step has both %s and %s; make two steps of it", done, key)
			break
		}
		done = key
		switch key {
		case "outcome":
			s.Outcome = r.outcome(value, s)
		case "policy":
			s.Reload = r.inline(value)
		default:
			s.Signal = r.signal(key, value, s.Circuit)
		}
	}
	return done
}
