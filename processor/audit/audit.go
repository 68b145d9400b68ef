package audit

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// Config is what an audit of a partition works with.
type Config struct {
	Site
	Match breaker.Glob // Circuits to audit; empty for all.

	// Policies are those in force where the inputs are begun with, nil where they are not at hand. Switches are the
	// changes after that, in the order of their inputs.
	Policies *breaker.Policies
	Switches []Switch

	// From is where the inputs are begun with: a published record that was made before is not audited. End is up to
	// where the group has handled them. A published record of after that is not audited either.
	From, End schemas.Inputs

	// Whole tells that both inputs and what was published are there from their beginning: then every circuit is
	// followed from its first record on.
	Whole bool

	// Most bounds how many circuits are in memory at once. The default is 100,000.
	Most int
}

// Switch is a change of policies.
type Switch struct {
	At       schemas.Inputs
	Version  string
	Policies *breaker.Policies // Nil where they are not at hand: their text cannot be read.
}

// Published is a record of the transitions topic.
type Published struct {
	Offset int64
	Time   time.Time // When it was written.
	Value  []byte
}

// Audit recomputes what was published of one partition, and compares. Call Run, give what it asks for, and so on until
// it asks for nothing.
type Audit struct {
	config Config
	inputs *Replay
	core   *processor.Partition

	published []published // Not compared yet, in their order.
	ended     bool        // There are no more.

	cut      *Cut
	group    []published     // They tell the cut.
	odd      []published     // Their inputs cannot be right: they are looked for by circuit and sequence.
	switches []Switch        // That come at the cut, or after it.
	made     []schemas.State // By the record that made the cut, or by a switch of policies there.
	done     bool
	last     int64 // The offset of the last record published that was looked at.

	policies *breaker.Policies
	known    bool      // The policies in force are at hand.
	since    time.Time // The clock at the first record.
	timed    bool      // The clock is right: before the range it may have been ahead of all that is handled.
	clamped  time.Time // Up to when the clock may be off, as a timestamp was clamped.
	live     time.Time // Up to when it may be by a moment, as producers' timestamps were as new as what was published.
	handled  int       // Since the last sweep.
	circuits map[string]*track
	tally    tally
}

// published is what was published of a circuit or its shadow, or, without a circuit, of how far the inputs were handled
// at some time.
type published struct {
	offset int64
	time   time.Time
	schemas.State
}

const (
	defaultMost = 100_000
	sweepEvery  = 10_000 // Records.

	// clampedFor is for how long a clock may be off after a timestamp was clamped: as long as it can have taken from
	// there until what it made was written.
	clampedFor = 10 * time.Second
)

// New returns an audit of a partition.
func New(c Config) *Audit {
	if c.Most == 0 {
		c.Most = defaultMost
	}
	a := &Audit{
		config: c, inputs: NewReplay(c.Site), switches: c.Switches, known: c.Policies != nil,
		timed: c.Whole, circuits: map[string]*track{}, tally: newTally(c.Site),
	}
	if c.Policies == nil {
		c.Policies = breaker.Builtin() // Nothing is compared before others are in force.
	}
	a.policies = c.Policies
	a.core = processor.New(c.Policies)
	return a
}

// Take takes records of an input in the order of their offsets, and up to which offset it was read with them.
func (a *Audit) Take(feed Feed, records []Record, read int64) { a.inputs.Take(feed, records, read) }

// TakePublished takes records of the transitions topic in their order. Switches of policies are passed over, as the
// configuration has them, and so is what a later version may write.
func (a *Audit) TakePublished(records []Published) {
	for _, r := range records {
		kind, err := schemas.TransitionKind(r.Value)
		state := schemas.State{}
		switch {
		case err != nil:
		case kind == schemas.HandledRecord:
			state.Inputs, err = schemas.DecodeHandled(r.Value)
		case kind == schemas.StateRecord || kind == schemas.ShadowRecord:
			if state, err = schemas.DecodeState(r.Value); err == nil && !a.config.matches(state.Circuit) {
				continue
			}
		default:
			continue
		}
		if err != nil {
			a.unreadable(r.Offset, err)
			continue
		}
		a.published = append(a.published, published{r.Offset, r.Time, state})
	}
}

