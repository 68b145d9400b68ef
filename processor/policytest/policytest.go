// Package policytest runs policy tests: files that name a policy and steps, each at an offset on the circuit's clock,
// and what is to be expected after them. They go through the same Partition as live records do.
//
// It is pure: the caller reads the files. What is wrong with a file is reported whole, with line and column.
package policytest

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// File is one file of policy tests.
type File struct {
	Name  string
	Tests []Test
}

// Test is one test: steps on circuits of their own, under policies of their own.
type Test struct {
	Name     string
	Line     int
	Policies *breaker.Policies
	Steps    []Step
}

// Step is one thing that happens, and what is to be seen after it. Without outcome, signal and reload it is a look.
type Step struct {
	Line    int
	Circuit string
	At      time.Duration // From the start of 1970.
	Repeat  int
	Every   time.Duration
	Outcome *schemas.Outcome // Its own time is the zero time where the step's counts.
	Signal  *schemas.Signal
	Reload  *breaker.Policies
	Expect  []Expectation
}

// Expectation is one thing to be seen after a step.
type Expectation struct {
	Line, Column int
	Field        string
	Want         Value
}

// Failure is an expectation that was not met.
type Failure struct {
	File         string
	Line, Column int
	Test         string
	Step         int // From 1.
	Field        string
	Got, Want    string
}

// Note is an expectation that was met only because no policy judges the circuit: it stays closed, whatever comes.
type Note struct {
	File         string
	Line, Column int
	Test         string
	Step         int // From 1.
	Circuit      string
	Policies     *breaker.Policies // In force then.
}

// maxRepeat is how often a step may be repeated.
const maxRepeat = 1_000_000
