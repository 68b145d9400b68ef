package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

// circuitRows are rows for circuits, the first of names. What is neutral has a column where anything is.
func circuitRows(circuits []*backtest.Circuit) [][]string {
	rows := [][]string{{
		"CIRCUIT", "POLICY", "OUTCOMES", "ACCEPTED", "TRIPS", "FOUND AFTER", "OPEN", "BAD AVOIDED", neutralAvoided,
		"GOOD REFUSED", "SPEND AVOIDED",
	}}
	neutral := false
	for _, c := range circuits {
		neutral = neutral || c.Others > 0
		found := "-"
		if len(c.Trips) > 0 {
			found = delay(c.Trips[0].DelayOutcomes, c.Trips[0].DelaySeconds)
		}
		rows = append(rows, []string{
			c.Circuit, judge(c), fmt.Sprint(c.Outcomes), share(c.Accepted, c.Outcomes), fmt.Sprint(len(c.Trips)), found,
			points(c.OpenShare()), of(c.Refused.Failures, c.Failures), of(c.Refused.Others, c.Others),
			of(c.Refused.Accepted, c.Accepted), dollars(c.Refused.CostUSD),
		})
	}
	if !neutral {
		dropColumn(rows, neutralAvoided)
	}
	return rows
}

const neutralAvoided = "NEUTRAL AVOIDED"

// dropColumn drops the column of a name.
func dropColumn(rows [][]string, name string) {
	column := slices.Index(rows[0], name)
	for i := range rows {
		rows[i] = slices.Delete(rows[i], column, column+1)
	}
}

// judge names the policy of a row, and says what keeps it from being obeyed, or from judging.
func judge(c *backtest.Circuit) string {
	switch {
	case c.Policy == "":
		return "none matches"
	case c.Off:
		return c.Policy + " (off)"
	}
	var marks []string
	if c.Shadow {
		marks = append(marks, "shadow")
	} else if !c.Enforced {
		marks = append(marks, "not enforced")
	}
	if c.Idle() {
		marks = append(marks, "never judged")
	}
	if len(marks) == 0 {
		return c.Policy
	}
	return c.Policy + " (" + strings.Join(marks, ", ") + ")"
}

// notes says what a reader should know of a side's policies, where there is anything.
func (s *backtestSide) notes() (notes []string) {
	var idle, judging int
	var unmatched, lenient, off []string
	for _, c := range s.report.Circuits {
		switch {
		case c.Policy == "":
			unmatched = append(unmatched, c.Circuit)
			continue
		case c.Off:
			off = append(off, c.Policy)
			continue
		case !c.Enforced:
			lenient = append(lenient, c.Policy)
		}
		if judging++; c.Idle() {
			idle++
		}
	}
	circuits := int64(len(s.report.Circuits))
	switch {
	case len(unmatched) == len(s.report.Circuits):
		notes = append(notes, "none of its policies matches anything recorded here: it refuses nothing, whatever comes"+
			s.nearlyMatched(unmatched))
	case len(unmatched) > 0:
		notes = append(notes, fmt.Sprintf("none of its policies matches %s circuits, of which it refuses nothing%s",
			of(int64(len(unmatched)), circuits), s.nearlyMatched(unmatched)))
	}
	switch {
	case idle > 0 && idle == judging:
		notes = append(notes, "no rule of it ever judged any circuit: "+tooFew+". So this says nothing for it or "+
			"against it; 'fusebox policy check --against' tells what each rule waits for")
	case idle > 0:
		notes = append(notes, fmt.Sprintf("no rule ever judged %s circuits: %s", of(int64(idle), circuits), tooFew))
	}
	if names := distinct(off); names != "" {
		notes = append(notes, "off: by enabled: false nothing is judged by "+names)
	}
	if names := distinct(lenient); names != "" {
		notes = append(notes, "not enforced: by enforce: false no router obeys "+names+" live")
	}
	return notes
}

// nearlyMatched names the first of some circuits that no policy matches, where a pattern nearly does.
func (s *backtestSide) nearlyMatched(circuits []string) string {
	const most = 100 // It takes long to try more.
	for _, circuit := range circuits[:min(len(circuits), most)] {
		if n := nearestPattern(circuit, s.policies); n != nil {
			return fmt.Sprintf("; the pattern %s of policy %s nearly matches %s", n.Pattern, n.Policy, circuit)
		}
	}
	return ""
}

// tooFew says why no rule judged a circuit.
const tooFew = "their windows never held as many counted outcomes as the rules wait for (minimum_throughput)"

// distinct lists names in order, each once.
func distinct(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
