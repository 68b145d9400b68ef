// Package suggest proposes ratio rules from recorded outcomes of a time in which answers were as they should be.
//
// It does not know what a bad time will look like. It asks of each window how many of its outcomes can be bad by chance
// while all is well, as far as the recording can tell, puts the threshold above that, and then tries out how soon each
// window would notice that half of the good answers went bad. It proposes the window that notices first. All that it
// weighs is in the Proposal. It does no I/O.
package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// MostOutcomes is how many outcomes a Recording holds at most.
const MostOutcomes = 5_000_000

// mostGroups is how many groups there can be: a policy file has no more policies.
const mostGroups = 1000

// Recording is what was recorded, as far as proposals go by it. The zero value is empty.
type Recording struct {
	Options backtest.Options // How much memory it takes to tell what is a repeat.

	circuits map[string]*[]mark // A pointer, so that a key is written once: an outcome's strings do not live on.
	roles    *breaker.Policies
	run      *backtest.Run    // It tells what is a repeat, which no rule sees.
	unknown  backtest.Unknown // Kinds that are none of the nine.
	outcomes int
	healthy  int
	from, to time.Time // Of the healthy ones.
}

// mark is what is kept of a record.
type mark struct {
	at    int64 // In milliseconds since 1970.
	count int32 // Of outcomes, at most MostOutcomes.
	is    class
	bad   bool // It lies in a stretch that is known to be bad.
}

// class is what an outcome is evidence of, by the roles that kinds have by default.
type class uint8

const (
	neutral class = iota
	good
	failure
	rejection // Neutral too, but a model that begins to refuse shows by it.
)

// kindOf is a kind of each class.
var kindOf = [...]string{
	neutral: schemas.Cancelled, good: schemas.Accepted, failure: schemas.BusinessRuleFailure,
	rejection: schemas.PolicyRejection,
}

// Add takes in the next outcome of its circuit, whose Time must be set, and whether it lies in a stretch that is known
// to be bad. An outcome with a count of n is n outcomes; a repeat of one is none.
func (r *Recording) Add(o *schemas.Outcome, bad bool) error {
	if r.circuits == nil {
		r.circuits, r.roles = map[string]*[]mark{}, breaker.Builtin()
		r.run = backtest.New(r.roles, r.Options)
	}
	step := r.run.Step(o)
	if step.Circuit == "" {
		_, err := r.run.Report()
		return err
	}
	if step.Why == processor.Duplicate {
		return nil
	}
	if o.Count > MostOutcomes-int64(r.outcomes) {
		return fmt.Errorf("there are more than %d outcomes; give a shorter stretch, or fewer circuits", MostOutcomes)
	}
	marks := r.circuits[o.Circuit]
	if marks == nil {
		marks = new([]mark)
		r.circuits[strings.Clone(o.Circuit)] = marks
	}
	*marks = append(*marks, mark{o.Time.UnixMilli(), int32(o.Count), r.classOf(o.Kind), bad})
	r.outcomes += int(o.Count)
	if step.Kind == schemas.UnknownKind {
		r.unknown.Note(o)
	}
	if bad {
		return nil
	}
	r.healthy += int(o.Count)
	if r.from.IsZero() || o.Time.Before(r.from) {
		r.from = o.Time
	}
	if o.Time.After(r.to) {
		r.to = o.Time
	}
	return nil
}

func (r *Recording) classOf(kind string) class {
	switch kind = r.roles.KindLabel(kind); r.roles.RoleOf(r.roles.All()[0], kind) {
	case breaker.Success:
		return good
	case breaker.Failure:
		return failure
	}
	if kind == schemas.PolicyRejection {
		return rejection
	}
	return neutral
}

// Proposal is what a recording says for.
type Proposal struct {
	FalseTrips Goal      `json:"false_trips"` // What was asked for, at most.
	Outcomes   int       `json:"outcomes"`
	Healthy    int       `json:"healthy"`
	From       time.Time `json:"from"` // Of the healthy ones.
	To         time.Time `json:"to"`
	Groups     []Group   `json:"groups"`

	Unknown map[string]int64 `json:"unknown_kinds,omitempty"` // Outcomes by kinds that were taken for neutral.
	Policy  string           `json:"policy"`                  // The text of a policy file with what is proposed.
}

// Rules returns how many rules are proposed.
func (p *Proposal) Rules() int {
	n := 0
	for i := range p.Groups {
		n += p.Groups[i].rules()
	}
	return n
}

// Group are the circuits of one route of one use case, which get one policy.
type Group struct {
	Name     string   `json:"name"`
	Match    []string `json:"match"`
	Circuits []string `json:"circuits"`
	Signals  []Signal `json:"signals"`
}

func (g *Group) rules() int {
	n := 0
	for i := range g.Signals {
		n += len(g.Signals[i].Proposed)
	}
	return n
}

// Propose proposes rules that trip falsely as often as the goal allows at most. There must be an outcome. As that can
// take long, step is called, where it is not nil, with how much of all is done; its error ends the work.
func (r *Recording) Propose(goal Goal, step func(done, total int) error) (Proposal, error) {
	p := Proposal{FalseTrips: goal, Outcomes: r.outcomes, Healthy: r.healthy, From: r.from, To: r.to}
	p.Unknown = r.unknown.Kinds
	groups := map[string]*Group{}
	for _, circuit := range slices.Sorted(maps.Keys(r.circuits)) {
		name, pattern := groupOf(circuit)
		g := groups[name]
		if g == nil {
			g = &Group{Name: name}
			groups[name] = g
		}
		if !slices.Contains(g.Match, pattern) {
			g.Match = append(g.Match, pattern)
		}
		g.Circuits = append(g.Circuits, circuit)
	}
	if len(groups) > mostGroups {
		return Proposal{}, fmt.Errorf("there are %d routes, and a policy file has at most %d policies; give fewer",
			len(groups), mostGroups)
	}
	done, total := 0, len(groups)*len(watched)*len(lasts)
	for _, name := range slices.SortedFunc(maps.Keys(groups), closestFirst) {
		g := groups[name]
		for _, w := range watched {
			s, err := r.signal(g, w, goal, func(weighed int) error {
				if step == nil {
					return nil
				}
				return step(done+weighed, total)
			})
			if err != nil {
				return Proposal{}, err
			}
			done += len(lasts)
			g.Signals = append(g.Signals, s)
		}
		p.Groups = append(p.Groups, *g)
	}
	text, err := p.write(r)
	p.Policy = text
	return p, err
}

// groupOf returns the group of a circuit and the pattern by which it belongs to it: all versions and tenants of one
// route of one use case. What would be any text in a pattern is any one character there: a pattern cannot say less.
func groupOf(circuit string) (name, pattern string) {
	circuit = strings.ReplaceAll(circuit, "*", "?")
	parts := strings.SplitN(circuit, ":", 3)
	if len(parts) < 3 {
		return circuit, circuit
	}
	name = parts[0] + ":" + parts[1]
	return name, name + ":*"
}

// closestFirst orders groups so that none stands behind one whose pattern matches all that its own does.
func closestFirst(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a, "?"), strings.Count(b, "?")), cmp.Compare(a, b))
}
