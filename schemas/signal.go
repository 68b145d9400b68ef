package schemas

import "time"

// SignalType tells the three signals apart.
type SignalType uint8

// The signals that routers (claim, release) and operators (override) send.
const (
	Claim SignalType = iota + 1
	Release
	Override
)

// String returns the name on the wire.
func (t SignalType) String() string {
	return [...]string{"", "claim", "release", "override"}[t]
}

// Mode is what an operator says of a circuit.
type Mode uint8

// Modes of an override. NoMode is the zero value: no override is in force.
const (
	NoMode Mode = iota
	ForceOpen
	ForceClosed
	Disable
	Reset
	Clear
)

var modeNames = [...]string{"", "force_open", "force_closed", "disable", "reset", "clear"}

// String returns the name on the wire.
func (m Mode) String() string { return modeNames[m] }

// ModeOf returns the mode of that name, and whether there is one.
func ModeOf(name string) (Mode, bool) {
	for m := ForceOpen; m <= Clear; m++ {
		if modeNames[m] == name {
			return m, true
		}
	}
	return NoMode, false
}

// Signal is a claim, a release or an override.
type Signal struct {
	Type    SignalType
	Circuit string

	Holder   string // Claim.
	Lease    string // Claim and release.
	Epoch    int64  // Claim; meaningful only where HasEpoch.
	HasEpoch bool
	Unused   bool // Release: the call was never made.

	Mode   Mode // Override.
	Actor  string
	Reason string
	TTL    time.Duration // Override: 0 is without end.
}
