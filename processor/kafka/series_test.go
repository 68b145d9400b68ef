//go:build synctests

package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestSeriesOfManyCircuits: of 50,000 circuits, each of which has every kind of outcome that it may, a hundred have
// series of their own, and all others together one more set of them.
func TestSeriesOfManyCircuits(t *testing.T) {
	const circuits, most = 50_000, 100
	inWorld(t, 4, func(t *testing.T, w *world) {
		r := w.start(func(c *Config) { c.MetricsMaxCircuits, c.MaxResident = most, 5000 }, nil)
		w.ready(r)
		kinds := []string{schemas.Accepted, schemas.MissingEvidence, schemas.TransportFailure, "made-up"}
		for from := 0; from < circuits; from += 10_000 {
			records := make([]*kgo.Record, 10_000)
			for i := range records {
				records[i] = outcome(fmt.Sprintf("many:route-%05d:v1", from+i), kinds[i%len(kinds)], "")
			}
			w.Produce(t, records...)
			w.caughtUp()
		}
		families, err := r.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		series, named, known := 0, map[string]bool{}, 0.0
		for _, f := range families {
			series += len(f.Metric)
			for _, m := range f.Metric {
				if f.GetName() == "fusebox_circuits" {
					known += m.GetGauge().GetValue()
				}
				for _, l := range m.Label {
					if l.GetName() == "circuit" {
						named[l.GetValue()] = true
					}
				}
			}
		}
		if len(named) != most+1 || !named[otherCircuits] {
			t.Errorf("%d circuits have series, want %d and %s", len(named), most, otherCircuits)
		}
		if limit := 25*(most+1) + 200; series > limit {
			t.Errorf("%d circuits have %d series, want at most %d", circuits, series, limit)
		}
		if known != circuits {
			t.Errorf("fusebox_circuits = %v, want %d", known, circuits)
		}
	})
}
