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

// judge names the policy of a row, and says what keeps it from being obeyed.
func judge(c *backtest.Circuit) string {
	switch {
	case c.Policy == "":
		return "none matches"
	case c.Shadow:
		return c.Policy + " (shadow)"
	case !c.Enforced:
		return c.Policy + " (not enforced)"
	}
	return c.Policy
}

// notes says what a reader should know of a side's policies, where there is anything.
func (s *backtestSide) notes() (notes []string) {
	var unmatched int
	var lenient []string
	for i := range s.report.Circuits {
		c := s.report.Circuits[i]
		if c.Policy == "" {
			unmatched++
		} else if !c.Enforced {
			lenient = append(lenient, c.Policy)
		}
	}
	switch circuits := len(s.report.Circuits); {
	case unmatched == circuits:
		notes = append(notes, "none of its policies matches anything recorded here: it refuses nothing, whatever comes")
	case unmatched > 0:
		notes = append(notes, fmt.Sprintf("none of its policies matches %s, of which it refuses nothing",
			of(int64(unmatched), int64(circuits))+" circuits"))
	}
	slices.Sort(lenient)
	if lenient = slices.Compact(lenient); len(lenient) > 0 {
		notes = append(notes, "not enforced: by enforce: false no router obeys "+strings.Join(lenient, ", ")+" live")
	}
	return notes
}
