package schemas

import "time"

// Phase is the state of a circuit.
type Phase uint8

// Phases. The zero value is Closed: a circuit that nobody has heard of is closed.
const (
	Closed Phase = iota
	Open
	HalfOpen
	ForcedOpen
	ForcedClosed
	Disabled
)

var phaseNames = [...]string{
	Closed: "closed", Open: "open", HalfOpen: "half_open", ForcedOpen: "forced_open", ForcedClosed: "forced_closed",
	Disabled: "disabled",
}

// Phases are all phases. Callers must not change it.
var Phases = []Phase{Closed, Open, HalfOpen, ForcedOpen, ForcedClosed, Disabled}

// String returns the name on the wire.
func (p Phase) String() string { return phaseNames[p] }

// State is the state of one circuit at one time: the record of the state topic and of the transitions topic.
// Times are to the millisecond, UTC; the zero time is absent (null on the wire).
type State struct {
	Circuit   string
	State     Phase
	Previous  Phase
	Epoch     int64
	Sequence  int64
	Born      time.Time
	ChangedAt time.Time // The zero time where the circuit never changed.
	RetryAt   time.Time
	Enforced  bool
	Attempt   int
	Cause     *Cause
	Degraded  *Cause
	Leases    []Lease
	Probe     Probe
	Ramp      []RampStep
	Override  *OverrideInForce
	Operator  *Operator // Who made this very record, where an operator's word did.

	Policy        string // Empty where no policy matches.
	PolicyVersion string
	Trigger       Trigger
	Inputs        Inputs
	Clamped       bool // A time from the future was clamped to the wall clock on the way to this record.

	Shadow   *Shadow // What the policy that judges beside has come to; nil where none does.
	IsShadow bool    // This is a transition of the circuit's shadow, and not of the circuit: see Shadow.
}

// Shadow is what a circuit's shadow has come to: the breaker of a policy that judges beside, and that nobody obeys. Its
// transitions are States with IsShadow. They stand in the transitions topic alone, and take Born and Sequence from the
// record of the circuit that shows them; all else in them is the shadow's.
type Shadow struct {
	Policy string
	State  Phase
	Epoch  int64
	Since  time.Time // When it came to its state, or began to judge.
	Trips  int64     // How often it would have opened the circuit.
	Cause  *Cause
}

// Cause says why a circuit is open, or degraded.
type Cause struct {
	Rule          string // A rule's name, or probe_failed, or probes_inconclusive.
	Type          string // A rule's type, or the same word as Rule.
	Kind          string // The kind of greatest weight: by it routes choose the fallback.
	Policy        string
	PolicyVersion string
	Window        time.Duration // 0 where the rule has none.
	Last          int64         // 0 where the rule has none.
	Throughput    int64         // 0 where the rule has none.
	Observed      float64
	Threshold     float64
	ByKind        map[string]int64   // Counts of what the rule saw.
	Weights       map[string]float64 // Weights of what matched.
	AlsoFired     []string           // Other rules that fired at the same outcome.
	BySuccess     bool               // The outcome that tripped it was a success.
	At            time.Time
	Since         time.Time // Start of the bad stretch; the zero time where unknown.
	Evidence      []Evidence
	NotCounted    NotCounted
}

// NotCounted are the outcomes seen since the last change that counted for nothing.
type NotCounted struct{ Stale, Neutral, Duplicate, Late int64 }

// Evidence refers to one outcome without its content.
type Evidence struct {
	ID          string
	Kind        string
	Severity    Severity
	Stage       string
	ReasonCode  string
	Time        time.Time
	Partition   int32
	Offset      int64
	EvidenceRef string
}

// Lease is the exclusive right to send one probe until it expires.
type Lease struct {
	ID        string
	Holder    string
	ExpiresAt time.Time
}

// Probe tells how far a half-open circuit is.
type Probe struct{ Successes, Failures, Inconclusive, Concurrency int }

// RampStep is the share that is admitted until a time.
type RampStep struct {
	Share float64
	Until time.Time
}

// Operator is the word of an operator: an override that was set, reset or cleared.
type Operator struct {
	Mode   Mode
	Actor  string
	Reason string
}

// OverrideInForce is what an operator said of the circuit. Until is the zero time where it has no end. Then is what the
// circuit is once it has ended: closed, or open with a probe due.
type OverrideInForce struct {
	Mode   Mode
	Actor  string
	Reason string
	Until  time.Time
	Then   Phase
}

// Trigger is the record that caused a state.
type Trigger struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Inputs are the next offsets of both input topics when a state was made.
type Inputs struct{ Outcomes, Signals int64 }

// Heartbeat says how far a partition has come.
type Heartbeat struct {
	Partition int32
	At        time.Time
	Watermark int64
	Lag       int64
	Instance  string
}

// PoliciesInForce is the record from which routers learn the route chains, and an audit what was judged by.
type PoliciesInForce struct {
	Version  string
	Routes   []Route
	Text     string
	Instance string
	Since    time.Time
}

// Route tells routers where to go while a circuit refuses.
type Route struct {
	UseCase   string
	Chain     []string
	Otherwise string
	ByCause   map[string][]string
}

// PolicySwitch is the record of the transitions topic that says from which offsets on which policies judged a
// partition.
type PolicySwitch struct {
	Policies PoliciesInForce
	Inputs   Inputs
}

// Keys of the state and the transitions topic that are no circuits: a control character may not stand in a circuit's
// name.
const (
	PoliciesKey        = "\u0000policies"
	HandledKey         = "\u0000handled"
	HeartbeatKeyPrefix = "\u0000heartbeat/"
)
