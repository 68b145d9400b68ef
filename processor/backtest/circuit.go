package backtest

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// circuit is one circuit on its way through the record.
type circuit struct {
	row    Circuit // Without what report fills in.
	policy *breaker.Policy
	shadow *processor.Shadow // Nil while it is put away.
	number int32             // In the order in which they came.
	used   bool              // Since the eviction last looked at it.
}

func newCircuit(name string, policy *breaker.Policy, at time.Time) *circuit {
	shadow := policy.Shadows != ""
	row := Circuit{
		Circuit: name, Policy: policy.Name, Shadow: shadow, Enforced: policy.Enforce && !shadow, From: at,
		Off: policy.Matched && !policy.Enabled, Opened: neverOpened,
	}
	return &circuit{row: row, policy: policy}
}

// step judges an outcome and adds up what it did.
func (c *circuit) step(o *schemas.Outcome, policies *breaker.Policies) Step {
	index := c.row.Records
	r := c.shadow.Step(o.Time, processor.Input{Outcome: o, Trigger: schemas.Trigger{Offset: index}})
	s := Step{
		Circuit: c.row.Circuit, Number: int(c.number), At: r.At, Index: index, Why: r.Why, Kind: r.Kind,
		Phase: c.shadow.Phase(), Role: policies.RoleOf(c.policy, r.Kind), fired: r.Fired, on: c,
	}
	c.row.Records++
	c.row.Outcomes += o.Count
	c.row.To = r.At
	c.row.Why.add(r.Why, o.Count)
	if r.Judged {
		c.row.Judged += o.Count
	}
	*s.share(&c.row.Accepted, &c.row.Failures, &c.row.Others) += o.Count
	switch r.Why {
	case processor.WhileOpen:
		c.refuse(o, &s)
	case processor.Probe:
		c.opened().Probes++
	}
	if r.Tripped != nil {
		c.trip(&r, index)
		s.Trip = &c.row.Trips[len(c.row.Trips)-1]
	}
	if last := len(c.row.Open) - 1; last >= 0 && !c.row.Open[last].Ends && s.Phase == schemas.Closed {
		open := &c.row.Open[last]
		open.To, open.Ends, s.Closed = r.At, true, true
		c.row.ended += open.To.Sub(open.From)
	}
	return s
}

// opened returns what came of it that the circuit opened, to be changed.
func (c *circuit) opened() *Opened {
	if c.row.Opened == neverOpened {
		c.row.Opened = &Opened{Trips: []Trip{}, Open: []Stretch{}}
	}
	return c.row.Opened
}

func (c *circuit) refuse(o *schemas.Outcome, s *Step) {
	opened := c.opened()
	opened.costMicros += o.CostMicros
	refused := &opened.Refused
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
	opened := c.opened()
	opened.Trips = append(opened.Trips, t)
	if last := len(opened.Open) - 1; last < 0 || opened.Open[last].Ends {
		opened.Open = append(opened.Open, Stretch{From: r.At})
	}
}

// report returns the row with all that the totals tell.
func (c *circuit) report() *Circuit {
	if c.row.Opened == neverOpened {
		return &c.row
	}
	opened := c.row.Opened
	open := opened.ended
	if last := len(opened.Open) - 1; last >= 0 && !opened.Open[last].Ends {
		opened.Open[last].To = c.row.To
		open += c.row.To.Sub(opened.Open[last].From)
	}
	opened.OpenSeconds = open.Seconds()
	opened.Refused.CostUSD = float64(opened.costMicros) / 1e6
	return &c.row
}
