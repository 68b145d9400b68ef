package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestLimitMemory sets a limit where there is none, and leaves alone one that somebody set.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, tt := range []struct {
		name      string
		set, want int64
	}{{"none", 1<<63 - 1, memoryBase + 100_000*memoryCircuits}, {"GOMEMLIMIT", 1 << 30, 1 << 30}} {
		debug.SetMemoryLimit(tt.set)
		config{MaxResidentCircuits: 100_000}.limitMemory(t.Context())
		if got := debug.SetMemoryLimit(-1); got != tt.want {
			t.Errorf("%s: the limit is %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestMemoryInUse holds more than the goal, and lets it go: the limit leaves room above what is in use, and comes back.
func TestMemoryInUse(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	const goal, held = 256 << 20, 512 << 20
	limitBeside := func(held []byte) (limit, heap int64) {
		runtime.GC()
		keepMemoryTo(goal)
		runtime.KeepAlive(held)
		grows := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
		metrics.Read(grows)
		return debug.SetMemoryLimit(-1), int64(grows[0].Value.Uint64())
	}
	if limit, heap := limitBeside(make([]byte, held)); limit > 2*held || heap < held+held/2 {
		t.Errorf("with %d bytes in use the limit is %d and the heap grows to %d, want half as much again",
			held, limit, heap)
	}
	if limit, _ := limitBeside(nil); limit != goal {
		t.Errorf("with little in use the limit is %d, want the goal of %d", limit, goal)
	}
}
