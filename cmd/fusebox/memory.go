package main

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	memoryBase     = 224 << 20 // What the processor takes beside its circuits, under load.
	memoryCircuits = 2560      // For each circuit in memory, and what is under way of it.
)

// limitMemory tells the garbage collector how much memory the processor is to keep to, unless GOMEMLIMIT does: without,
// the heap would grow to twice what is in use under load. It is a goal and no bound, and gives way to what is in use:
// circuits of many rules and kinds take several times as much, and so does a store that waits for a full disk.
func (c config) limitMemory(ctx context.Context) {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	goal := memoryBase + memoryCircuits*int64(c.MaxResidentCircuits)
	keepMemoryTo(goal)
	go func() {
		again := time.NewTicker(time.Second)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				keepMemoryTo(goal)
			}
		}
	}()
}

// keepMemoryTo sets the limit to the goal, or to what leaves a fifth of it free where more is in use: near its limit
// the collector would take half of the machine, and gain nothing.
func keepMemoryTo(goal int64) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	inUse := int64(live[0].Value.Uint64())
	debug.SetMemoryLimit(max(goal, inUse+inUse/4))
}
