package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// track is what an audit knows of a circuit beside what the core has of it. One that is not followed is in the core all
// the same, so that it knows the newest ids; what the core makes of it says nothing.
type track struct {
	followed bool           // What the core has of it is what the processor had.
	ever     bool           // It was followed at some time.
	recovers bool           // When it recovered last is known.
	from     schemas.Inputs // Of the record by which it was adopted.
	at       time.Time      // The clock at its last record.
	first    bool           // That record was the first of its millisecond.
	suspect  bool           // The last record that was compared differed.
	clamped  bool           // A timestamp was clamped since its last change.
	ids      ids            // Of its outcomes.
	repeats  bool           // Since its last change, something came that may repeat what came before the range.
	repeated bool           // So it did since the circuit was born: its shadow may have counted that ever since.
	told     int            // The number of the difference that was told last.
	crowded  bool           // There was no room for it, and it was not followed since.
}

// circuitsKept bounds how many circuits are told apart in all.
const circuitsKept = 2_000_000

// track returns what is known of a circuit.
func (a *Audit) track(circuit string) *track {
	t := a.circuits[circuit]
	if t == nil {
		t = &track{}
		if a.config.Whole && a.known && a.room(circuit) {
			*t = newborn()
			a.follow(t)
		}
		if len(a.circuits) < circuitsKept {
			a.circuits[strings.Clone(circuit)] = t
		}
	}
	return t
}

// newborn is what is known of a circuit at its birth: nothing of it is unknown.
func newborn() track { return track{ids: ids{alike: true}, recovers: true} }

// early is up to how many records after the beginning one that was forwarded may repeat one of before.
const early = 10_000

// meet takes down that a record came to a circuit. What came in the range's first millisecond before nobody knows.
func (a *Audit) meet(t *track, now time.Time) {
	t.first = t.at.Before(now) && (a.config.Whole || a.since.Before(now))
	t.at = now
}

// note takes down what a record did to a circuit.
func (a *Audit) note(t *track, h *Handled, result *processor.Result) {
	o := h.Input.Outcome
	if h.From != nil && !a.config.Whole && a.handled < early {
		t.repeats, t.ids = true, ids{} // Where it was dropped, the circuit knows other ids, too.
	}
	if began := len(result.States) > 0 && result.States[0].Sequence == 1; began && (!t.followed || t.repeats) {
		t.ids = ids{} // The circuit may go on where the core begins anew.
	}
	if o != nil && !t.ids.sees(o.ID) {
		t.repeats = true
	}
	t.repeated = t.repeated || t.repeats
	if result.Moves > 0 {
		t.clamped = false
	}
	t.clamped = t.clamped || h.Input.Clamped
	for i := range result.States {
		if s := &result.States[i]; breaker.Recovers(s) || s.Attempt == 0 {
			t.recovers = true
		}
	}
}

// begin follows a circuit whose birth was published, where this is the record that made it known. Its shadow has to be
// as young: one that the circuit had in an earlier life goes on. Where the clock is not known yet, a birth at another
// time says that it stood elsewhere.
func (a *Audit) begin(circuit string, t *track, now time.Time) {
	for i := range a.group {
		p := &a.group[i]
		if p.Circuit != circuit || p.Sequence != 1 || p.IsShadow || t.followed || !a.known ||
			!a.timed && !p.Born.Equal(now) {
			continue
		}
		if s := p.Shadow; s != nil && (!s.Since.Equal(p.Born) || s.Epoch > 0 || s.Trips > 0) {
			continue
		}
		for _, q := range a.group[:i] {
			if q.Circuit == circuit {
				a.tally.gap(Unchanged, q) // It ended an override first, in the life before.
			}
		}
		born := p.offset
		a.group = slices.DeleteFunc(a.group, func(q published) bool {
			return q.Circuit == circuit && q.offset < born
		})
		a.core.Drop(circuit)
		*t = newborn()
		t.at = now
		a.follow(t)
		a.timed = true
		return
	}
}

// crowd passes over a record of a circuit for which there is no room. What it counts is not known any more.
func (a *Audit) crowd(h *Handled) {
	a.core.Advance(h.At)
	a.tally.crowd(h.Circuit)
	t := a.track(h.Circuit)
	a.meet(t, a.core.Clock())
	t.followed, t.ids, t.crowded = false, ids{}, true
}

// room tells whether the core has a circuit, or room for it.
func (a *Audit) room(circuit string) bool {
	return a.core.Len() < a.config.Most || a.core.Resident(circuit)
}

func (a *Audit) follow(t *track) {
	if !t.ever {
		a.tally.report.Circuits++
	}
	t.followed, t.ever, t.crowded = true, true, false
}

// empties tells whether its circuit is surely empty behind a published record: it is one of a change of now, and no
// override ended by itself, as then outcomes may have been counted since. It is of a change where an operator said so
// or where nothing came to the circuit before in that millisecond. Where the circuit is open, it is empty in any case.
func (a *Audit) empties(p *published) bool {
	ended := p.Override == nil && p.Operator == nil && p.Previous > schemas.HalfOpen
	now := p.ChangedAt.Equal(a.core.Clock()) && p.Trigger.Topic != "" &&
		(p.Operator != nil || p.State.State == schemas.Open || a.track(p.Circuit).first)
	return now && !ended && !p.IsShadow && p.Degraded == nil
}

// adopt follows a circuit from a published change on. It reports false where that is not possible.
func (a *Audit) adopt(p *published) bool {
	if !a.known || !a.room(p.Circuit) || !a.empties(p) {
		return false
	}
	t := a.track(p.Circuit)
	if s := p.Shadow; s != nil && !t.ever && s.Since.Equal(p.Born) && s.Epoch == 0 && s.Trips == 0 {
		// A shadow that never moved says the same in the core where the range begins in the millisecond of its birth,
		// and may have counted before. It is to be heard of, so the core must not have one.
		a.core.Drop(p.Circuit)
		t.ids = ids{}
	}
	a.core.Adopt(&p.State)
	for i := range a.made {
		if made := &a.made[i]; made.IsShadow && made.Circuit == p.Circuit {
			made.Sequence, made.Born = p.Sequence, p.Born // They tell of the circuit's newest record.
		}
	}
	t.clamped, t.suspect, t.repeats = false, false, false
	t.from = p.Inputs
	t.recovers = p.Attempt == 0 || breaker.Recovers(&p.State)
	a.follow(t)
	a.timed = true
	return true
}
