package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// detail collects what is said of one circuit: a name and a text a row.
type detail struct {
	now  time.Time
	rows [][]string
}

func (d *detail) add(name, format string, args ...any) {
	d.rows = append(d.rows, []string{name, fmt.Sprintf(format, args...)})
}

// writeDetail prints one circuit, as it is now, with its cause in full.
func writeDetail(w io.Writer, s *schemas.State, policies *schemas.PoliciesInForce, now time.Time) error {
	p := paletteFor(w)
	headline := stateWord(s)
	if after := readInForce(policies).Next(s, now); after != "" {
		headline += ", " + after
	}
	fmt.Fprintf(w, "%s\n%s\n", p.bold(s.Circuit), p.state(s, headline))
	if why := s.Because(); why != "" {
		fmt.Fprintln(w, wrap(why, widthOf(w), ""))
	}
	fmt.Fprintln(w)

	d := &detail{now: now}
	d.position(s, policies)
	d.waits(s)
	if s.Cause != nil {
		d.cause("cause", s.Cause)
	}
	if s.Degraded != nil {
		d.cause("degraded by", s.Degraded)
	}
	if sh := s.Shadow; sh != nil {
		d.add("shadow", "%s, since %s, %s so far", shadowWords(sh.Policy, sh.State, sh.Cause), clock(now, sh.Since),
			count(int(sh.Trips), "trip", "trips"))
	}
	if policies != nil {
		d.fallback(s, policies.Routes)
	}
	err := d.write(w, p)
	for _, cause := range []*schemas.Cause{s.Cause, s.Degraded} {
		if err == nil && cause != nil && len(cause.Evidence) > 0 {
			err = writeEvidence(w, p, cause.Evidence, now)
		}
	}
	return err
}

// write prints the rows, texts broken into as many lines as the terminal needs.
func (d *detail) write(w io.Writer, p palette) error {
	const names = 12 // Columns of the widest name.
	width := widthOf(w)
	if width > 0 {
		width = max(width-names-2, 20)
	}
	for _, row := range d.rows {
		name := p.faint(fmt.Sprintf("%-*s", names, row[0]))
		text := strings.ReplaceAll(wrap(row[1], width, ""), "\n", "\n"+strings.Repeat(" ", names+2))
		if _, err := fmt.Fprintf(w, "%s  %s\n", name, text); err != nil {
			return err
		}
	}
	return nil
}

// position says where the circuit stands and what judges it.
func (d *detail) position(s *schemas.State, inForce *schemas.PoliciesInForce) {
	d.add("epoch", "%d, attempt %d, sequence %d", s.Epoch, s.Attempt, s.Sequence)
	if !s.ChangedAt.IsZero() {
		d.add("since", "%s (%s ago), before that %s", clock(d.now, s.ChangedAt), ago(d.now, s.ChangedAt), s.Previous)
	}
	d.add("born", "%s", clock(d.now, s.Born))
	policy := s.Policy + ", version " + s.PolicyVersion
	if s.Policy == "" {
		policy = "none matches"
	}
	if !s.Enforced {
		policy += "; not enforced: routers do not obey it"
	}
	d.add("policy", "%s", policy)
	if inForce != nil && inForce.Version != s.PolicyVersion {
		d.add("", "as of its last record; what comes now is judged by %s", judgeOf(s.Circuit, inForce))
	}
	if t := s.Trigger; t.Topic != "" {
		d.add("caused by", "%s, partition %d, offset %d", t.Topic, t.Partition, t.Offset)
	} else {
		d.add("caused by", "a reload of the policies, version %s", s.PolicyVersion)
	}
	if s.Clamped {
		d.add("", "a time from the future was clamped on the way here")
	}
}

// judgeOf names what judges a circuit by the policies in force.
func judgeOf(circuit string, inForce *schemas.PoliciesInForce) string {
	policies := readInForce(inForce)
	switch {
	case policies == nil: // They are of a later version of Fusebox.
		return "version " + inForce.Version
	case !policies.For(circuit).Matched:
		return "none: no policy of version " + inForce.Version + " matches"
	}
	return policies.For(circuit).Name + ", version " + inForce.Version
}

