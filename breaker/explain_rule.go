package breaker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fusebox-project/fusebox/schemas"
)

// words tells in a sentence when the rule fires and what it does then.
func (r *Rule) words() string {
	does := "opens"
	if r.Degrade {
		does = "degrades"
	}
	s := &r.Selector
	switch r.Type {
	case Ratio:
		return fmt.Sprintf("%s when at least %s %s and %s weigh at least %s of their number", does,
			plural(int(r.MinimumThroughput), "outcome was seen", "outcomes were seen"), r.span(),
			s.words("failures"), inThousandths(r.Threshold))
	case SlowRatio:
		return fmt.Sprintf("%s when at least %s %s and the share that took longer than %s (of %s) is at least %s", does,
			plural(int(r.MinimumThroughput), "outcome was seen", "outcomes were seen"), r.span(), brief(s.Over),
			s.words("all"), inThousandths(r.Threshold))
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

// span tells over what the rule counts.
func (r *Rule) span() string {
	if r.Last > 0 {
		return fmt.Sprintf("among the last %d", r.Last)
	}
	return "in the last " + brief(r.Window)
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
