package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

// truthLimits are what a policy may not exceed: the gate that a change of it has to pass.
type truthLimits struct {
	delay      string // As the flag says it; "" is no limit.
	outcomes   int64  // -1 where the limit is a duration.
	within     time.Duration
	falseTrips int
	countFalse bool // There is a limit for false trips.
	missed     int
	leftOut    int64
	asked      bool // There is any limit, and so there is one for what was missed and for what was left out.
}

func (l *truthLimits) add(flags *pflag.FlagSet) {
	flags.StringVar(&l.delay, "max-delay", "",
		"with --truth: the `most` that detection may take, outcomes such as 30 or a duration such as 2m")
	flags.IntVar(&l.falseTrips, "max-false-trips", 0, "with --truth: the most trips outside bad stretches")
	flags.IntVar(&l.missed, "max-missed", 0, "with --truth: the most bad stretches in which nothing opened")
	flags.Int64Var(&l.leftOut, "max-left-out", 0, "with --truth: the most records that cannot be read or have no time")
}

// check reads the limits as the flags say them.
func (l *truthLimits) check(flags *pflag.FlagSet, truth bool) error {
	l.countFalse = flags.Changed("max-false-trips")
	l.asked = slices.ContainsFunc([]string{"max-delay", "max-false-trips", "max-missed", "max-left-out"}, flags.Changed)
	switch {
	case l.asked && !truth:
		return usageErrorf("--max-delay, --max-false-trips, --max-missed and --max-left-out need --truth")
	case l.falseTrips < 0:
		return usageErrorf("--max-false-trips %d: want a number that is not negative", l.falseTrips)
	case l.missed < 0:
		return usageErrorf("--max-missed %d: want a number that is not negative", l.missed)
	case l.leftOut < 0:
		return usageErrorf("--max-left-out %d: want a number that is not negative", l.leftOut)
	case l.delay == "":
		return nil
	}
	n, err := strconv.ParseInt(l.delay, 10, 64)
	if err == nil && n >= 0 {
		l.outcomes = n
		return nil
	}
	l.outcomes = -1
	if l.within, err = readDuration(l.delay); err != nil || l.within < 0 {
		return usageErrorf("--max-delay %s: want a number of outcomes, such as 30, or a duration, such as 2m", l.delay)
	}
	return nil
}

// exceeds tells whether a stretch was found too late.
func (l *truthLimits) exceeds(s *backtest.JudgedStretch) bool {
	switch {
	case l.delay == "" || !s.Found:
		return false
	case l.outcomes >= 0:
		return s.DelayOutcomes > l.outcomes
	}
	return s.DelaySeconds > l.within.Seconds()
}

// gateJSON is what a policy was held to, and by what it does not pass.
type gateJSON struct {
	Passed     bool          `json:"passed"`
	Delay      string        `json:"max_delay,omitempty"` // As the flags say it; absent where there is no limit.
	FalseTrips *int          `json:"max_false_trips,omitempty"`
	Missed     int           `json:"max_missed"`
	LeftOut    int64         `json:"max_left_out"`
	Problems   []gateProblem `json:"problems"`
}

// gateProblem is one reason for which a policy does not pass.
type gateProblem struct {
	Limit   string `json:"limit"` // Without its dashes; or "order" or "circuit", which no flag allows.
	Message string `json:"message"`
}

// gate holds what came of --policy to the limits: nil where there are none.
func (b *backtester) gate() *gateJSON {
	l, s := &b.limits, b.sides[0]
	if !l.asked {
		return nil
	}
	g := &gateJSON{Delay: l.delay, Missed: l.missed, LeftOut: l.leftOut, Problems: []gateProblem{}}
	if l.countFalse {
		g.FalseTrips = &l.falseTrips
	}
	fail := func(limit, format string, args ...any) {
		g.Problems = append(g.Problems, gateProblem{limit, fmt.Sprintf(format, args...)})
	}
	j := s.judged
	all := count(len(j.Stretches), "bad stretch", "bad stretches")
	late := 0
	for i := range j.Stretches {
		if l.exceeds(&j.Stretches[i]) {
			late++
		}
	}
	if late > 0 {
		fail("max-delay", "--max-delay %s: exceeded by %d of %s", l.delay, late, all)
	}
	if l.countFalse && len(j.FalseTrips) > l.falseTrips {
		fail("max-false-trips", "--max-false-trips %d: there were %d", l.falseTrips, len(j.FalseTrips))
	}
	if j.Missed > l.missed {
		fail("max-missed", "--max-missed %d: missed %d of %s", l.missed, j.Missed, all)
	}
	if left := b.input.unreadable + b.input.untimed; left > l.leftOut {
		fail("max-left-out", "--max-left-out %d: left out %s", l.leftOut, count(int(left), "record", "records"))
	}
	for _, said := range s.unknownCircuits() {
		fail("circuit", "%s", said)
	}
	if lost := s.mostlyLate(); len(lost) > 0 {
		fail("order", "most outcomes of %s were late, so nothing can be said of %s: %s; %s",
			count(len(lost), "circuit", "circuits"), plural(len(lost), "it", "them"), someOf(lost), sortByTime)
	}
	g.Passed = len(g.Problems) == 0
	return g
}

// sortByTime says what to do about outcomes that are late.
const sortByTime = "is what was recorded in the order of time? sort it by time"

// verdict says what the gate came to, and what a reader should doubt where there is none. It returns the error of a
// check that found problems.
func (b *backtester) verdict(w io.Writer) error {
	s := b.sides[0]
	if late, all := s.late(); late*100 > all {
		fmt.Fprintf(w, "%d of %s were late: %s\n", late, count(int(all), "outcome", "outcomes"), sortByTime)
	}
	b.tellUnknownKinds(w)
	g := b.gate()
	if g == nil {
		for _, said := range s.unknownCircuits() {
			fmt.Fprintln(w, said)
		}
		return nil
	}
	for _, note := range s.notes() {
		fmt.Fprintf(w, "note: %s: %s\n", s.name, note)
	}
	for _, p := range g.Problems {
		fmt.Fprintln(w, p.Message)
	}
	if !g.Passed {
		return foundProblems()
	}
	return nil
}

// late returns how many outcomes were late, and how many there were.
func (s *backtestSide) late() (late, all int64) {
	for i := range s.report.Circuits {
		late += s.report.Circuits[i].Late()
		all += s.report.Circuits[i].Outcomes
	}
	return late, all
}

// mostlyLate names the circuits most of whose outcomes were late.
func (s *backtestSide) mostlyLate() (names []string) {
	for i := range s.report.Circuits {
		if c := s.report.Circuits[i]; 2*c.Late() > c.Outcomes {
			names = append(names, c.Circuit)
		}
	}
	return names
}

// unknownCircuits tells of circuits that the truth names and nobody recorded.
func (s *backtestSide) unknownCircuits() (said []string) {
	if s.judged == nil {
		return nil
	}
	var told, recorded []string
	for i := range s.report.Circuits {
		recorded = append(recorded, s.report.Circuits[i].Circuit)
	}
	for i := range s.judged.Stretches {
		name := s.judged.Stretches[i].Circuit
		if s.circuit(name) != nil || slices.Contains(told, name) {
			continue
		}
		told = append(told, name)
		said = append(said, strings.TrimSpace(
			fmt.Sprintf("--truth names circuit %s, of which nothing was recorded%s", name, didYouMean(name, recorded))))
	}
	return said
}
