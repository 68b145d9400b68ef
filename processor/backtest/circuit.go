package backtest

import (
	"slices"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// circuit is one circuit on its way through the record.
type circuit struct {
	row        Circuit         // Without what report fills in.
	costMicros int64           // Of what was refused.
	whys       [whys + 1]int64 // Outcomes by what became of them.
	open       time.Duration   // Of the stretches that have ended.

	number int // In the order in which they came.
	policy *breaker.Policy
	shadow *processor.Shadow // Nil while it is put away.
	used   bool              // Since the eviction last looked at it.
}

const whys = int(processor.OverLimit)

func newCircuit(name string, policy *breaker.Policy, at time.Time) *circuit {
	shadow := policy.Shadows != ""
	row := Circuit{
		Circuit: name, Policy: policy.Name, Shadow: shadow, Enforced: policy.Enforce && !shadow,
		Trips: []Trip{}, Open: []Stretch{}, From: at,
	}
	return &circuit{row: row, policy: policy}
}

// step judges an outcome and adds up what it did.
func (c *circuit) step(o *schemas.Outcome, policies *breaker.Policies) Step {
	index := c.row.Records
	r := c.shadow.Step(o.Time, processor.Input{Outcome: o, Trigger: schemas.Trigger{Offset: index}})
	s := Step{
		Circuit: c.row.Circuit, Number: c.number, At: r.At, Index: index, Why: r.Why, Kind: r.Kind,
		Phase: c.shadow.Phase(), Role: policies.RoleOf(c.policy, r.Kind), fired: r.Fired, on: c,
	}
	c.row.Records++
	c.row.Outcomes += o.Count
	c.row.To = r.At
	c.whys[r.Why] += o.Count
	*s.share(&c.row.Accepted, &c.row.Failures, &c.row.Others) += o.Count
	switch r.Why {
	case processor.WhileOpen:
		c.refuse(o, &s)
	case processor.Probe:
		c.row.Probes++
	}
	if r.Tripped != nil {
		c.trip(&r, index)
		s.Trip = &c.row.Trips[len(c.row.Trips)-1]
	}
	if last := len(c.row.Open) - 1; last >= 0 && !c.row.Open[last].Ends && s.Phase == schemas.Closed {
		open := &c.row.Open[last]
		open.To, open.Ends, s.Closed = r.At, true, true
		c.open += open.To.Sub(open.From)
	}
	return s
}

func (c *circuit) refuse(o *schemas.Outcome, s *Step) {
	c.costMicros += o.CostMicros
	refused := &c.row.Refused
	*s.share(&refused.Accepted, &refused.Failures, &refused.Others) += o.Count
}

// share returns the one to which the step's outcome belongs.
func (s *Step) share(accepted, failures, others *int64) *int64 {
	switch {
	case s.Kind == schemas.Accepted:
		return accepted
	case s.Role == breaker.Failure:
		return failures
	}
	return others
}

func (c *circuit) trip(r *processor.Result, index int64) {
	cause, state := r.Tripped, &r.States[len(r.States)-1]
	t := Trip{
		At: r.At, Index: index, Rule: cause.Rule, Type: cause.Type, Kind: cause.Kind, Observed: cause.Observed,
		Threshold: cause.Threshold, Throughput: cause.Throughput, ByKind: cause.ByKind, Epoch: state.Epoch,
		Words: cause.Words(), RetryAt: state.RetryAt, Since: cause.Since, DelaySeconds: r.At.Sub(cause.Since).Seconds(),
		Bad: r.Stretch.Bad, DelayOutcomes: max(r.Stretch.Outcomes-1, 0),
	}
	if cause.Rule == breaker.ProbeFailed {
		t.Bad = 1
	}
	c.row.Trips = append(c.row.Trips, t)
	if last := len(c.row.Open) - 1; last < 0 || c.row.Open[last].Ends {
		c.row.Open = append(c.row.Open, Stretch{From: r.At})
	}
}

// report returns the row with all that the totals tell.
func (c *circuit) report() Circuit {
	row := c.row
	row.Trips, row.Open = slices.Clone(row.Trips), slices.Clone(row.Open)
	open := c.open
	if last := len(row.Open) - 1; last >= 0 && !row.Open[last].Ends {
		row.Open[last].To = row.To
		open += row.To.Sub(row.Open[last].From)
	}
	row.OpenSeconds = open.Seconds()
	row.Refused.CostUSD = float64(c.costMicros) / 1e6
	row.Why = map[string]int64{}
	for _, why := range processor.Whys {
		if n := c.whys[why]; n > 0 {
			row.Why[why.String()] = n
		}
	}
	return row
}
