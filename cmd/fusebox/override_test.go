package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestOverrideOfTooMany: a glob means as many circuits as over HTTP, and no more.
func TestOverrideOfTooMany(t *testing.T) {
	read := &stateTopic{circuits: map[string]known{}}
	for i := range 1001 {
		read.circuits[fmt.Sprintf("case:route-%04d:v1", i)] = known{}
	}
	few := &overrideRequest{target: "case:route-0*"}
	if circuits, err := few.circuits(read); len(circuits) != 1000 || err != nil {
		t.Errorf("%s means %d circuits, %v, want 1000", few.target, len(circuits), err)
	}
	many := &overrideRequest{target: "case:*"}
	const want = "means 1001 circuits: say it of at most 1000"
	if _, err := many.circuits(read); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", many.target, err, want)
	}
}
