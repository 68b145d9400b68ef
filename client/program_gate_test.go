//go:build synctests

package client_test

import "testing"

// TestProgramOnGate runs the program with Kafka between it and the core: one line is another.
func TestProgramOnGate(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.policies = w.read(programPolicies)
		w.process()
		program(t, w.open(w.config("r1")))
	})
}
