package oracle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// alterations are what somebody may do to a published record, each to one field.
var alterations = map[string]func(*schemas.State){
	"state":          func(s *schemas.State) { s.State = schemas.Phases[(int(s.State)+1)%len(schemas.Phases)] },
	"previous":       func(s *schemas.State) { s.Previous = schemas.Phases[(int(s.Previous)+1)%len(schemas.Phases)] },
	"epoch":          func(s *schemas.State) { s.Epoch++ },
	"sequence":       func(s *schemas.State) { s.Sequence++ },
	"born":           func(s *schemas.State) { s.Born = s.Born.Add(-time.Millisecond) },
	"changed_at":     func(s *schemas.State) { s.ChangedAt = s.ChangedAt.Add(time.Millisecond) },
	"retry_at":       func(s *schemas.State) { s.RetryAt = s.RetryAt.Add(time.Millisecond) },
	"enforced":       func(s *schemas.State) { s.Enforced = !s.Enforced },
	"attempt":        func(s *schemas.State) { s.Attempt++ },
	"cause":          func(s *schemas.State) { s.Cause = &schemas.Cause{Rule: "other", At: s.Born} },
	"degraded":       func(s *schemas.State) { s.Degraded = &schemas.Cause{Rule: "other", At: s.Born} },
	"leases":         func(s *schemas.State) { s.Leases = append(s.Leases, schemas.Lease{ID: "x", ExpiresAt: s.Born}) },
	"probe":          func(s *schemas.State) { s.Probe.Successes++ },
	"policy":         func(s *schemas.State) { s.Policy += "x" },
	"policy_version": func(s *schemas.State) { s.PolicyVersion = "0123456789abcdef" },
	"trigger":        func(s *schemas.State) { s.Trigger.Offset++ },
	"inputs":         inputs,
}

// inputs moves the offset behind the record that made this one. How far the other topic was then, nothing else tells.
// Of a record that a switch of policies made nothing tells either, so that one is numbered anew.
func inputs(s *schemas.State) {
	if s.Trigger.Topic == "" {
		s.Sequence++
		return
	}
	if s.Inputs.Outcomes == s.Trigger.Offset+1 {
		s.Inputs.Outcomes += 1 + s.Inputs.Outcomes/2
	}
	if s.Inputs.Signals == s.Trigger.Offset+1 {
		s.Inputs.Signals += 3
	}
}

// Altered returns a log of which one published record is not what it was: altered, gone, or there twice. It says which
// and how.
func Altered(l *Log, rng *rand.Rand) (altered *Log, record *kgo.Record, how string) {
	at := rng.IntN(len(l.Transitions))
	for !isCircuit(l.Transitions[at]) {
		at = (at + 1) % len(l.Transitions)
	}
	changed, r := *l, *l.Transitions[at]
	changed.Transitions = slices.Clone(l.Transitions)
	switch rng.IntN(4) {
	case 0:
		changed.Transitions = slices.Delete(changed.Transitions, at, at+1)
		return &changed, &r, string(audit.Missing)
	case 1:
		changed.Transitions = slices.Insert(changed.Transitions, at, &r)
		return &changed, &r, string(audit.Extra)
	}
	state, err := schemas.DecodeState(r.Value)
	if err != nil {
		panic(fmt.Sprintf("transitions/%d offset %d: %v", r.Partition, r.Offset, err))
	}
	names := slices.Sorted(maps.Keys(alterations))
	how = names[rng.IntN(len(names))]
	alterations[how](&state)
	r.Value = schemas.AppendState(nil, &state)
	changed.Transitions[at] = &r
	return &changed, &r, how
}

// Found looks whether an audit finds the record that was altered, and tells what it finds instead.
func Found(l *Log, altered *kgo.Record, how string) error {
	reports, err := Audit(l)
	if err != nil {
		return err
	}
	var found []audit.Difference
	for _, report := range reports {
		found = append(found, report.Differences...)
	}
	for _, d := range found {
		near := d.Offset <= altered.Offset && altered.Offset <= max(d.Offset, d.Last) ||
			how == string(audit.Missing) && d.What == audit.Missing
		if d.Partition == altered.Partition && d.Circuit == string(altered.Key) && near {
			return nil
		}
	}
	return fmt.Errorf("transitions/%d offset %d of %s, %s: the audit finds %+v",
		altered.Partition, altered.Offset, altered.Key, how, found)
}