// waits says what the circuit waits for: retry, leases, ramp, the end of an override.
func (d *detail) waits(s *schemas.State) {
	if !s.RetryAt.IsZero() {
		when := "in " + schemas.Until(d.now, s.RetryAt)
		if !d.now.Before(s.RetryAt) {
			when = ago(d.now, s.RetryAt) + " ago"
		}
		d.add("retry", "%s (%s)", clock(d.now, s.RetryAt), when)
	}
	if o := s.Override; o != nil {
		until := "until it is cleared"
		if !o.Until.IsZero() {
			until = fmt.Sprintf("until %s (in %s)", clock(d.now, o.Until), schemas.Until(d.now, o.Until))
		}
		d.add("override", "%s by %s, %s", o.Mode, o.Actor, until)
	}
	if s.State == schemas.HalfOpen {
		d.add("probes", "%d succeeded, %d failed, %d in a row without a verdict; %d at a time",
			s.Probe.Successes, s.Probe.Failures, s.Probe.Inconclusive, s.Probe.Concurrency)
	}
	for _, l := range s.Leases {
		d.add("lease", "%s, held by %s for another %s", l.ID, l.Holder, schemas.Until(d.now, l.ExpiresAt))
	}
	for _, r := range s.Ramp {
		d.add("ramp", "%s of calls until %s", percent(r.Share), clock(d.now, r.Until))
	}
}

// cause lays a cause out in numbers.
func (d *detail) cause(title string, c *schemas.Cause) {
	d.add(title, "rule %s (%s) of %s, version %s, at %s", c.Rule, c.Type, c.Policy, c.PolicyVersion, clock(d.now, c.At))
	if c.Type != schemas.ProbeFailed && c.Type != schemas.ProbesInconclusive {
		d.add("  observed", "%s, threshold %s", schemas.Decimal(c.Observed, 6), schemas.Decimal(c.Threshold, 6))
	}
	if c.Throughput > 0 {
		span := "the last ones"
		if c.Window > 0 {
			span = "in " + schemas.Brief(c.Window)
		}
		d.add("  throughput", "%s, %s", count(int(c.Throughput), "outcome", "outcomes"), span)
	}
	if c.BySuccess {
		d.add("  judged", "when a success came in")
	}
	if kinds := c.Kinds(); len(kinds) > 0 {
		for i, kind := range kinds {
			kinds[i] = fmt.Sprintf("%s %d", kind, c.ByKind[kind])
			if weight := c.Weights[kind]; weight != 0 && weight != float64(c.ByKind[kind]) {
				kinds[i] += fmt.Sprintf(" (weight %s)", schemas.Decimal(weight, 3))
			}
		}
		d.add("  by kind", "%s", strings.Join(kinds, ", "))
	}
	if !c.Since.IsZero() && c.Since.Before(c.At) {
		d.add("  bad since", "%s, %s before", clock(d.now, c.Since), schemas.Until(c.Since, c.At))
	}
	if len(c.AlsoFired) > 0 {
		d.add("  also fired", "%s", strings.Join(c.AlsoFired, ", "))
	}
	if n := c.NotCounted; n != (schemas.NotCounted{}) {
		d.add("  not counted", "%d stale, %d neutral, %d duplicate, %d late", n.Stale, n.Neutral, n.Duplicate, n.Late)
	}
}

// fallback says where routers go while the circuit refuses.
func (d *detail) fallback(s *schemas.State, routes []schemas.Route) {
	route := schemas.RouteOf(routes, s.Circuit)
	if route == nil {
		return
	}
	words := route.Fallback(s)
	if s.Cause != nil && route.ByCause[s.Cause.Kind] != nil {
		words += " (chosen by " + s.Cause.Kind + ")"
	}
	if words != "" {
		d.add("fallback", "%s", words)
	}
}

// writeEvidence prints the outcomes that speak against the route, newest first as they came.
func writeEvidence(w io.Writer, p palette, evidence []schemas.Evidence, now time.Time) error {
	rows := [][]string{{"TIME", "KIND", "SEVERITY", "STAGE", "REASON", "PARTITION/OFFSET", "ID", "REF"}}
	for _, e := range evidence {
		severity := ""
		if e.Severity != schemas.Normal {
			severity = e.Severity.String()
		}
		rows = append(rows, []string{
			clock(now, e.Time), e.Kind, severity, e.Stage, e.ReasonCode,
			strconv.Itoa(int(e.Partition)) + "/" + strconv.FormatInt(e.Offset, 10), e.ID, e.EvidenceRef,
		})
	}
	fmt.Fprintln(w)
	return writeTable(w, dropEmpty(rows), func(row, _ int, cell string) string {
		if row == 0 {
			return p.faint(cell)
		}
		return cell
	})
}

// dropEmpty drops the columns that have only a title.
func dropEmpty(rows [][]string) [][]string {
	kept := make([][]string, len(rows))
	for column := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != "" }) {
			continue
		}
		for i, row := range rows {
			kept[i] = append(kept[i], row[column])
		}
	}
	return kept
}
