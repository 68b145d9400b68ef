package processor

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Input is one record of a partition, an outcome or a signal, and where it stood.
type Input struct {
	Outcome *schemas.Outcome // One of Outcome and Signal is set. Neither is kept.
	Signal  *schemas.Signal
	Trigger schemas.Trigger
	Inputs  schemas.Inputs // The next offsets of both topics once this record is handled.
	Clamped bool           // Its timestamp was in the future and was clamped.
	Full    bool           // No further circuit may become known.
}

// Why tells what became of an outcome.
type Why uint8

// What becomes of an outcome: it is counted, or a probe's result, or told apart under one reason. A signal has NoWhy.
const (
	NoWhy Why = iota
	Counted
	Probe
	Stale
	WhileOpen
	IsNeutral
	Duplicate
	Late
	Disabled
	OverLimit
)

var whyNames = [...]string{
	"", "counted", "probe", "stale", "while_open", "neutral", "duplicate", "late", "disabled", "over_limit",
}

// Whys are all that can become of an outcome. Callers must not change it.
var Whys = []Why{Counted, Probe, Stale, WhileOpen, IsNeutral, Duplicate, Late, Disabled, OverLimit}

// String returns the word in metrics and policy tests.
func (w Why) String() string { return whyNames[w] }

// Counts tells whether the outcome was counted, as a probe's result too.
func (w Why) Counts() bool { return w == Counted || w == Probe }

// LeaseCounts are what became of claims and leases by one record.
type LeaseCounts struct{ Granted, Refused, Succeeded, Failed, Neutral, Expired, Released uint16 }

// Result is what one record did.
type Result struct {
	Circuit string    // It lives on.
	At      time.Time // The partition's clock.
	Why     Why
	Kind    string // The kind of an outcome by its canonical name, or unknown.
	Clamped bool   // The outcome's own time was in the future and was clamped.
	Granted bool   // The claim has its lease.
	Leases  LeaseCounts
	Known   int             // 1 where a circuit became known by this record, -1 where it was forgotten.
	States  []schemas.State // Records to publish, oldest first. Mostly none.
	Moves   int             // How many of the states are a change of state, or of an override by an operator.
	Tripped *schemas.Cause  // Why this record opened the circuit; nil where it did not.

	Shadows   []schemas.State // Transitions of the circuit's shadow, oldest first: for the transitions topic alone.
	WouldTrip *schemas.Cause  // Why this record opened the circuit's shadow; nil where it did not.

	Stretch breaker.Stretch // Of a Shadow that a rule opened: what led to it.
	Fired   uint64          // Of a Shadow: a bit for each rule that fired on this record.
	Judged  bool            // Of a Shadow: a rule judged this record, and had the minimum that it waits for.
}