// End notes that all of a topic was taken.
func (a *Audit) End(feed Feed) {
	if feed == Transitions {
		a.ended = true
		return
	}
	a.inputs.End(feed)
}

func (c *Config) matches(circuit string) bool { return c.Match == "" || c.Match.Matches(circuit) }

// Run goes on as far as it can with what was taken, and returns what it wants more of, or Nothing when it is done.
func (a *Audit) Run() Feed {
	for !a.done {
		if a.cut == nil && !a.choose() {
			return Transitions
		}
		if feed := a.inputs.Wants(a.cut); feed != Nothing {
			return feed
		}
		if h, any := a.inputs.Next(a.cut); any {
			a.handle(&h)
		} else {
			a.reach()
		}
	}
	return Nothing
}

// handle lets the core handle a record, unless it is of no concern.
func (a *Audit) handle(h *Handled) {
	if h.Fate != ToHandle {
		return
	}
	a.tally.count(h)
	switch {
	case h.Input.Clamped:
		a.clamped = h.At.Add(clampedFor)
	case !h.Record.Appended && a.cut.Now.Sub(h.At) < clampedFor:
		a.live = h.At.Add(clampedFor)
	}
	now := h.At
	if clock := a.core.Clock(); clock.After(now) {
		now = clock
	}
	if a.since.IsZero() {
		a.since = now
	}
	if !a.config.matches(h.Circuit) {
		a.core.Advance(h.At)
		return
	}
	if !a.room(h.Circuit) {
		a.crowd(h)
		return
	}
	t := a.track(h.Circuit)
	a.meet(t, now)
	last := a.cut.Trigger == h.Input.Trigger
	if last {
		a.begin(h.Circuit, t, now)
	}
	result := a.core.Step(h.At, h.Input)
	a.note(t, h, &result)
	if t.followed {
		a.take(result.States, last)
		a.take(result.Shadows, last)
	}
	if a.handled++; a.handled%sweepEvery == 0 {
		a.core.Commit()
		a.core.Sweep(math.MaxInt)
		a.core.Commit()
	}
}

// take takes what a record made. Only the one that makes the cut is known to have made something.
func (a *Audit) take(made []schemas.State, last bool) {
	for i := range made {
		if last {
			a.made = append(a.made, made[i])
		} else {
			a.unasked(&made[i])
		}
	}
}

// reach compares what came of the inputs up to the cut, and goes on to the next. What a record made there was made
// before policies changed there.
func (a *Audit) reach() {
	var byRecord, bySwitch []published
	for _, p := range ofCircuits(append(a.odd, a.group...)) {
		if p.Trigger.Topic != "" {
			byRecord = append(byRecord, p)
		} else {
			bySwitch = append(bySwitch, p)
		}
	}
	a.compare(byRecord)
	for len(a.switches) > 0 && a.switches[0].At == a.cut.At {
		a.reload(a.switches[0])
		a.switches = a.switches[1:]
	}
	a.compare(bySwitch)
	for _, p := range a.group {
		a.last = p.offset
	}
	a.group, a.odd = nil, nil
	a.core.Commit()
	a.done = a.cut.At == a.config.End && a.ended && len(a.published) == 0
	a.cut = nil
}

// reload puts other policies in force. While they are not at hand nothing can be told of any circuit.
func (a *Audit) reload(s Switch) {
	a.tally.report.Switches++
	if s.Policies == nil {
		a.known = false
		a.tally.absent[s.Version] = true
		for _, t := range a.circuits {
			t.followed = false
		}
		return
	}
	a.known, a.policies = true, s.Policies
	for _, state := range a.core.Reload(s.Policies, a.inputs.At()) {
		if a.track(state.Circuit).followed {
			a.made = append(a.made, state)
		}
	}
}

