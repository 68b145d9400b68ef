package breaker

import (
	"strconv"

	"github.com/fusebox-project/fusebox/windows"
)

// Kind returns the number by which counts know a kind, and its canonical name; 0 and unknown where nobody declared it.
func (p *Policies) Kind(kind string) (number uint8, name string) {
	number = p.kinds.index(kind)
	return number, p.kinds.name(number)
}

// Number returns the version as a number, for binary forms.
func (p *Policies) Number() uint64 {
	n, err := strconv.ParseUint(p.Version, 16, 64)
	if err != nil {
		panic("breaker: version of policies is no number: " + p.Version)
	}
	return n
}

// Degrades tells whether the circuit is degraded, or a degrading rule fired when it was last judged.
func (c *Counts) Degrades() bool { return c.Degraded != nil || c.flags != 0 }

// Degrading tells whether a degrading rule fired when it was last judged.
func (c *Counts) Degrading(rule int) bool { return c.flags&(1<<rule) != 0 }

// Ratios returns the share of accepted outcomes, and the share that is not transport_failure, of those in the longest
// window of the policy that are evidence. It reports false where there are none.
func (p *Policy) Ratios(c *Counts) (acceptance, availability float64, ok bool) {
	widest := p.widest()
	if widest == nil {
		return 0, 0, false
	}
	total, accepted, reached := int64(0), int64(0), int64(0)
	c.live[widest.slot].window.Each(func(x windows.Tally) {
		if p.roles[x.Kind] == Neutral {
			return
		}
		total += x.Count
		if x.Kind == acceptedKind {
			accepted += x.Count
		}
		if x.Kind != transportKind {
			reached += x.Count
		}
	})
	if total == 0 {
		return 0, 0, false
	}
	return share(accepted, total), share(reached, total), true
}

// widest returns the counter with the longest window, nil where no rule has a window.
func (p *Policy) widest() *counter {
	var widest *counter
	for i := range p.counters {
		if k := &p.counters[i]; k.slot >= 0 && k.kind != Consecutive && (widest == nil || k.wider(widest)) {
			widest = k
		}
	}
	return widest
}

// wider orders windows: by time before by number, then by length.
func (k *counter) wider(than *counter) bool {
	if k.window != than.window {
		return k.window > than.window
	}
	return k.last > than.last
}
