package oracle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// cut is a point in a partition's history that a published record tells, or a circuit's value in the changelog.
type cut struct {
	audit.Cut
	policies *breaker.Policies // Put in force here; nil where it is a circuit's record.
}

// cuts returns the points that the published records of a partition tell, in the order in which they were passed.
func (l *Log) cuts(partition int32, faults *[]string) []cut {
	var states, switches []cut
	for _, r := range of(l.Transitions, partition) {
		c, isSwitch, err := l.cut(r.Value)
		if err != nil {
			*faults = append(*faults, fmt.Sprintf("transitions/%d offset %d: %v", partition, r.Offset, err))
			continue
		}
		list := &states
		if isSwitch {
			list = &switches
		}
		if n := len(*list); n > 0 && !within((*list)[n-1].At, c.At) {
			*faults = append(*faults, fmt.Sprintf("transitions/%d offset %d: inputs %v come after %v",
				partition, r.Offset, c.At, (*list)[n-1].At))
			continue
		}
		*list = append(*list, c)
	}
	// A switch is published behind the records of its transaction. Where a record has the same inputs, it was made by
	// the record before the switch, or by the switch itself.
	all := append(append(states, switches...), l.valueCuts(partition, faults)...)
	slices.SortStableFunc(all, func(a, b cut) int {
		return cmp.Compare(a.At.Outcomes+a.At.Signals, b.At.Outcomes+b.At.Signals)
	})
	for i := range max(len(all)-1, 0) {
		if a, b := all[i].At, all[i+1].At; !within(a, b) {
			*faults = append(*faults, fmt.Sprintf("partition %d was at inputs %v and at %v", partition, a, b))
		}
	}
	return all
}

func (l *Log) cut(value []byte) (c cut, isSwitch bool, err error) {
	kind, err := schemas.TransitionKind(value)
	if kind == schemas.HandledRecord {
		at, err := schemas.DecodeHandled(value)
		return cut{Cut: audit.Cut{At: at}}, false, err
	}
	if err != nil || kind != schemas.SwitchRecord {
		state, err := schemas.DecodeState(value)
		return cut{Cut: audit.Cut{At: state.Inputs, Trigger: state.Trigger}}, false, err
	}
	s, err := schemas.DecodeSwitch(value)
	if err != nil {
		return cut{}, true, err
	}
	for _, p := range l.Policies {
		if p.Version == s.Policies.Version {
			return cut{Cut: audit.Cut{At: s.Inputs}, policies: p}, true, nil
		}
	}
	return cut{}, true, fmt.Errorf("policies %s came in force, which nobody knows", s.Policies.Version)
}

// within tells whether offsets do not lie past others.
func within(a, b schemas.Inputs) bool { return a.Outcomes <= b.Outcomes && a.Signals <= b.Signals }
