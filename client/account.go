package client

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// sumFor is how long accepted outcomes are added up.
const sumFor = 100 * time.Millisecond

// slack is how far the brokers' clock may be from this machine's, the way of a record included, without a rule being
// judged otherwise.
const slack = time.Second

// Combine says which accepted outcomes a gate adds up for 100 ms into one record that counts them. Failures and probes
// go at once, and outcomes of a circuit keep their order: whatever is unlike sends what was added up before it. What
// has an ID, a Time, a RetryAfter or an EvidenceRef of its own always goes alone. A sum has the totals of cost and
// tokens, the greatest latency, and no trace id.
type Combine uint8

// What is added up.
const (
	// CombineSame adds up only where the circuit's policy cannot tell. Precisely: each circuit goes through the same
	// states, by the same rules, in the same epochs and the same order, as if the outcomes of a sum had come one by
	// one where the sum does, which is at most 100 ms after they were reported.
	//
	// That is so as long as the circuit's outcomes come from this gate alone and arrive, no id comes twice, and the
	// gate hears of a circuit that opens before its break is over. Of what others report a gate knows nothing: where
	// their failures hold a ratio at its threshold, it is judged after a sum, where it might have fired on the first
	// outcome of it. No sum leaps over the minimum of a ratio, whoever reports: nothing is added up before this gate
	// alone has sent as many.
	//
	// Nothing is added up for a policy that has a rule with `last` or one about accepted outcomes by kind, nor for one
	// that a shadow judges beside; and nothing while a rule is, or may come, near enough to its threshold for one of
	// the outcomes to make it fire.
	CombineSame Combine = iota
	// CombineAlways adds up whatever is accepted, alike and on the same side of every `over`: less traffic, and a rule
	// may fire later, or not at all, where a single success would have made it fire.
	CombineAlways
	// CombineNever sends every outcome in a record of its own.
	CombineNever
)

// account is what a gate has sent of one circuit in its newest epoch, and what it has added up to be sent. It decides
// and does nothing; what it returns is to be sent in that order.
type account struct {
	circuit  string
	mode     Combine
	policies *breaker.Policies
	policy   *breaker.Policy
	epoch    int64
	counts   breaker.Counts // What a processor has counted that hears of this gate alone.
	last     time.Time      // When something was noted last; the zero time before that.
	doubt    doubt
	sum      sum
}

// doubt is the newest outcome of a call that was admitted on an operator's word. While that holds, a processor counts
// it and will forget it; once it is over, in the same epoch, it counts and stays, and the gate may not have heard yet.
// Or it is of a call before the gate knew the circuits, which counts in whatever epoch that was, or the last of those
// that were sent while nobody knew the policies.
type doubt struct {
	epoch int64     // Or anyEpoch.
	at    time.Time // The zero time where there was none.
}

const anyEpoch = -1

// sum is what has been added up: nothing where it counts nothing.
type sum struct {
	parcel
	first Outcome      // As it was reported.
	over  int64        // What is slower than this,
	upTo  int64        // and not slower than that, lies on the same side of every limit. In milliseconds.
	room  breaker.Room // For all of it.
}

// add adds an outcome of a plain call to what is added up, and tells whether it could. It is all that most accepted
// outcomes meet.
func (a *account) add(epoch int64, o *Outcome) bool {
	s := &a.sum
	if s.record.Count == 0 || epoch != a.epoch || !s.first.alike(o) {
		return false
	}
	return s.add(o)
}

// alike tells whether another outcome says the same of a call that was accepted, but for its numbers.
func (o *Outcome) alike(other *Outcome) bool {
	return o.Kind == other.Kind && o.Severity == other.Severity && o.ReasonCode == other.ReasonCode &&
		o.Reason == other.Reason && o.Stage == other.Stage && o.Evaluator == other.Evaluator &&
		o.Provider == other.Provider && o.Model == other.Model && o.Tenant == other.Tenant &&
		o.FallbackFrom == other.FallbackFrom && other.isOrdinary()
}

// isOrdinary tells whether nothing about the outcome wants a record of its own.
func (o *Outcome) isOrdinary() bool {
	return o.Kind == Accepted && o.ID == "" && o.Time.IsZero() && o.RetryAfter == 0 && o.EvidenceRef == ""
}

// add adds the numbers of an outcome, where they are fit to be sent and there is room for them.
func (s *sum) add(o *Outcome) bool {
	cost, ok := int64(0), true
	if o.CostUSD != 0 {
		cost, ok = schemas.Micros(o.CostUSD)
	}
	latencyMS := milliseconds(o.Latency)
	if !ok || !counts(o.InputTokens) || !counts(o.OutputTokens) || o.Latency < 0 ||
		latencyMS <= s.over || latencyMS > s.upTo {
		return false
	}
	r := &s.record
	cost, input, output := r.CostMicros+cost, r.InputTokens+o.InputTokens, r.OutputTokens+o.OutputTokens
	if r.Count >= s.room.Outcomes || cost > s.room.CostMicros || input > s.room.InputTokens ||
		output > s.room.OutputTokens || input+output > s.room.Tokens {
		return false
	}
	r.Count, r.CostMicros, r.InputTokens, r.OutputTokens = r.Count+1, cost, input, output
	r.LatencyMS = max(r.LatencyMS, latencyMS)
	return true
}

