package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fusebox-project/fusebox/schemas"
)

// tally adds up a report.
type tally struct {
	site    Site
	report  Report
	gaps    map[Reason]int64
	crowded map[string]bool // Circuits for which there was no room, at most so many as are told.
	absent  map[string]bool // Versions of policies that are not at hand.
}

func newTally(s Site) tally {
	return tally{site: s, gaps: map[Reason]int64{}, crowded: map[string]bool{}, absent: map[string]bool{}}
}

func (y *tally) count(h *Handled) {
	if h.Input.Outcome != nil {
		y.report.Outcomes++
	} else {
		y.report.Signals++
	}
}

func (y *tally) gap(why Reason, records ...published) { y.gaps[why] += int64(len(records)) }

func (y *tally) crowd(circuit string) {
	if len(y.crowded) < MostTold {
		y.crowded[strings.Clone(circuit)] = true
	}
}

// tell adds a difference and returns its number, or -1 where there are too many.
func (y *tally) tell(d Difference) int {
	y.report.Different++
	if len(y.report.Differences) == MostTold {
		return -1
	}
	d.Topic, d.Partition = y.site.Transitions, y.site.Partition
	y.report.Differences = append(y.report.Differences, d)
	return len(y.report.Differences) - 1
}

// goesOn adds to a difference that was told.
func (y *tally) goesOn(number int, offset int64) {
	y.report.Different++
	if number >= 0 {
		d := &y.report.Differences[number]
		d.Following++
		d.Last = max(d.Last, offset)
	}
}

// unreadable notes a published record that cannot be read.
func (a *Audit) unreadable(offset int64, err error) {
	a.tally.tell(Difference{Offset: offset, What: Unreadable, Why: err.Error()})
}

// differs notes that a published record differs, in these fields, or as nothing was to be published. Where a circuit
// goes on differing, the next change that was published is taken at its word: what comes after it differs no more.
func (a *Audit) differs(p *published, fields []Field) {
	t := a.track(p.Circuit)
	if t.suspect {
		a.tally.goesOn(t.told, p.offset)
		a.adopt(p)
		return
	}
	d := Difference{
		Offset: p.offset, Circuit: p.Circuit, Shadow: p.IsShadow, Sequence: p.Sequence, What: Differs, Fields: fields,
		Trigger: p.Trigger, Inputs: p.Inputs, Why: why(fields),
	}
	if fields == nil {
		d.What = Extra
	}
	t.suspect, t.told = true, a.tally.tell(d)
}

// missing notes that something was not published.
func (a *Audit) missing(made *schemas.State) {
	t := a.track(made.Circuit)
	before := a.last + 1
	if len(a.group) > 0 {
		before = a.group[0].offset
	}
	if unsure := a.unsure(t, made); unsure != "" {
		a.tally.gap(unsure)
		t.followed = false
		return
	}
	if t.suspect {
		a.tally.goesOn(t.told, before)
		return
	}
	why := ""
	if made.Sequence == 1 {
		why = "circuits beyond FUSEBOX_MAX_CIRCUITS do not become known, and nothing else on the log says so"
	}
	t.suspect, t.told = true, a.tally.tell(Difference{
		Offset: before, Circuit: made.Circuit, Shadow: made.IsShadow, Sequence: made.Sequence, What: Missing,
		Trigger: made.Trigger, Inputs: made.Inputs, Why: why,
	})
}

// why tells why a published record may differ, where the fields in which it does say so.
func why(fields []Field) string {
	for _, f := range fields {
		switch f.Name {
		case "policy_version":
			return "policies " + f.Published + " judged it, and by the log " + f.Recomputed + " were in force"
		case "clamped":
			return "whether a timestamp was clamped does not go with the timestamps on the log"
		}
	}
	return ""
}

// finish adds what could not be audited.
func (a *Audit) finish() {
	report := &a.tally.report
	never := 0
	for _, t := range a.circuits {
		if !t.ever && !t.crowded {
			never++
		}
	}
	circuits := map[Reason]int{Unchanged: never, Crowded: len(a.tally.crowded)}
	reasons := maps.Clone(a.tally.gaps)
	for reason, n := range circuits {
		if n > 0 {
			reasons[reason] += 0
		}
	}
	report.Gaps = nil
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		gap := Gap{Reason: reason, Circuits: circuits[reason], Records: reasons[reason]}
		if reason == NoPolicy {
			gap.Policies = slices.Sorted(maps.Keys(a.tally.absent))
		}
		report.Gaps = append(report.Gaps, gap)
	}
}

// String says where an audit is, for errors.
func (a *Audit) String() string {
	at := a.inputs.At()
	return fmt.Sprintf("partition %d at outcomes %d and signals %d", a.config.Partition, at.Outcomes, at.Signals)
}
