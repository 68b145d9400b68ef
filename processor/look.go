package processor

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
)

// Look is what is known of a circuit beyond its record: what its rules compare, and what its windows hold.
type Look struct {
	At            time.Time // The windows are as of then.
	Policy        string    // By which it would be judged now; empty where none matches.
	PolicyVersion string
	Rules         []RuleLook

	Window   time.Duration // The longest of the policy's; Points, acceptance and availability are of it.
	Last     int64         // The same, where it is a window of outcomes. Both are 0 where no rule has a window.
	Points   []Point       // Oldest first.
	Measured bool          // The window holds evidence, and so there are:

	Acceptance, Availability float64
}

// RuleLook is what a rule compares now, in the units of the policy file. An immediate rule compares nothing.
type RuleLook struct {
	Rule       *breaker.Rule
	Observed   float64
	Threshold  float64
	Throughput int64
	Fires      bool // It would, at an outcome that changes nothing.
}

// Point is a number of outcomes of one kind, at a time that is as exact as the window.
type Point struct {
	At    time.Time
	Kind  string
	Role  breaker.Role
	Count int64
}

// Look looks at a circuit as it is at a time when nothing else has come, and tells whether it is in memory. It changes
// nothing.
func (p *Partition) Look(name string, at time.Time) (Look, bool, error) {
	s := p.circuits[name]
	if s == nil {
		return Look{}, false, nil
	}
	look, err := LookAt(name, Value{&s.circuit}.Append(nil), p.regimes, at)
	return look, err == nil, err
}

// LookAt looks at a circuit of which a value is at hand, under the regimes of its partition.
func LookAt(name string, value []byte, regimes []Regime, at time.Time) (Look, error) {
	p := Restore(regimes)
	if err := p.Insert(name, value); err != nil {
		return Look{}, err
	}
	p.Advance(at)
	c := p.touch(name)
	policies, policy := c.policies(), c.policy
	policy.Advance(&c.counts, at)
	look := Look{At: at, Policy: policy.Name, PolicyVersion: policies.Version}
	for i := range policy.Rules {
		r := RuleLook{Rule: &policy.Rules[i], Fires: policy.Fires(&c.counts, i)}
		r.Observed, r.Threshold, r.Throughput = policy.Observe(&c.counts, i)
		look.Rules = append(look.Rules, r)
	}
	look.Window, look.Last = policy.Recent(&c.counts, func(at time.Time, kind uint8, count int64) {
		look.Points = append(look.Points, Point{at, policies.KindName(kind), policy.Role(kind), count})
	})
	look.Acceptance, look.Availability, look.Measured = policy.Ratios(&c.counts)
	return look, nil
}
