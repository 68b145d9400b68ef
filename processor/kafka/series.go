package kafka

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// series are the metrics of one circuit, or of all that have none of their own. A pair owns it. What records do is
// counted here first, and reaches Prometheus when their transaction is committed: what is rolled back comes again.
type series struct {
	m       *metrics
	circuit string
	own     bool
	made    []child // To be taken away one day.
	last    []counterOf

	pending   bool
	counts    []outcomeCount
	latencies [2][]float64 // By rejected, accepted.
	spent     [2][2]spending
	leases    leaseTally
	trips     []trip
}

// child is one series that was made.
type child struct {
	vec    interface{ DeleteLabelValues(...string) bool }
	labels []string
}

// counterOf keeps a counter at hand.
type counterOf struct {
	kind string
	why  processor.Why
	prometheus.Counter
}

type outcomeCount struct {
	kind string
	why  processor.Why
	n    int64
}

type spending struct{ micros, tokens int64 }

type trip struct {
	rule     string
	enforced bool
	took     time.Duration
	known    bool // Since when the stretch was bad.
}

// newSeries returns series of its own for a circuit, or nil while there are as many as there may be.
func (m *metrics) newSeries(circuit string) *series {
	if circuit == "" {
		return nil
	}
	if m.named.Add(1) > m.max {
		m.named.Add(-1)
		return nil
	}
	return &series{m: m, circuit: strings.Clone(circuit), own: true}
}

// outcome counts one outcome record.
func (s *series) outcome(o *schemas.Outcome, r processor.Result) {
	s.add(r.Kind, r.Why, o.Count)
	if r.Why == processor.Duplicate {
		return // What it cost was counted when it came first.
	}
	accepted := index(o.Kind == schemas.Accepted)
	if o.LatencyMS > 0 {
		s.latencies[accepted] = append(s.latencies[accepted], float64(o.LatencyMS)/1000)
	}
	spent := &s.spent[accepted][index(o.FallbackFrom != "")]
	spent.micros += o.CostMicros
	spent.tokens += o.InputTokens + o.OutputTokens
}

func index(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (s *series) add(kind string, why processor.Why, n int64) {
	for i := range s.counts {
		if c := &s.counts[i]; c.why == why && c.kind == kind {
			c.n += n
			return
		}
	}
	s.counts = append(s.counts, outcomeCount{kind, why, n})
}

// drop forgets what is pending.
func (s *series) drop() {
	s.pending = false
	s.counts, s.trips = s.counts[:0], s.trips[:0]
	for i := range s.latencies {
		s.latencies[i] = s.latencies[i][:0]
	}
	s.spent, s.leases = [2][2]spending{}, leaseTally{}
}

// flush tells Prometheus what was pending.
func (s *series) flush() {
	for _, c := range s.counts {
		s.outcomes(c.kind, c.why).Add(float64(c.n))
	}
	for accepted, seconds := range s.latencies {
		if len(seconds) == 0 {
			continue
		}
		h := s.histogram(s.m.latency, strconv.FormatBool(accepted == 1))
		for _, v := range seconds {
			h.Observe(v)
		}
	}
	s.flushSpending()
	for _, l := range s.leases.counts() {
		if l.n > 0 {
			s.counter(s.m.leases, l.result).Add(float64(l.n))
		}
	}
	for _, t := range s.trips {
		s.counter(s.m.trips, t.rule, strconv.FormatBool(t.enforced)).Inc()
		if t.known {
			s.histogram(s.m.detect).Observe(t.took.Seconds())
		}
	}
	s.drop()
}

func (s *series) flushSpending() {
	for accepted, byFallback := range s.spent {
		for fallback, spent := range byFallback {
			labels := []string{strconv.FormatBool(accepted == 1), strconv.FormatBool(fallback == 1)}
			if spent.micros > 0 {
				s.counter(s.m.cost, labels...).Add(float64(spent.micros) / 1e6)
			}
			if spent.tokens > 0 {
				s.counter(s.m.tokens, labels...).Add(float64(spent.tokens))
			}
		}
	}
}

// outcomes returns the counter of a kind and result, which is asked for at every commit.
func (s *series) outcomes(kind string, why processor.Why) prometheus.Counter {
	for i := range s.last {
		if c := &s.last[i]; c.why == why && c.kind == kind {
			return c.Counter
		}
	}
	c := s.counter(s.m.outcomes, kind, why.String())
	s.last = append(s.last, counterOf{kind, why, c})
	return c
}

func (s *series) counter(vec *prometheus.CounterVec, more ...string) prometheus.Counter {
	labels := s.label(vec.MetricVec, more)
	return vec.WithLabelValues(labels...)
}

func (s *series) gauge(vec *prometheus.GaugeVec, more ...string) prometheus.Gauge {
	labels := s.label(vec.MetricVec, more)
	return vec.WithLabelValues(labels...)
}

func (s *series) histogram(vec *prometheus.HistogramVec, more ...string) prometheus.Observer {
	labels := s.label(vec.MetricVec, more)
	return vec.WithLabelValues(labels...)
}

// label puts the circuit before the other labels, and remembers what is about to be made.
func (s *series) label(vec *prometheus.MetricVec, more []string) []string {
	labels := append([]string{s.circuit}, more...)
	if s.own {
		s.remember(child{vec, labels})
	}
	return labels
}

func (s *series) remember(c child) {
	for _, made := range s.made {
		if made.vec == c.vec && slices.Equal(made.labels, c.labels) {
			return
		}
	}
	s.made = append(s.made, c)
}

// remove takes the circuit's series away.
func (s *series) remove() {
	if !s.own {
		return
	}
	for _, c := range s.made {
		c.vec.DeleteLabelValues(c.labels...)
	}
	s.made, s.last = nil, nil
	s.m.named.Add(-1)
}
