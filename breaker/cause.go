package breaker

import (
	"math/bits"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
	"github.com/fusebox-project/fusebox/windows"
)

// Words of causes that are no rule's.
const (
	ProbeFailed        = "probe_failed"
	ProbesInconclusive = "probes_inconclusive"
)

// Occasion is the outcome on which a cause is stated.
type Occasion struct {
	At         time.Time // The clock.
	Time       time.Time // The outcome's own.
	Outcome    *schemas.Outcome
	Kind       uint8
	Partition  int32
	Offset     int64
	NotCounted schemas.NotCounted
}

// Cause states why a rule fired, from the counts as they are.
func (p *Policies) Cause(policy *Policy, rule int, c *Counts, v Verdict, on Occasion) *schemas.Cause {
	r := &policy.Rules[rule]
	k := &policy.counters[r.counter]
	cause := p.newCause(policy, r.Name, r.Type.String(), on)
	cause.Window, cause.Last = r.Window, r.Last
	cause.Observed, cause.Threshold = r.observed(k, c)
	cause.BySuccess = policy.roles[on.Kind] == Success
	for i := range policy.Rules {
		if i != rule && v.Fired&(1<<i) != 0 {
			cause.AlsoFired = append(cause.AlsoFired, policy.Rules[i].Name)
		}
	}
	keep := func(time.Time) bool { return true }
	switch r.Type {
	case Immediate:
		cause.Since = on.Time
		p.weigh(cause, []windows.Tally{k.tally(on.Outcome, on.Kind, policy.roles[on.Kind], policy.weight(on))})
		cause.Evidence = []schemas.Evidence{p.reference(on)}
		return cause
	case Consecutive:
		l := &c.live[k.slot]
		cause.Since = time.UnixMilli(l.since).UTC()
		p.weigh(cause, l.byKind)
	default:
		w := &c.live[k.slot].window
		cause.Throughput = w.Count()
		if since, ok := w.Since(); ok {
			cause.Since = since
		}
		p.weighWindow(cause, w)
		if r.Last == 0 {
			keep = w.Holds
		}
	}
	cause.Evidence = c.evidence.newest(k.slot, &p.kinds, on.Partition, keep)
	if r.Last > 0 {
		cause.Evidence = cause.Evidence[:min(len(cause.Evidence), matchedRecords(&c.live[k.slot].window))]
	}
	return cause
}

// ProbeCause states that probes failed, or ended without a verdict.
func (p *Policies) ProbeCause(policy *Policy, rule string, observed, threshold int, on Occasion) *schemas.Cause {
	cause := p.newCause(policy, rule, rule, on)
	cause.Observed, cause.Threshold = float64(observed), float64(threshold)
	if rule == ProbeFailed {
		cause.Since = on.Time
		p.weigh(cause, []windows.Tally{{Kind: on.Kind, Matched: true, Count: 1, Weight: policy.weight(on)}})
		cause.Evidence = []schemas.Evidence{p.reference(on)}
	}
	return cause
}

func (p *Policies) newCause(policy *Policy, rule, kind string, on Occasion) *schemas.Cause {
	return &schemas.Cause{
		Rule: rule, Type: kind, Policy: policy.Name, PolicyVersion: p.Version, At: on.At, NotCounted: on.NotCounted,
	}
}

// weight returns the weight of the outcome in thousandths: that of a failure, or 1.
func (p *Policy) weight(on Occasion) int64 {
	if p.roles[on.Kind] == Failure {
		return p.weights[on.Kind][on.Outcome.Severity][on.Outcome.Evaluator.Type]
	}
	return milli
}

func (p *Policies) reference(on Occasion) schemas.Evidence {
	e := evidence{}
	e.bind(1)
	e.add(1, on.Time, on.Outcome, on.Kind, on.Offset)
	return e.read(0, &p.kinds, on.Partition)
}

func (p *Policies) weighWindow(cause *schemas.Cause, w *windows.Window) {
	byKind := make([]windows.Tally, p.kinds.len())
	w.Each(func(x windows.Tally) {
		byKind[x.Kind].Kind = x.Kind
		byKind[x.Kind].Matched = byKind[x.Kind].Matched || x.Matched
		byKind[x.Kind].Count += x.Count
		byKind[x.Kind].Weight += x.Weight
	})
	p.weigh(cause, byKind)
}

// weigh fills in counts and weights by kind, and the kind of greatest weight: the one that matched oftenest, where
// weights are equal, and the first in the order of kinds where those are too.
func (p *Policies) weigh(cause *schemas.Cause, byKind []windows.Tally) {
	cause.ByKind, cause.Weights = map[string]int64{}, map[string]float64{}
	var greatest windows.Tally
	for _, x := range byKind {
		if x.Count == 0 {
			continue
		}
		name := p.kinds.name(x.Kind)
		cause.ByKind[name] = x.Count
		if !x.Matched {
			continue
		}
		cause.Weights[name] = share(x.Weight, milli)
		if !greatest.Matched || x.Weight > greatest.Weight || x.Weight == greatest.Weight && x.Count > greatest.Count {
			greatest, cause.Kind = x, name
		}
	}
}

func matchedRecords(w *windows.Window) int {
	n := 0
	w.Each(func(x windows.Tally) {
		if x.Matched {
			n++
		}
	})
	return n
}

// Degrade brings the counts' degradation up to date with a verdict: it is by the first rule in order that degrades. It
// reports whether that changed.
func (p *Policies) Degrade(policy *Policy, c *Counts, v Verdict, on Occasion) bool {
	c.lost = nil
	if c.flags == 0 {
		changed := c.Degraded != nil
		c.Degraded = nil
		return changed
	}
	first := lowest(c.flags)
	if c.Degraded != nil && c.Degraded.Rule == policy.Rules[first].Name {
		return false
	}
	c.Degraded = p.Cause(policy, first, c, v, on)
	return true
}

// lowest returns the index of the lowest bit set.
func lowest(mask uint64) int { return bits.TrailingZeros64(mask) }
