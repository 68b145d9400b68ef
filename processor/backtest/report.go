package backtest

import (
	"encoding/json"
	"time"

	"github.com/fusebox-project/fusebox/processor"
)

// Report is what a run has come to. Its circuits are those of the run, and good until its next step.
type Report struct {
	Circuits []*Circuit `json:"circuits"`
}

// Circuit is what a policy would have done with one circuit. An outcome with a count of n is n outcomes. There is one
// for every circuit that was recorded, so it is kept small.
type Circuit struct {
	Circuit  string    `json:"circuit"`
	Policy   string    `json:"policy"`           // Empty where no policy matches: then nothing is judged.
	Shadow   bool      `json:"shadow,omitempty"` // The policy shadows the circuit's own.
	Enforced bool      `json:"enforced"`         // Live, routers obey the policy.
	Off      bool      `json:"off,omitempty"`    // The policy is off: then nothing is judged.
	Outcomes int64     `json:"outcomes"`         // Accepted, Failures and Others.
	Accepted int64     `json:"accepted"`
	Failures int64     `json:"failures"` // By the policy's roles.
	Others   int64     `json:"others"`   // Neither: what is neutral, and successes of another kind.
	Judged   int64     `json:"judged"`   // Those that a rule judged, with the minimum that it waits for.
	*Opened            // Never nil.
	Records  int64     `json:"records"` // The length of the circuit's sequence.
	Why      Whys      `json:"why"`     // Outcomes by what became of them.
	From     time.Time `json:"from"`    // The first outcome.
	To       time.Time `json:"to"`      // The newest.
}

// Opened is what came of it that a circuit opened.
type Opened struct {
	Trips       []Trip    `json:"trips"`
	OpenSeconds float64   `json:"open_seconds"` // Half open is open.
	Refused     Refused   `json:"refused"`
	Open        []Stretch `json:"open"`   // Oldest first.
	Probes      int64     `json:"probes"` // Outcomes taken as the results of probes.

	costMicros int64         // Of what was refused.
	ended      time.Duration // Of the stretches that have ended.
}

// neverOpened is what every circuit has that never did. It is not to be changed.
var neverOpened = &Opened{Trips: []Trip{}, Open: []Stretch{}}

// Idle tells that no rule ever judged, though the circuit has a policy that is not off: its windows never held enough.
func (c *Circuit) Idle() bool { return c.Judged == 0 && c.Policy != "" && !c.Off }

// Late returns how many outcomes were late: so long behind the newest that no window of the policy holds them.
func (c *Circuit) Late() int64 { return c.Why.Of(processor.Late) }

// Whys counts outcomes by what became of them.
type Whys struct {
	counted int64
	others  *[whys]int64 // Nil where all were counted, as mostly.
}

const whys = int(processor.OverLimit) + 1

// Of returns of how many outcomes this became.
func (w *Whys) Of(why processor.Why) int64 {
	switch {
	case why == processor.Counted:
		return w.counted
	case w.others == nil:
		return 0
	}
	return w.others[why]
}

func (w *Whys) add(why processor.Why, outcomes int64) {
	if why == processor.Counted {
		w.counted += outcomes
		return
	}
	if w.others == nil {
		w.others = new([whys]int64)
	}
	w.others[why] += outcomes
}

// MarshalJSON writes those that there are, by name.
func (w Whys) MarshalJSON() ([]byte, error) {
	named := map[string]int64{}
	for _, why := range processor.Whys {
		if n := w.Of(why); n > 0 {
			named[why.String()] = n
		}
	}
	return json.Marshal(named)
}

// Trip is one opening of a circuit, from closed or because probes failed.
type Trip struct {
	At         time.Time        `json:"at"`
	Index      int64            `json:"index"` // Of the outcome that tripped it in the circuit's sequence, from 0 on.
	Rule       string           `json:"rule"`  // Or probe_failed.
	Type       string           `json:"type"`  // The rule's type, or probe_failed.
	Kind       string           `json:"kind"`  // The one of greatest weight.
	Observed   float64          `json:"observed"`
	Threshold  float64          `json:"threshold"`
	Throughput int64            `json:"throughput"`
	ByKind     map[string]int64 `json:"by_kind"`
	Words      string           `json:"words"` // What it observed against the threshold, in a sentence.
	Epoch      int64            `json:"epoch"`
	RetryAt    time.Time        `json:"retry_at"`

	Since         time.Time `json:"since"`          // The first failure of the bad stretch.
	Bad           int64     `json:"bad"`            // Bad answers from there on, this one too where it is one.
	DelayOutcomes int64     `json:"delay_outcomes"` // Outcomes that the rule saw after that first failure.
	DelaySeconds  float64   `json:"delay_seconds"`
}

// Refused are the recorded calls that the circuit would have refused.
type Refused struct {
	Failures int64   `json:"failures"` // By the policy's roles.
	Accepted int64   `json:"accepted"`
	Others   int64   `json:"others"`
	CostUSD  float64 `json:"cost_usd"` // Of all of them.
}

// Stretch is a time for which a circuit was not closed: from a trip to the recovery, with the trips by failed probes
// between them.
type Stretch struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`   // The recovery, or the newest outcome where there was none.
	Ends bool      `json:"ends"` // There was a recovery.
}
