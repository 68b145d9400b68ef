package main

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestSpanEndsWithAllOfOneRecord has a range whose end by the clock lies between what one outcome made: the circuit's
// record and its shadow's.
func TestSpanEndsWithAllOfOneRecord(t *testing.T) {
	state := func(outcomes int64, isShadow bool) []byte {
		return schemas.AppendState(nil, &schemas.State{
			Circuit: "c", IsShadow: isShadow, Inputs: schemas.Inputs{Outcomes: outcomes, Signals: 3},
			Trigger: schemas.Trigger{Topic: "outcomes", Offset: outcomes - 1},
		})
	}
	published := [][]byte{state(5, false), state(7, false), state(7, true), state(9, false), state(9, true)}
	for to, want := range map[int64]int64{1: 1, 2: 3, 3: 3, 4: 5, 5: 5} {
		a := &auditor{ends: map[int32]int64{0: int64(len(published))}}
		s := &auditSpan{to: to}
		s.End = schemas.Inputs{Outcomes: 20, Signals: 20}
		var first *schemas.State
		for i, value := range published {
			if a.see(s, &kgo.Record{Offset: int64(i), Value: value}, &first) {
				break
			}
		}
		if s.to != want || first == nil || first.Inputs.Outcomes != 5 {
			t.Errorf("a range up to offset %d ends at %d, want %d", to, s.to, want)
		}
	}
}
