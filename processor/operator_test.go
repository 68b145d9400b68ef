package processor_test

import (
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestARecordNamesTheOperatorWhoMadeIt sets, clears and resets: each record says by whom and why, and no other does.
func TestARecordNamesTheOperatorWhoMadeIt(t *testing.T) {
	p := processor.New(read(t, oneRule))
	const circuit = "a:b:c"
	at := t0
	word := func(mode schemas.Mode, reason string, ttl time.Duration) []schemas.State {
		at = at.Add(time.Second)
		s := schemas.Signal{Type: schemas.Override, Circuit: circuit, Mode: mode, Actor: "ana", Reason: reason}
		s.TTL = ttl
		return p.Step(at, processor.Input{Signal: &s}).States
	}
	born := word(schemas.ForceOpen, "maintenance", 0)
	if len(born) != 2 || born[0].Operator != nil {
		t.Fatalf("the first override published %+v, want a birth without operator, and the override", born)
	}
	for _, tt := range []struct {
		mode   schemas.Mode
		states []schemas.State
	}{
		{schemas.ForceOpen, born[1:]},
		{schemas.Clear, word(schemas.Clear, "done", 0)},
		{schemas.ForceClosed, word(schemas.ForceClosed, "drill", time.Second)},
	} {
		if len(tt.states) != 1 || tt.states[0].Operator == nil || tt.states[0].Operator.Mode != tt.mode {
			t.Errorf("%v published %+v, want one record by it", tt.mode, tt.states)
		}
	}
	ended := word(schemas.Reset, "fixed", 0)
	if len(ended) != 2 || ended[0].Operator != nil || ended[1].Operator == nil || ended[1].Operator.Reason != "fixed" {
		t.Errorf("a reset after a TTL published %+v, want the end by nobody, and the reset", ended)
	}
}
