package breaker

import (
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/fusebox-project/fusebox/schemas"
	"github.com/fusebox-project/fusebox/windows"
)

// Numbers of kinds that mean something here.
const (
	acceptedKind  uint8 = 1
	transportKind uint8 = 2
	firstDeclared uint8 = 10
)

// counter says what some rules count: those of one type with the same selectors and the same window share it.
type counter struct {
	key  uint64 // A hash of all that makes counters differ: by it counts outlive a reload.
	slot int    // Index among the live counts; -1 for immediate, which counts nothing.

	kind       RuleType
	kinds      []bool // By kind; nil selects by role.
	rank       int    // The least severity.
	reasons    []string
	evaluators uint8 // A bit a type.
	overMS     int64
	of         SumOf
	only       Only

	window time.Duration
	last   int64
}

// compile makes the counters of a policy and tells each rule its own.
func compile(p *Policy, kinds *kindTable) {
	p.counters = nil
	slots := 0
	for i := range p.Rules {
		r := &p.Rules[i]
		c := newCounter(r, kinds)
		r.counter = slices.IndexFunc(p.counters, func(other counter) bool { return other.key == c.key })
		if r.counter >= 0 {
			continue
		}
		r.counter = len(p.counters)
		c.slot = -1
		if r.Type != Immediate {
			c.slot = slots
			slots++
		}
		p.counters = append(p.counters, c)
	}
	p.slots = slots
}

func newCounter(r *Rule, kinds *kindTable) counter {
	s := &r.Selector
	c := counter{
		key: key(r), kind: r.Type, reasons: s.ReasonCodes, overMS: s.Over.Milliseconds(), of: s.Of, only: s.Only,
		window: r.Window, last: r.Last,
	}
	if s.Kinds != nil {
		c.kinds = make([]bool, kinds.len())
		for _, name := range s.Kinds {
			c.kinds[kinds.index(name)] = true
		}
	}
	if s.HasSeverity {
		c.rank = s.Severity.Rank()
	}
	for _, e := range s.Evaluators {
		c.evaluators |= 1 << e
	}
	if c.evaluators == 0 {
		c.evaluators = 1<<schemas.Code | 1<<schemas.LLM | 1<<schemas.Human
		if r.Type == Immediate {
			c.evaluators &^= 1 << schemas.LLM
		}
	}
	return c
}

// key hashes the type, the selectors and the window of a rule.
func key(r *Rule) uint64 {
	s := &r.Selector
	b := []byte(r.Type.String())
	for _, list := range [][]string{s.Kinds, s.ReasonCodes} {
		b = append(b, 0)
		for _, word := range list {
			b = append(strconv.AppendQuote(b, word), ',')
		}
	}
	if s.HasSeverity {
		b = append(b, s.Severity.String()...)
	}
	b = append(b, 0)
	for _, e := range s.Evaluators {
		b = append(append(b, e.String()...), ',')
	}
	for _, n := range []int64{s.Over.Milliseconds(), int64(s.Of), int64(s.Only), r.Window.Milliseconds(), r.Last} {
		b = strconv.AppendInt(append(b, 0), n, 10)
	}
	return xxhash.Sum64(b)
}

// sees tells whether rules of this counter see an outcome of a kind at all.
func (c *counter) sees(kind uint8, role Role) bool {
	return role != Neutral || c.kind == Sum || c.kinds != nil && c.kinds[kind]
}

// tally returns what an outcome adds to the counter. Only what the counter selects matches.
func (c *counter) tally(o *schemas.Outcome, kind uint8, role Role, weight int64) windows.Tally {
	x := windows.Tally{Kind: kind, Count: o.Count}
	if !c.selects(o, kind, role) || c.kind == SlowRatio && o.LatencyMS <= c.overMS {
		return x
	}
	x.Matched, x.Measure = true, o.Count
	x.Weight = times(o.Count, weight)
	switch c.of {
	case CostUSD:
		x.Measure = o.CostMicros
	case InputTokens:
		x.Measure = o.InputTokens
	case OutputTokens:
		x.Measure = o.OutputTokens
	case Tokens:
		x.Measure = o.InputTokens + o.OutputTokens
	}
	return x
}

func (c *counter) selects(o *schemas.Outcome, kind uint8, role Role) bool {
	switch {
	case c.kinds != nil:
		if !c.kinds[kind] {
			return false
		}
	case c.kind != Sum && c.kind != SlowRatio:
		if role != Failure {
			return false
		}
	}
	return o.Severity.Rank() >= c.rank && c.evaluators&(1<<o.Evaluator.Type) != 0 &&
		(c.reasons == nil || slices.Contains(c.reasons, o.ReasonCode)) &&
		(c.only != OnlyRejected || kind != acceptedKind) &&
		(c.only != OnlyFallback || o.FallbackFrom != "")
}
