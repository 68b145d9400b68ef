package processor

import (
	"github.com/fusebox-project/fusebox/breaker"
)

// Regime is a stretch of a partition's log under one and the same policies. Regimes are numbered one after the other.
type Regime struct {
	Number   int64
	Policies *breaker.Policies
}

// RegimesKept is how many regimes are known at once. A circuit goes through all that came since it was last touched,
// one by one, whenever it is next touched: so it makes no difference when that is, nor whether it was in memory
// meanwhile. One that more than these have passed over goes on with the oldest of them.
const RegimesKept = 16

// Regimes returns the regimes known, oldest first, the one in force last. With them and the circuits' values a
// partition can be restored.
func (p *Partition) Regimes() []Regime { return p.regimes }

func (p *Partition) newest() Regime { return p.regimes[len(p.regimes)-1] }

// rebind brings a circuit under the policies now in force, by way of those that were in force since its own.
func (p *Partition) rebind(c *circuit) {
	for _, r := range p.regimes {
		if r.Number > c.regime.Number {
			c.rebind(r, p.clock)
		}
	}
}

// regimeOf returns the regime of a number, or the oldest one after it.
func regimeOf(number int64, regimes []Regime) Regime {
	for _, r := range regimes {
		if r.Number >= number {
			return r
		}
	}
	return regimes[len(regimes)-1]
}