// choose decides up to where the inputs are handled next. It reports false where more has to be published first.
func (a *Audit) choose() bool {
	for {
		group, next, whole := a.head()
		switch {
		case !whole:
			return false
		case len(group) == 0:
			a.cut = a.before(&Cut{At: a.config.End})
			return true
		case !within(a.config.From, group[0].Inputs) || !a.reachable(&group[0]):
			if told := ofCircuits(group); len(told) > 0 {
				a.tally.gap(Deleted, told...)
			}
		case !a.sound(group, next):
			a.odd = append(a.odd, ofCircuits(group)...)
			if len(ofCircuits(group)) == 0 {
				a.unreadable(group[0].offset, errors.New("its offsets do not go with those of the records around it"))
			}
		case !within(group[0].Inputs, a.config.End):
			a.published, a.ended = nil, true // What follows was handled after this began.
			continue
		default:
			a.cut = a.before(cutOf(group))
			if a.cut.At == group[0].Inputs {
				a.group = group
				a.published = a.published[len(group):]
			}
			return true
		}
		a.published = a.published[len(group):]
	}
}

// head returns the records at the front that were made at the same inputs, and the one behind them, nil where there is
// none. It reports false where that is not known yet.
func (a *Audit) head() (group []published, next *published, whole bool) {
	for i := range a.published {
		if a.published[i].Inputs != a.published[0].Inputs {
			return a.published[:i:i], &a.published[i], true
		}
	}
	return a.published[:len(a.published):len(a.published)], nil, a.ended
}

// ofCircuits leaves those that are not of how far the inputs were handled.
func ofCircuits(group []published) []published {
	return slices.DeleteFunc(slices.Clone(group), func(p published) bool { return p.Circuit == "" })
}

// before returns a cut, or where policies change before it, that place.
func (a *Audit) before(c *Cut) *Cut {
	for len(a.switches) > 0 && !within(a.inputs.At(), a.switches[0].At) {
		a.switches = a.switches[1:] // It cannot be: the inputs of a partition do not go back.
	}
	if len(a.switches) > 0 && within(a.switches[0].At, c.At) && a.switches[0].At != c.At {
		return &Cut{At: a.switches[0].At, Now: c.Now}
	}
	return c
}

// cutOf returns the cut that records tell.
func cutOf(group []published) *Cut {
	c := &Cut{At: group[0].Inputs, Now: group[0].time}
	for _, p := range group {
		if p.Trigger.Topic == "" {
			continue
		}
		c.Trigger = p.Trigger
		if p.State.Clamped {
			c.Clamped = p.ChangedAt
		}
	}
	return c
}

// reachable tells whether the record that made a published one is still to come.
func (a *Audit) reachable(p *published) bool {
	return p.Trigger.Topic == "" || p.Trigger.Topic == a.config.Signals && p.Trigger.Offset >= a.config.From.Signals ||
		p.Trigger.Topic != a.config.Signals && p.Trigger.Offset >= a.config.From.Outcomes
}

// sound tells whether the inputs of published records can be right: they lie behind what was handled, not behind the
// next record's, before the end or behind it, and right behind the record that they name.
func (a *Audit) sound(group []published, next *published) bool {
	at, now, end := group[0].Inputs, a.inputs.At(), a.config.End
	if !within(now, at) || !within(at, end) && !within(end, at) {
		return false
	}
	if next != nil && !within(at, next.Inputs) && within(now, next.Inputs) && a.fits(next.Trigger, next.Inputs) {
		return false
	}
	for _, p := range group {
		if p.Trigger.Topic != "" && !a.fits(p.Trigger, at) {
			return false
		}
	}
	return true
}

func (a *Audit) fits(t schemas.Trigger, at schemas.Inputs) bool {
	switch {
	case t.Partition != a.config.Partition:
		return false
	case t.Topic == a.config.Outcomes:
		return t.Offset+1 == at.Outcomes
	}
	return t.Topic == a.config.Signals && t.Offset+1 == at.Signals
}

func within(a, b schemas.Inputs) bool { return a.Outcomes <= b.Outcomes && a.Signals <= b.Signals }

// Report returns what came of it.
func (a *Audit) Report() Report {
	a.finish()
	return a.tally.report
}
