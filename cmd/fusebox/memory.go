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

// keepMemoryTo sets the limit to the goal, or to what leaves a third of the heap free where more is in use: near its
// limit the collector would take half of the machine, and gain nothing.
func keepMemoryTo(goal int64) {
	debug.SetMemoryLimit(max(goal, memoryFor(readMemory())))
}

// memory is what the runtime says of its memory, in bytes.
type memory struct {
	live    int64 // Of the heap, when it was last collected.
	objects int64 // Of the heap, dead ones too.
	mapped  int64 // All, but what is not in use at all.
}

func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	at := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return memory{live: at(0), objects: at(1), mapped: at(2) - at(3) - at(4)}
}

// memoryFor returns the limit under which a heap grows to half as much again as is in use. The collector takes stacks,
// tables and gaps between objects off a limit, and 3 % to be safe, and keeps the heap to what is left.
func memoryFor(m memory) int64 {
	return (m.live + m.live/2 + m.mapped - m.objects) * 100 / 97
}
