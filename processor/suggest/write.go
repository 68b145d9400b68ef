package suggest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// write writes the policy file: what is proposed as policies, all that it comes from as comments.
func (p *Proposal) write(r *Recording) (string, error) {
	rules := p.rules()
	policies, err := breaker.Read("proposal", []byte(rules))
	if err != nil {
		return "", fmt.Errorf("the proposal is no policy file: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Proposed by fusebox policy suggest from %s, %s to %s.\n", outcomes(p.Healthy),
		p.From.UTC().Format(time.RFC3339), p.To.UTC().Format(time.RFC3339))
	switch left := p.Outcomes - p.Healthy; {
	case left == 1:
		b.WriteString("# Another 1 lies in the stretches that --truth names as bad, and is left out.\n")
	case left > 1:
		fmt.Fprintf(&b, "# Another %s lie in the stretches that --truth names as bad, and are left out.\n",
			thousands(left))
	}
	fmt.Fprintf(&b, preface, p.FalseTrips.words(), drills)
	if p.Rules() > 0 {
		b.WriteString(r.replay(policies))
	}
	for line := range strings.Lines(rules) {
		if name, ok := strings.CutPrefix(line, groupMark); ok {
			i, _ := strconv.Atoi(strings.TrimSpace(name))
			p.Groups[i].explain(&b)
			continue
		}
		b.WriteString(line)
	}
	return b.String(), nil
}

const preface = `# All is taken to have been well then, so what was bad counts as usual. Record every kind of work:
# what the recording does not show may trip these rules.
#
# Each line of a table is a rule that was tried: it opens a circuit when so many "of them", of the "last" outcomes, are
# bad. As a share that is the "threshold". It is the smallest number that
# - the recording never comes to: "most seen" is the most that were bad among so many outcomes in a row;
# - chance comes to at most %s (--false-trips);
# - means that a third of the good answers went bad, or more: a route that loses fewer is still better than none.
# "trips by chance" says how likely a window is to trip it while all is well; each outcome ends a window. "false trips"
# says how often that is at the recorded rate of the route, all of its circuits together, from its first outcome to its
# last. There are fewer: windows overlap, so that several of them make one trip. "-" stands where no number would do.
# "half go bad" and "all go bad" tell how soon it opens when from some moment on half of the good answers go bad, or all
# of them: after so many outcomes in 5, and in 9, of 10 cases, tried at %d moments of the recording.
# * marks what is proposed.
#
`

// groupMark begins a line that stands for the explanation of a group.
const groupMark = "# group "

// rules writes the policies alone, with a mark where each group is to be explained.
func (p *Proposal) rules() string {
	var b strings.Builder
	b.WriteString("version: 1\n")
	if p.Rules() == 0 {
		b.WriteString("policies: [] # Nothing is proposed.\n")
	} else {
		b.WriteString("policies:\n")
	}
	for i := range p.Groups {
		g := &p.Groups[i]
		fmt.Fprintf(&b, "%s%d\n", groupMark, i)
		if g.rules() == 0 {
			continue
		}
		patterns := make([]string, len(g.Match))
		for i, m := range g.Match {
			patterns[i] = quoted(m)
		}
		fmt.Fprintf(&b, "- name: %s\n  match: [%s]\n  rules:\n", quoted(g.Name), strings.Join(patterns, ", "))
		for _, s := range g.Signals {
			kinds := ""
			if s.Kind != "" {
				kinds = fmt.Sprintf("kinds: [%s], ", s.Kind)
			}
			for _, proposed := range s.Proposed {
				c := &s.Candidates[proposed.Candidate]
				fmt.Fprintf(&b, "  - {name: %s, type: ratio, %sthreshold: %s, last: %d}\n", proposed.Rule, kinds,
					decimal(c.Threshold), c.Last)
			}
		}
	}
	return b.String()
}

// replay runs the recording through what is proposed and tells in a comment what that does.
func (r *Recording) replay(policies *breaker.Policies) string {
	trips, found, stretches := 0, 0, 0
	for name, marks := range r.circuits {
		run := backtest.New(policies, backtest.Options{}) // Of one circuit, so that no more are in memory.
		within, hit := false, false
		for _, m := range *marks {
			step := run.Step(&schemas.Outcome{
				Circuit: name, Kind: kindOf[m.is], Count: int64(m.count), Time: time.UnixMilli(m.at).UTC(),
			})
			if m.bad && !within {
				stretches, hit = stretches+1, false
			}
			within = m.bad
			switch {
			case m.bad && !hit && (step.Trip != nil || step.Phase != schemas.Closed):
				hit = true
				found++
			case !m.bad && step.Trip != nil && step.Trip.Rule != breaker.ProbeFailed:
				trips++
			}
		}
	}
	text := "# On this recording these rules " + tripping(trips)
	if stretches > 0 {
		text += fmt.Sprintf(" outside the known bad stretches, and find %d of %d of those", found, stretches)
	}
	return text + ".\n"
}

func tripping(n int) string {
	switch n {
	case 0:
		return "never trip"
	case 1:
		return "trip once"
	}
	return fmt.Sprintf("trip %d times", n)
}

// explain writes what the rules of a group come from.
func (g *Group) explain(b *strings.Builder) {
	fmt.Fprintf(b, "\n# %s", oneLine(g.Name))
	if len(g.Circuits) > 1 {
		fmt.Fprintf(b, ", %d circuits, by the one with most that is bad", len(g.Circuits))
	}
	b.WriteString("\n")
	for i := range g.Signals {
		s := &g.Signals[i]
		for _, line := range s.words() {
			fmt.Fprintf(b, "# %s\n", line)
		}
		s.table(b)
	}
}

// words tells what is proposed for a signal, and why.
func (s *Signal) words() []string {
	if len(s.Candidates) == 0 {
		return []string{fmt.Sprintf("%s: no rule: %s.", s.Name, s.whyNone())}
	}
	lines := []string{fmt.Sprintf("%s: %s of %s, %s.", s.Name, thousands(s.Bad), outcomes(s.Seen),
		s.Level.words())}
	if len(s.Proposed) == 0 {
		return append(lines, strings.Split("No rule: "+strings.Replace(s.whyNone(), "; ", ";\n", 1)+".", "\n")...)
	}
	for _, p := range s.Proposed {
		lines = append(lines, s.Candidates[p.Candidate].words(s, p.Rule)...)
	}
	if len(s.Proposed) == 1 && s.Proposed[0].Rule != s.Name {
		lines = append(lines, "No rule notices that half of the good answers go bad and does not trip by chance too.")
	}
	return lines
}

// words tells why the candidate is proposed as a rule for a signal: for half of the good answers, or for all.
func (c *Candidate) words(s *Signal, rule string) []string {
	why := "all good answers go bad"
	if rule == s.Name {
		why = "half of the good answers go bad"
	}
	lines := []string{
		fmt.Sprintf("%s: opens when %d of the last %d are %s: the first to notice that %s.", rule, c.Matching, c.Last,
			s.Name, why),
		fmt.Sprintf("  At most %d of %d were in the recording, which is too short to rule out %s in the long run;",
			c.Highest, c.Last, percent(c.Upper)),
		fmt.Sprintf("  even then the chance that a window trips it is %s%s.", rarely(c.Chance), c.inTime(s)),
	}
	if c.Matching > c.least {
		lines = append(lines, c.whyNotFewer())
	}
	if c.Streaks > 1.05 {
		lines = append(lines, fmt.Sprintf("  Bad ones come in streaks, of which %.1f tell as much as one by itself.",
			c.Streaks))
	}
	switch t := c.Truth; {
	case t == nil:
	case t.Missed == t.Stretches:
		lines = append(lines, fmt.Sprintf("  It finds none of the known bad stretches, of which there are %d.",
			t.Stretches))
	default:
		lines = append(lines, fmt.Sprintf("  It finds %d of %d known bad stretches, within %s.",
			t.Stretches-t.Missed, t.Stretches, outcomes(t.Slowest)))
	}
	return lines
}

// inTime tells how often the rule trips by chance.
func (c *Candidate) inTime(s *Signal) string {
	if s.PerDay == 0 {
		return ""
	}
	return fmt.Sprintf(": at %s, %s at most", rate(s.PerDay), often(c.PerDay))
}

// whyNotFewer tells why the rule waits for more than would have been enough to never trip in the recording.
func (c *Candidate) whyNotFewer() string {
	why := "the chance of that many in a window is " + rarely(c.passed)
	if c.rare {
		why = "so few can mean that less than a third of the good answers went bad"
	}
	return fmt.Sprintf("  %d, which the recording never comes to, is passed over: %s.", c.least, why)
}

func (l *Level) words() string {
	words := percent(l.Share)
	if !l.Steady {
		words += fmt.Sprintf(", and not evenly: more than chance explains. It goes by the worst fifth, %s",
			percent(l.Worst))
	}
	return words
}

// table writes the candidates, the one that is proposed with a star.
func (s *Signal) table(b *strings.Builder) {
	if len(s.Candidates) == 0 {
		return
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "last\tthreshold\tof them\tmost seen\ttrips by chance\tfalse trips\thalf go bad\tall go bad\t"
	if s.Candidates[0].Truth != nil {
		head += "bad stretches\t"
	}
	fmt.Fprintln(w, head)
	for i := range s.Candidates {
		fmt.Fprintln(w, s.Candidates[i].row(s.PerDay > 0))
	}
	w.Flush()
	i := -1
	for line := range strings.Lines(text.String()) {
		mark := " "
		if slices.ContainsFunc(s.Proposed, func(p Proposed) bool { return p.Candidate == i }) {
			mark = "*"
		}
		fmt.Fprintf(b, "# %s%s\n", mark, strings.TrimRight(line, " \n"))
		i++
	}
}

// row is a line of the table; whether the rate is known tells whether it can say how often the rule trips.
func (c *Candidate) row(timed bool) string {
	threshold, matching, chance, trips := decimal(c.Threshold), strconv.Itoa(c.Matching), rarely(c.Chance), "-"
	switch {
	case c.Matching > c.Last:
		threshold, matching, chance = "none", "-", "-"
	case timed:
		trips = often(c.PerDay)
	}
	row := fmt.Sprintf("%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t", c.Last, threshold, matching, c.Highest, chance, trips,
		c.Half.words(), c.All.words())
	if c.Truth != nil {
		row += c.Truth.words() + "\t"
	}
	return row
}

func (f *Found) words() string {
	switch {
	case f.Missed == f.Stretches:
		return "missed"
	case f.Missed == 0:
		return fmt.Sprintf("within %d", f.Slowest)
	}
	return fmt.Sprintf("%d missed, within %d", f.Missed, f.Slowest)
}

func (d Delay) words() string {
	word := func(n int) string {
		if n == never {
			return "never"
		}
		return strconv.Itoa(n)
	}
	return word(d.Five) + " / " + word(d.Nine)
}

// rarely writes a small chance.
func rarely(chance float64) string {
	if chance < 1e-9 {
		return "< 1 in 10^9"
	}
	digits := math.Pow(10, math.Floor(math.Log10(1/chance))-1)
	return "1 in " + thousands(int(math.Round(1/chance/digits)*digits))
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 1, 64) + " %" }

// decimal writes a number with at most three decimals.
func decimal(n float64) string {
	return strconv.FormatFloat(math.Round(n*1000)/1000, 'f', -1, 64)
}

// outcomes writes how many outcomes there are.
func outcomes(n int) string {
	if n == 1 {
		return "1 outcome"
	}
	return thousands(n) + " outcomes"
}

// thousands writes a whole number as it is read.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// quoted writes a text so that YAML reads it as it is.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // A text always can.
	return strings.TrimSpace(b.String())
}

// oneLine writes a name so that it can stand in a comment.
func oneLine(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "\u2028", " "), "\u2029", " ")
}
