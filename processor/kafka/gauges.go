package kafka

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges registers what is asked for at the time of a scrape.
func (l *Loop) gauges(registry prometheus.Registerer) error {
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
		opts := prometheus.GaugeOpts{Name: "fusebox_" + name, Help: help, ConstLabels: labels}
		return prometheus.NewGaugeFunc(opts, value)
	}
	circuits := "Circuits that are known: in memory or not."
	for _, c := range []prometheus.Collector{
		gauge("circuits", circuits, prometheus.Labels{"resident": "true"}, func() float64 {
			return float64(l.resident.Load())
		}),
		gauge("circuits", circuits, prometheus.Labels{"resident": "false"}, func() float64 {
			return float64(max(l.known.Load()-l.resident.Load(), 0))
		}),
		&storeCollector{loop: l},
	} {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// storeCollector tells how the store is doing. One look at it serves all of its metrics.
type storeCollector struct{ loop *Loop }

var (
	storeBytes  = prometheus.NewDesc("fusebox_store_bytes", "Bytes that the store takes on disk.", nil, nil)
	storeErrors = prometheus.NewDesc("fusebox_store_errors_total",
		"Reads and writes of the store that failed.", nil, nil)
	storeLag = prometheus.NewDesc("fusebox_store_position_lag_records",
		"Records of the changelog that are in memory and not on disk yet.", nil, nil)
)

// Describe sends what there is.
func (c *storeCollector) Describe(to chan<- *prometheus.Desc) {
	to <- storeBytes
	to <- storeErrors
	to <- storeLag
}

// Collect asks the store, where it is open.
func (c *storeCollector) Collect(to chan<- prometheus.Metric) {
	store := c.loop.opened.Load()
	if store == nil {
		return
	}
	stats := store.Stats()
	to <- prometheus.MustNewConstMetric(storeBytes, prometheus.GaugeValue, float64(stats.Bytes))
	to <- prometheus.MustNewConstMetric(storeErrors, prometheus.CounterValue, float64(stats.Errors))
	to <- prometheus.MustNewConstMetric(storeLag, prometheus.GaugeValue, float64(stats.PositionLag))
}
