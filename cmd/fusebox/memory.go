package main

import (
	"math"
	"runtime/debug"
)

const (
	memoryBase     = 224 << 20 // What the processor takes beside its circuits, under load.
	memoryCircuits = 2560      // For each circuit in memory, and what is under way of it.
)

// limitMemory tells the garbage collector how much memory the processor is to keep to, unless GOMEMLIMIT does: without,
// the heap would grow to twice what is in use under load. It is a goal and no bound: what is in use is never refused.
func (c config) limitMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryBase + memoryCircuits*int64(c.MaxResidentCircuits))
	}
}