// turn brings the account to a call of an epoch, under the policies in force, and tells whether that is the epoch which
// it counts. What was added up has to be taken before.
func (a *account) turn(at time.Time, epoch int64, policies *breaker.Policies) bool {
	forgotten := !a.last.IsZero() && at.Sub(a.last) >= a.policy.IdleAfter
	switch policy := policies.For(a.circuit); {
	case a.policies == nil || forgotten || epoch > a.epoch:
		a.policies, a.policy, a.epoch, a.last = policies, policy, epoch, time.Time{}
		a.counts = breaker.NewCounts(policy)
	case a.policies != policies:
		a.counts = a.counts.Rebind(a.policies, a.policy, policies, policy)
		a.policies, a.policy = policies, policy
	}
	return epoch == a.epoch
}

// begin begins to add up, with an outcome of the account's epoch, and tells whether there is room. Nothing must be
// added up so far.
func (a *account) begin(at time.Time, o *Outcome, p parcel) bool {
	if !o.isOrdinary() {
		return false
	}
	s := sum{parcel: p, first: *o, room: a.room(at, &p.record), over: -1, upTo: schemas.MaxWhole}
	for i := range a.policy.Rules {
		if r := &a.policy.Rules[i]; r.Type == breaker.SlowRatio {
			if limit := r.Selector.Over.Milliseconds(); limit < p.record.LatencyMS {
				s.over = max(s.over, limit)
			} else {
				s.upTo = min(s.upTo, limit)
			}
		}
	}
	r := &s.record
	r.Count, r.CostMicros, r.InputTokens, r.OutputTokens = 0, 0, 0, 0
	if !s.add(o) {
		return false
	}
	a.sum = s
	return true
}

func (a *account) room(at time.Time, record *schemas.Outcome) breaker.Room {
	if a.mode == CombineAlways {
		return breaker.AllRoom
	}
	d := a.doubt
	if (d.epoch == a.epoch || d.epoch == anyEpoch) && !d.at.IsZero() && at.Sub(d.at) <= a.policy.Longest+slack {
		return breaker.Room{}
	}
	kind, _ := a.policies.Kind(record.Kind)
	return a.policy.Room(&a.counts, at.Add(sumFor+slack), record, kind)
}

// parcel is a record to be sent, and what it takes in the queue.
type parcel struct {
	record schemas.Outcome
	size   int64
}

// put takes in an outcome that was not added, and appends what is to be sent now: what was added up, and the outcome
// itself unless it begins to be added up.
func (a *account) put(
	send []parcel, at time.Time, l *Lease, o *Outcome, p parcel, policies *breaker.Policies,
) []parcel {
	if p.record.Time.IsZero() {
		p.record.Time = at
	}
	if a.sum.record.Count > 0 {
		send = append(send, a.take(at))
	}
	switch {
	case l.blind:
		a.doubt = doubt{anyEpoch, at}
	case !l.plain && l.probe == nil:
		a.doubt = doubt{l.epoch, at}
	}
	if l.plain && l.probe == nil && a.turn(at, l.epoch, policies) {
		if a.begin(at, o, p) {
			return send
		}
		a.note(at, &p.record)
	}
	return append(send, p)
}

// take ends what is added up and notes it, and returns it. There must be something. A sum of several is of the time at
// which it is taken.
func (a *account) take(at time.Time) parcel {
	p := a.sum.parcel
	if p.record.Count > 1 {
		p.record.Time, p.record.TraceID = at, ""
	}
	a.sum = sum{}
	a.note(at, &p.record)
	return p
}

// note counts a record that is sent, of the account's epoch, as a processor does.
func (a *account) note(at time.Time, record *schemas.Outcome) {
	a.last = at
	t := record.Time
	if a.mode != CombineSame || t.Before(at.Add(-a.policy.Longest)) && a.policy.Longest > 0 {
		return
	}
	if t.After(at) {
		t = at
	}
	bare := *record
	bare.ID, bare.Stage, bare.EvidenceRef = "", "", ""
	kind, _ := a.policies.Kind(record.Kind)
	a.policy.Add(&a.counts, at, t, &bare, kind, 0)
}

// idle tells whether nothing was reported for so long that a processor counts nothing of it any more.
func (a *account) idle(at time.Time) bool {
	if a.sum.record.Count > 0 {
		return false
	}
	last, limit := a.last, sweepLedgers
	if a.doubt.at.After(last) {
		last = a.doubt.at
	}
	if a.policy != nil {
		limit = max(limit, min(a.policy.Longest, a.policy.IdleAfter))
	}
	return at.Sub(last) > limit+slack
}
