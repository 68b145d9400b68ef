package audit

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// compare compares what was published at a cut with what was made there, circuit by circuit.
func (a *Audit) compare(records []published) {
	for i := range records {
		p := &records[i]
		t := a.track(p.Circuit)
		made, any := a.takeMade(p)
		switch {
		case !t.followed:
			a.unfollowed(p, records[i+1:])
		case !any && (a.hears(p) || p.IsShadow && t.from == p.Inputs):
			a.tally.gap(Beside, *p)
		case any:
			a.judge(p, &made, records[i+1:])
		case a.unsure(t, &p.State) != "":
			a.tally.gap(a.unsure(t, &p.State), *p)
			a.readopt(p, t, records[i+1:])
		default:
			a.differs(p, nil)
		}
	}
	for i := range a.made {
		a.missing(&a.made[i])
	}
	a.made = a.made[:0]
}

// unfollowed begins to follow a circuit where it can.
func (a *Audit) unfollowed(p *published, behind []published) {
	if p.Sequence == 1 && !p.IsShadow {
		a.track(p.Circuit).ids = ids{} // It was born, and the core may have it from before.
	}
	why := Unchanged
	switch {
	case !a.known:
		why = NoPolicy
	case a.track(p.Circuit).crowded:
		why = Crowded
	case p.IsShadow:
		why = Beside
	}
	a.tally.gap(why, *p)
	a.takeUp(p, behind)
}

// takeUp follows a circuit from a published record on where it is the last of those that one input made.
func (a *Audit) takeUp(p *published, behind []published) {
	later := slices.ContainsFunc(behind, func(q published) bool { return q.Circuit == p.Circuit && !q.IsShadow })
	if !later && a.inputs.At() == p.Inputs {
		a.adopt(p)
	}
}

// hears takes a published record's word where it tells only of a shadow of which nothing else is known.
func (a *Audit) hears(p *published) bool {
	if p.IsShadow {
		return a.core.Hear(&p.State)
	}
	now, any := a.core.State(p.Circuit, a.core.Clock())
	now.Shadow, now.Sequence, now.Clamped = p.Shadow, now.Sequence+1, p.Clamped
	now.Trigger, now.Inputs = p.Trigger, p.Inputs
	return any && differences(&p.State, &now) == nil && a.core.Hear(&p.State)
}

// takeMade takes from what was made what a published record is to be compared with: what is the same, that of its
// sequence, or else one that the same input made. A shadow may have several of one sequence.
func (a *Audit) takeMade(p *published) (schemas.State, bool) {
	whole := func(s schemas.State) bool { return s.Circuit == p.Circuit && differences(&p.State, &s) == nil }
	same := func(s schemas.State) bool {
		return s.Circuit == p.Circuit && s.IsShadow == p.IsShadow && s.Sequence == p.Sequence && s.Born.Equal(p.Born)
	}
	near := func(s schemas.State) bool {
		return s.Circuit == p.Circuit && s.IsShadow == p.IsShadow && s.Trigger == p.Trigger
	}
	for _, fits := range []func(schemas.State) bool{whole, same, near} {
		if i := slices.IndexFunc(a.made, fits); i >= 0 {
			made := a.made[i]
			a.made = slices.Delete(a.made, i, i+1)
			return made, true
		}
	}
	return schemas.State{}, false
}

// unasked is what was made where nothing was published, unless it is what an odd record means.
func (a *Audit) unasked(made *schemas.State) {
	for i := range a.odd {
		p := &a.odd[i]
		near := p.Sequence == made.Sequence || p.Trigger == made.Trigger
		if near && p.Circuit == made.Circuit && p.IsShadow == made.IsShadow {
			a.judge(p, made, nil)
			a.odd = slices.Delete(a.odd, i, i+1)
			return
		}
	}
	a.missing(made)
}

// judge compares a published record, with those behind it at the same cut, with what was made.
func (a *Audit) judge(p *published, made *schemas.State, behind []published) {
	t := a.track(p.Circuit)
	if a.core.Hear(&p.State) {
		made.Shadow = p.Shadow
	}
	fields := differences(&p.State, made)
	switch {
	case len(fields) == 0:
		a.tally.report.Same++
		t.suspect = false
		t.repeats = t.repeats && !a.empties(p)
	case a.unsure(t, &p.State) == Repeats && mayRepeat(&p.State, made, fields),
		t.repeated && onlyShadow(&p.State, made, fields):
		a.tally.gap(Repeats, *p)
		a.readopt(p, t, behind)
	case a.mayBeClamped(t), a.core.Clock().Before(a.live) && onlyTimes(fields):
		a.tally.gap(ClampedClock, *p)
		a.readopt(p, t, behind)
	case !t.recovers && onlyAttempt(fields):
		a.tally.gap(Recovery, *p)
		a.readopt(p, t, behind)
	default:
		a.differs(p, fields)
	}
}

