package breaker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// words tells in a sentence when a rule of the policy fires and what it does then.
func (p *Policy) words(r *Rule) string {
	does := "opens"
	if r.Degrade {
		does = "degrades"
	}
	s := &r.Selector
	switch r.Type {
	case Ratio:
		return fmt.Sprintf("%s when, of %s, %s", does, r.sample(), p.shareWords(r))
	case SlowRatio:
		return fmt.Sprintf("%s when, of %s, %s took longer than %s%s", does, r.sample(), shareOrMore(r.Threshold),
			schemas.Brief(s.Over), s.unlessAll())
	case Count:
		return fmt.Sprintf("%s at %d %s %s", does, r.Threshold, s.words("failures"), r.span())
	case Consecutive:
		return fmt.Sprintf("%s at %d %s in a row, however far apart", does, r.Threshold, s.words("failures"))
	case Immediate:
		return fmt.Sprintf("%s at one of %s%s", does, s.words("failures"), s.unlessJudged())
	}
	return fmt.Sprintf("%s when the %s of %s %s reach %s", does, s.Of, s.words("all outcomes"), r.span(),
		strconv.FormatFloat(float64(r.Threshold)/1e6, 'f', -1, 64))
}

// shareWords tells what share of what it saw a ratio waits for.
func (p *Policy) shareWords(r *Rule) string {
	if p.plain() {
		return fmt.Sprintf("%s were %s", shareOrMore(r.Threshold), r.Selector.words("failures"))
	}
	times := shareWord(r.Threshold)
	if r.Threshold > 1000 {
		times = inThousandths(r.Threshold) + " times"
	}
	return fmt.Sprintf("%s together weigh %s of the number or more", r.Selector.words("failures"), times)
}

// plain tells whether every failure weighs 1.
func (p *Policy) plain() bool {
	for kind, role := range p.roles {
		for _, byEvaluator := range p.weights[kind] {
			for _, weight := range byEvaluator {
				if role == Failure && weight != 1000 {
					return false
				}
			}
		}
	}
	return true
}

// shareWord writes thousandths of a whole as it is said.
func shareWord(milli int64) string {
	switch milli {
	case 500:
		return "half"
	case 1000:
		return "all"
	}
	return percent(milli)
}

// shareOrMore is shareWord for a least share: there is no more than all.
func shareOrMore(milli int64) string {
	if milli == 1000 {
		return shareWord(milli)
	}
	return shareWord(milli) + " or more"
}

// sample tells which outcomes a ratio judges, and how many there must be.
func (r *Rule) sample() string {
	number := plural(int(r.MinimumThroughput), "outcome", "outcomes")
	switch {
	case r.Last > 0 && r.MinimumThroughput == r.Last:
		return "the last " + number
	case r.Last > 0:
		return fmt.Sprintf("the last %d outcomes (%d at least)", r.Last, r.MinimumThroughput)
	}
	return fmt.Sprintf("at least %s %s", number, r.span())
}

// span tells over what the rule counts.
func (r *Rule) span() string {
	if r.Last > 0 {
		return fmt.Sprintf("among the last %d", r.Last)
	}
	return "in the last " + spoken(r.Window)
}

// spoken writes a duration as it is said: minute, 5 minutes, 1h30m.
func spoken(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch {
		case d == unit.length:
			return unit.name
		case d%unit.length == 0:
			return fmt.Sprintf("%d %ss", d/unit.length, unit.name)
		}
	}
	return schemas.Brief(d)
}

// words tells what is selected; all is what it is by itself.
func (s *Selector) words(all string) string {
	words := []string{all}
	if s.Kinds != nil {
		words[0] = either(s.Kinds)
	}
	if s.HasSeverity {
		words = append(words, "of severity "+s.Severity.String())
		if s.Severity != schemas.Critical {
			words = append(words, "or above")
		}
	}
	if s.ReasonCodes != nil {
		words = append(words, "with reason code "+either(s.ReasonCodes))
	}
	if s.Evaluators != nil {
		judges := make([]string, len(s.Evaluators))
		for i, e := range s.Evaluators {
			judges[i] = e.String()
		}
		words = append(words, "judged by "+either(judges))
	}
	switch s.Only {
	case OnlyRejected:
		words = append(words, "that were not accepted")
	case OnlyFallback:
		words = append(words, "that came from another route")
	}
	return strings.Join(words, " ")
}

// unlessAll tells what is selected where that is not everything.
func (s *Selector) unlessAll() string {
	if words := s.words("all"); words != "all" {
		return " (of " + words + ")"
	}
	return ""
}

// unlessJudged tells of the judge whose word alone does not open a circuit.
func (s *Selector) unlessJudged() string {
	if s.Evaluators == nil {
		return ", unless judged by llm"
	}
	return ""
}

// either joins names to a choice.
func either(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// orNone lists names.
func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// plural writes a number before the word for it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// percent writes thousandths as a share of a hundred.
func percent(milli int64) string { return strconv.FormatFloat(float64(milli)/10, 'f', -1, 64) + " %" }
