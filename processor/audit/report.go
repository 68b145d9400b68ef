package audit

import "github.com/fusebox-project/fusebox/schemas"

// Report is what came of an audit of a partition.
type Report struct {
	Outcomes    int64        `json:"outcomes"` // Handled again, those before the range too.
	Signals     int64        `json:"signals"`
	Circuits    int          `json:"circuits"` // Audited.
	Same        int64        `json:"same"`     // Published records that are what was recomputed.
	Different   int64        `json:"different"`
	Switches    int          `json:"policy_switches"`
	Differences []Difference `json:"differences"` // The first of each circuit and stretch, at most MostTold.
	Gaps        []Gap        `json:"not_auditable"`
}

// MostTold bounds how many differences of a partition are told.
const MostTold = 1000

// Difference is where a circuit begins to differ.
type Difference struct {
	Topic     string          `json:"topic"`
	Partition int32           `json:"partition"`
	Offset    int64           `json:"offset"` // Of the published record; of the one before which it is missing.
	Circuit   string          `json:"circuit"`
	Shadow    bool            `json:"shadow,omitempty"` // It is the circuit's shadow that differs.
	Sequence  int64           `json:"sequence"`
	What      What            `json:"what"`
	Fields    []Field         `json:"fields,omitempty"`
	Trigger   schemas.Trigger `json:"trigger"`
	Inputs    schemas.Inputs  `json:"inputs"`
	Why       string          `json:"why,omitempty"` // Where it can be told.
	Following int             `json:"following"`     // Further records of the circuit that differ, up to Last.
	Last      int64           `json:"last,omitempty"`
}

// What tells how a record differs.
type What string

// What there is.
const (
	Differs    What = "differs"
	Missing    What = "missing"    // It was not published.
	Extra      What = "extra"      // Nothing of the kind was to be published.
	Unreadable What = "unreadable" // It cannot be read.
)

// Field is a field that differs, as JSON; empty where it has none.
type Field struct {
	Name       string `json:"name"`
	Published  string `json:"published"`
	Recomputed string `json:"recomputed"`
}

// Reason is why something could not be audited.
type Reason string

// Reasons.
const (
	Unchanged    Reason = "unchanged"     // Before the circuit's first change in the range.
	Deleted      Reason = "deleted"       // Retention deleted the inputs, or they lie before the range.
	NoPolicy     Reason = "no_policy"     // The policies in force are not at hand.
	ClampedClock Reason = "clamped_clock" // A timestamp in the future was clamped to a wall clock.
	Repeats      Reason = "repeats"       // An outcome may repeat one of before the range.
	Recovery     Reason = "recovery"      // When the circuit recovered before the range is not known.
	Beside       Reason = "shadow"        // Of a shadow that began to judge before the range.
	Crowded      Reason = "crowded"       // More circuits than are kept in memory at once.
)

// Gap is what could not be audited for a reason.
type Gap struct {
	Reason   Reason `json:"reason"`
	Circuits int    `json:"circuits"` // That could not be audited at all.
	Records  int64  `json:"records"`  // Published.

	Policies []string `json:"policies,omitempty"` // The versions that are not at hand.
}