// readopt takes a published record's word, where it is one of a change. Else the circuit is not followed any more.
func (a *Audit) readopt(p *published, t *track, behind []published) {
	t.followed = false
	a.takeUp(p, behind)
}

// unsure returns why nobody knows whether a record was to be published, or nothing.
func (a *Audit) unsure(t *track, s *schemas.State) Reason {
	// A shadow goes on when its circuit changes. A record of the circuit may show it, where it is of no change.
	aside := s.IsShadow || s.Shadow != nil && !s.ChangedAt.Equal(a.core.Clock())
	switch {
	case t.repeats, t.repeated && aside:
		return Repeats
	case a.mayBeClamped(t):
		return ClampedClock
	}
	return ""
}

// mayBeClamped tells whether a timestamp was clamped that may still show.
func (a *Audit) mayBeClamped(t *track) bool { return t.clamped || a.core.Clock().Before(a.clamped) }

var timeOfDay = regexp.MustCompile(`\d{4}-\d\d-\d\dT[^"]*Z`)

// onlyTimes tells whether records differ in nothing but times.
func onlyTimes(fields []Field) bool {
	return !slices.ContainsFunc(fields, func(f Field) bool {
		return timeOfDay.ReplaceAllString(f.Published, "") != timeOfDay.ReplaceAllString(f.Recomputed, "")
	})
}

// onlyAttempt tells whether records differ in nothing but what follows from when the circuit last recovered.
func onlyAttempt(fields []Field) bool {
	return !slices.ContainsFunc(fields, func(f Field) bool { return f.Name != "attempt" && f.Name != "retry_at" })
}

// mayRepeat tells whether records may differ because something that was counted in one of them was told apart or
// dropped in the other as it had come before: the cause or the degradation counts otherwise, or what the circuit did
// before shows in the rest, or one of them tells of its shadow alone.
func mayRepeat(published, made *schemas.State, fields []Field) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name })
	}
	return otherCounts(published.Cause, made.Cause) || otherCounts(published.Degraded, made.Degraded) ||
		has("sequence") || has("probe") || has("state") && has("previous")
}

// onlyShadow tells whether records differ in nothing but what became of their shadow.
func onlyShadow(published, made *schemas.State, fields []Field) bool {
	a, b := published.Shadow, made.Shadow
	return len(fields) == 1 && fields[0].Name == "shadow" && a != nil && b != nil && a.Policy == b.Policy
}

// otherCounts tells whether two causes counted otherwise. That need not show in the numbers: one outcome may make up
// for another.
func otherCounts(a, b *schemas.Cause) bool {
	if a == nil || b == nil {
		return a != b
	}
	return counted(*a) != counted(*b)
}

// counted returns what outcomes decide of a cause, without what their rule and the newest of them do.
func counted(c schemas.Cause) string {
	c.Type, c.Policy, c.PolicyVersion, c.Window, c.Last, c.Threshold = "", "", "", 0, 0, 0
	c.BySuccess, c.At = false, time.Time{}
	return string(schemas.AppendCause(nil, &c))
}

// differences returns the fields in which two records differ, by their names on the wire.
func differences(published, made *schemas.State) []Field {
	a, b := schemas.AppendState(nil, published), schemas.AppendState(nil, made)
	if string(a) == string(b) {
		return nil
	}
	var got, want map[string]json.RawMessage
	if json.Unmarshal(a, &got) != nil || json.Unmarshal(b, &want) != nil {
		return []Field{{Name: "record", Published: string(a), Recomputed: string(b)}}
	}
	var fields []Field
	for name, value := range got {
		if string(value) != string(want[name]) {
			fields = append(fields, Field{name, string(value), string(want[name])})
		}
	}
	for name, value := range want {
		if _, both := got[name]; !both {
			fields = append(fields, Field{name, "", string(value)})
		}
	}
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}
