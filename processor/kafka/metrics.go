package kafka

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"
)

// otherCircuits is the label of the circuits that have no series of their own.
const otherCircuits = "__other__"

// metrics are what a Loop tells Prometheus. Labels have a bounded set of values: at most Config.MetricsMaxCircuits
// circuits, and the kinds that the policies declare.
type metrics struct {
	max   int64
	named atomic.Int64 // Circuits with series of their own.

	outcomes, trips, transitions, leases, cost, tokens, open *prometheus.CounterVec
	state, degraded, acceptance, availability                *prometheus.GaugeVec
	latency, detect                                          *prometheus.HistogramVec

	records, transactions, reloads *prometheus.CounterVec
	clamped, expired, lost         prometheus.Counter
	restored, restoredBytes        prometheus.Counter
	commit, endToEnd               prometheus.Histogram
	policyInfo, phase              *prometheus.GaugeVec
	reloaded, partitions           prometheus.Gauge
	lagRecords, lagSeconds, remain *prometheus.GaugeVec
	unstable, unstableSeconds      *prometheus.GaugeVec
}

// newMetrics makes the metrics and registers them.
func newMetrics(registry prometheus.Registerer, most int) (*metrics, error) {
	m := &metrics{max: int64(most)}
	var all []prometheus.Collector
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fusebox_" + name, Help: help}, labels)
		all = append(all, v)
		return v
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fusebox_" + name, Help: help}, labels)
		all = append(all, v)
		return v
	}
	histograms := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(histogramOpts(name, help, buckets), labels)
		all = append(all, v)
		return v
	}
	m.ofCircuits(counters, gauges, histograms)
	m.ofProcess(counters, gauges)
	m.commit = prometheus.NewHistogram(histogramOpts("commit_seconds",
		"Time from the begin of a transaction to its end.", prometheus.ExponentialBuckets(0.001, 2, 13)))
	m.endToEnd = prometheus.NewHistogram(histogramOpts("end_to_end_seconds",
		"Time from an outcome's append to the publication of the state that it caused.",
		prometheus.ExponentialBuckets(0.001, 2, 15)))
	for _, c := range append(all, m.reloaded, m.commit, m.endToEnd, m.clamped, m.expired, m.lost, m.restored,
		m.restoredBytes, m.partitions) {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// histogramOpts makes a histogram both classic, with the given buckets, and native.
func histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: "fusebox_" + name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

type (
	newCounters   func(name, help string, labels ...string) *prometheus.CounterVec
	newGauges     func(name, help string, labels ...string) *prometheus.GaugeVec
	newHistograms func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec
)

// ofCircuits makes the metrics of circuits. Their histograms have few classic buckets, as each is a series a circuit:
// the native ones tell the rest.
func (m *metrics) ofCircuits(counters newCounters, gauges newGauges, histograms newHistograms) {
	m.outcomes = counters("outcomes_total", "Outcomes, by kind and by what became of them.",
		"circuit", "kind", "result")
	m.state = gauges("circuit_state", "1 for the state that the circuit is in, 0 for the others.", "circuit", "state")
	m.degraded = gauges("circuit_degraded", "1 while a degrading rule holds.", "circuit")
	m.acceptance = gauges("circuit_acceptance_ratio",
		"Share of accepted outcomes in the longest window of the policy.", "circuit")
	m.availability = gauges("circuit_availability_ratio",
		"Share of outcomes that are no transport failure in the longest window of the policy.", "circuit")
	m.trips = counters("trips_total", "Trips, by the rule that fired.", "circuit", "rule", "enforced")
	m.transitions = counters("transitions_total", "Changes of state.", "circuit", "from", "to")
	m.open = counters("open_seconds_total", "Time in which the circuit was open, half open or forced open.", "circuit")
	m.leases = counters("leases_total", "Claims and leases, by what became of them.", "circuit", "result")
	m.cost = counters("cost_usd_total", "Money spent on calls.", "circuit", "accepted", "fallback")
	m.tokens = counters("tokens_total", "Tokens of calls.", "circuit", "accepted", "fallback")
	m.latency = histograms("outcome_latency_seconds", "Latency of the calls themselves.",
		[]float64{1, 10}, "circuit", "accepted")
	m.detect = histograms("time_to_detect_seconds", "Time from the first failure of the bad stretch to the trip.",
		[]float64{10, 60}, "circuit")
}

// ofProcess makes the other metrics, save what asks at the time of a scrape: see gauges.go.
func (m *metrics) ofProcess(counters newCounters, gauges newGauges) {
	m.records = counters("records_total", "Records of the input topics, by what became of them.", "topic", "result")
	m.transactions = counters("transactions_total", "Transactions, by how they ended.", "result")
	m.reloads = counters("policy_reloads_total", "Policy files that were read again.", "result")
	m.reloaded = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fusebox_policy_last_reload_successful",
		Help: "1 where the policy file could be put in force when it was last read, else 0.",
	})
	m.reloaded.Set(1)
	m.policyInfo = gauges("policy_info", "1 for the version of the policies in force.", "version")
	m.phase = gauges("partition_phase", "1 for the phase that the partition is in, 0 for the others.",
		"partition", "phase")
	m.lagRecords = gauges("partition_lag_records", "Outcomes up to the high watermark that wait.", "partition")
	m.lagSeconds = gauges("partition_lag_seconds", "Age of the newest outcome handled, while others wait.", "partition")
	m.unstable = gauges("partition_unstable_records",
		"Outcomes between the last stable offset and the high watermark: of transactions that are open.", "partition")
	m.unstableSeconds = gauges("partition_unstable_seconds",
		"Time for which an open transaction has kept the next outcomes from being read.", "partition")
	m.remain = gauges("partition_restore_remaining_records",
		"Records of the changelog that are left to read.", "partition")
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "fusebox_" + name, Help: help})
	}
	m.clamped = counter("clamped_total", "Times from the future that were clamped.")
	m.expired = counter("offsets_expired_total",
		"Partitions that went on from their progress record, as the group had no offsets for them.")
	m.restored = counter("restored_records_total", "Records of the changelog that were read to restore partitions.")
	m.restoredBytes = counter("restored_bytes_total", "Keys and values of those records.")
	m.partitions = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fusebox_partitions", Help: "Partitions of the topics, whoever works on them; 0 until they are known.",
	})
	m.lost = counter("input_records_lost_total", "Input records that were deleted before they were handled.")
}

