package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/audit"
)

// auditReport is what the command prints.
type auditReport struct {
	Since       time.Time          `json:"since"`
	Until       *time.Time         `json:"until,omitempty"`
	Partitions  int32              `json:"partitions"`
	Circuits    int                `json:"circuits"`
	Same        int64              `json:"same"`
	Different   int64              `json:"different"`
	Outcomes    int64              `json:"outcomes"`
	Signals     int64              `json:"signals"`
	Switches    int                `json:"policy_switches"`
	Differences []audit.Difference `json:"differences"`
	Gaps        []audit.Gap        `json:"not_auditable"`

	match breaker.Glob
}

func newAuditReport(a *auditor) auditReport {
	r := auditReport{
		Since: a.since.UTC().Truncate(time.Millisecond), Partitions: a.partitions, match: a.match,
		Differences: []audit.Difference{}, Gaps: []audit.Gap{},
	}
	if !a.until.IsZero() {
		until := a.until.UTC().Truncate(time.Millisecond)
		r.Until = &until
	}
	return r
}

// add adds what was found in a partition.
func (r *auditReport) add(found *audit.Report) {
	r.Circuits += found.Circuits
	r.Same += found.Same
	r.Different += found.Different
	r.Outcomes += found.Outcomes
	r.Signals += found.Signals
	r.Switches = max(r.Switches, found.Switches) // A change of the file is a switch in each partition.
	r.Differences = append(r.Differences, found.Differences[:min(len(found.Differences),
		audit.MostTold-min(len(r.Differences), audit.MostTold))]...)
	for _, gap := range found.Gaps {
		i := slices.IndexFunc(r.Gaps, func(g audit.Gap) bool { return g.Reason == gap.Reason })
		if i < 0 {
			r.Gaps = append(r.Gaps, gap)
			continue
		}
		r.Gaps[i].Circuits += gap.Circuits
		r.Gaps[i].Records += gap.Records
		r.Gaps[i].Policies = slices.Compact(slices.Sorted(slices.Values(append(r.Gaps[i].Policies, gap.Policies...))))
	}
}

// unusable returns an error where there was something to audit, and for want of policies or inputs nothing was.
func (r *auditReport) unusable() error {
	if r.Same+r.Different > 0 {
		return nil
	}
	for _, gap := range r.Gaps {
		if gap.Records > 0 && (gap.Reason == audit.Deleted || gap.Reason == audit.NoPolicy) {
			return errors.New("nothing could be audited")
		}
	}
	return nil
}

// write prints the report for people.
func (r *auditReport) write(w io.Writer) error {
	p := paletteFor(w)
	var text strings.Builder
	for i := range r.Differences {
		writeDifference(&text, p, &r.Differences[i])
	}
	text.WriteString(r.headline(p) + "\n")
	for i := range r.Gaps {
		text.WriteString("not auditable: " + gapWords(&r.Gaps[i]) + "\n")
	}
	_, err := io.WriteString(w, hang(text.String(), widthOf(w)))
	return err
}

// headline says what was audited, and what came of it.
func (r *auditReport) headline(p palette) string {
	all := r.Same + r.Different
	switch {
	case all == 0 && r.published() > 0:
		return p.warn("nothing was audited")
	case all == 0:
		return p.warn("nothing was audited:") + " in this stretch no transition was published of " + r.which()
	}
	words := fmt.Sprintf("%s of %s audited, recomputed from %s and %s under %s: ",
		count(int(all), "transition", "transitions"), count(r.Circuits, "circuit", "circuits"),
		count(int(r.Outcomes), "outcome", "outcomes"), count(int(r.Signals), "signal", "signals"),
		count(r.Switches, "switch of policies", "switches of policies"))
	if r.Different == 0 {
		return words + p.good("none differs")
	}
	return words + p.bad(fmt.Sprintf("%d %s", r.Different, plural(int(r.Different), "differs", "differ")))
}

// published returns how many transitions could not be audited.
func (r *auditReport) published() (n int64) {
	for i := range r.Gaps {
		n += r.Gaps[i].Records
	}
	return n
}

// which names the circuits that were asked for.
func (r *auditReport) which() string {
	if r.match == "" {
		return "any circuit"
	}
	return fmt.Sprintf("a circuit that matches %s; %s status lists those that there are", r.match, program())
}

// differs are the words for what a circuit does at a place.
var differs = map[audit.What]string{
	audit.Differs: "differs at", audit.Missing: "has a record missing before", audit.Extra: "has a record too many at",
	audit.Unreadable: "a record cannot be read at",
}

// writeDifference tells where a circuit begins to differ, and how.
func writeDifference(text *strings.Builder, p palette, d *audit.Difference) {
	fmt.Fprintf(text, "%s %s %s, partition %d, offset %d\n",
		p.bold(d.Circuit), p.bad(differs[d.What]), d.Topic, d.Partition, d.Offset)
	if d.Trigger.Topic != "" {
		fmt.Fprintf(text, "  sequence %d, by %s, partition %d, offset %d\n",
			d.Sequence, d.Trigger.Topic, d.Trigger.Partition, d.Trigger.Offset)
	}
	for _, f := range d.Fields {
		fmt.Fprintf(text, "  %s: published %s, recomputed %s\n",
			f.Name, orNothing(f.Published), orNothing(f.Recomputed))
	}
	if d.Why != "" {
		fmt.Fprintf(text, "  perhaps: %s\n", d.Why)
	}
	if d.Following > 0 {
		fmt.Fprintf(text, "  and %s of it, up to offset %d\n",
			count(d.Following, "more record", "more records"), d.Last)
	}
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// gapWords says what could not be audited, and why.
func gapWords(g *audit.Gap) string {
	records := count(int(g.Records), "transition", "transitions")
	switch g.Reason {
	case audit.Unchanged:
		return fmt.Sprintf("%s, from before the first change of their circuit here; %s never changed", records,
			count(g.Circuits, "circuit", "circuits"))
	case audit.Deleted:
		return records + ", as retention has deleted the outcomes or signals that made them"
	case audit.NoPolicy:
		return records + ", as the policies in force are not at hand" + versions(g.Policies)
	case audit.ClampedClock:
		return records + ", as a timestamp in the future was clamped to the wall clock, which nobody knows exactly"
	case audit.Repeats:
		return records + ", as an outcome may repeat one from before the range, whose id is not known here"
	case audit.Recovery:
		return records + ", as it is not known when their circuit recovered before the range"
	case audit.Beside:
		return records + ", as a shadow judges their circuit since before the range, and what it has counted is " +
			"not known"
	case audit.Crowded:
		return fmt.Sprintf("%s, of %s or more, as there are more than fit into memory: name some by a glob", records,
			count(g.Circuits, "circuit", "circuits"))
	}
	return records + ": " + string(g.Reason)
}

// versions names the versions of policies, where they are known.
func versions(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return ": " + strings.Join(of, ", ")
}
