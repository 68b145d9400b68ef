package main

import (
	"runtime/debug"
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
		config{MaxResidentCircuits: 100_000}.limitMemory()
		if got := debug.SetMemoryLimit(-1); got != tt.want {
			t.Errorf("%s: the limit is %d, want %d", tt.name, got, tt.want)
		}
	}
}