// begin makes the series that are there from the beginning, so that the first of a kind shows as an increase.
func (m *metrics) begin(topics *Topics) {
	for _, topic := range []string{topics.Outcomes, topics.Signals} {
		for _, c := range new(recordTally).counts() {
			m.records.WithLabelValues(topic, c.result)
		}
	}
	for _, result := range []string{committedResult, abortedResult, unknownResult} {
		m.transactions.WithLabelValues(result)
	}
	for _, result := range []string{"ok", "failed"} {
		m.reloads.WithLabelValues(result)
	}
}

// setPhase shows the phase of a partition; forgetPartition takes all of its series away.
func (m *metrics) setPhase(partition string, now phase) {
	for p := restoring; p <= refused; p++ {
		value := 0.0
		if p == now {
			value = 1
		}
		m.phase.WithLabelValues(partition, p.String()).Set(value)
	}
}

func (m *metrics) forgetPartition(partition string) {
	for p := restoring; p <= refused; p++ {
		m.phase.DeleteLabelValues(partition, p.String())
	}
	for _, v := range []*prometheus.GaugeVec{m.lagRecords, m.lagSeconds, m.unstable, m.unstableSeconds, m.remain} {
		v.DeleteLabelValues(partition)
	}
}

// results of a transaction.
const (
	committedResult = "committed"
	abortedResult   = "aborted"
	unknownResult   = "unknown"
)

func (t *recordTally) counts() [6]resultCount {
	return [...]resultCount{
		{"handled", t.handled}, {"unreadable", t.unreadable}, {"too_large", t.tooLarge}, {"misrouted", t.misrouted},
		{"foreign", t.foreign}, {"repeated", t.repeated},
	}
}

// count adds what became of the records of a transaction.
func (m *metrics) count(topic string, t recordTally) {
	for _, c := range t.counts() {
		if c.n > 0 {
			m.records.WithLabelValues(topic, c.result).Add(float64(c.n))
		}
	}
	m.clamped.Add(float64(t.clamped))
}

// clientMetrics lets franz-go tell its own metrics. No two clients of one id may live at the same time.
func clientMetrics(registry prometheus.Registerer) kgo.Opt {
	return kgo.WithHooks(kprom.NewMetrics("fusebox_kafka", kprom.Registerer(registry), kprom.WithClientLabel()))
}
