package breaker

import (
	"slices"
	"strings"
)

// Difference is what differs about one thing between two sets of policies, in the words of Facts.
type Difference struct {
	About string `json:"about"`
	Was   string `json:"was"` // Nothing where there was none.
	Is    string `json:"is"`  // Nothing where there is none any more.
}

// Compare returns what differs for a circuit between two sets of policies. It goes by what they do, not by how they are
// written: a default that is written out, a policy that moved to another line or an alias make no difference.
func Compare(was, is *Policies, circuit string) []Difference {
	before, after := was.Facts(circuit), is.Facts(circuit)
	if was.For(circuit).Matched != is.For(circuit).Matched {
		before, after = brieflySaid(before), brieflySaid(after)
	}
	before, renamed := renames(before, after)
	changes := renamed
	for _, f := range before {
		if now := says(after, f.About); now != f.Says {
			changes = append(changes, Difference{f.About, f.Says, now})
		}
	}
	for _, f := range after {
		if says(before, f.About) == "" {
			changes = append(changes, Difference{About: f.About, Is: f.Says})
		}
	}
	changes = slices.DeleteFunc(changes, undeclared)
	return append(changes, order(before, after)...)
}

// says returns what facts say about something, or nothing.
func says(facts []Fact, about string) string {
	i := slices.IndexFunc(facts, func(f Fact) bool { return f.About == about })
	if i < 0 {
		return ""
	}
	return facts[i].Says
}

// brieflySaid leaves of the facts what matters where one of two files has no policy for the circuit.
func brieflySaid(facts []Fact) []Fact {
	return slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool {
		return f.About != "policy" && !isRule(f) && !strings.HasPrefix(f.About, "refused ")
	})
}

func isRule(f Fact) bool { return strings.HasPrefix(f.About, "rule ") }

// undeclared tells whether a change is only that a kind is declared which is neutral.
func undeclared(c Difference) bool {
	neutral := func(says string) bool { return says == "" || says == Neutral.String() }
	return strings.HasPrefix(c.About, "kind ") && neutral(c.Was) && neutral(c.Is)
}

// renames finds rules that have another name now and are otherwise as they were. It returns the facts from before with
// the new names in them.
func renames(before, after []Fact) ([]Fact, []Difference) {
	before = slices.Clone(before)
	var changes []Difference
	for i, f := range before {
		if !isRule(f) || says(after, f.About) != "" {
			continue
		}
		now := slices.IndexFunc(after, func(a Fact) bool {
			return isRule(a) && a.Says == f.Says && says(before, a.About) == ""
		})
		if now >= 0 {
			name := strings.TrimPrefix(after[now].About, "rule ")
			old := strings.TrimPrefix(f.About, "rule ")
			changes = append(changes, Difference{f.About, "named " + old, "named " + name})
			before[i].About = after[now].About
		}
	}
	return before, changes
}

// order tells whether the rules that both have are judged in another order.
func order(before, after []Fact) []Difference {
	common := func(facts, others []Fact) string {
		var names []string
		for _, f := range facts {
			if isRule(f) && says(others, f.About) != "" {
				names = append(names, strings.TrimPrefix(f.About, "rule "))
			}
		}
		return strings.Join(names, ", ")
	}
	was, is := common(before, after), common(after, before)
	if was == is {
		return nil
	}
	return []Difference{{"order of rules", was, is}}
}
