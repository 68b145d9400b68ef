package console

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/felixge/httpsnoop"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are of the console's own requests.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	readers  prometheus.GaugeFunc
	events   prometheus.Counter
	let      *prometheus.CounterVec
}

// Why a reader of the stream was let go.
const (
	tooSlow = "slow" // It did not take what was written in time, or lost its place.
	full    = "full" // There were too many others; it never got in.
)

// newMetrics returns the metrics, registered where there is a registry.
func newMetrics(registry prometheus.Registerer, readers func() int) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fusebox_http_requests_total", Help: "Requests answered, by the operation and the status.",
		}, []string{"operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fusebox_http_request_seconds", Help: "Time from a request to the end of its answer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8), NativeHistogramBucketFactor: 1.1,
			NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"operation"}),
		readers: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fusebox_stream_readers", Help: "Who reads the stream of events now.",
		}, func() float64 { return float64(readers()) }),
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fusebox_stream_events_total", Help: "Events written to readers of the stream, all readers together.",
		}),
		let: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fusebox_stream_refused_total",
			Help: "Readers of the stream that were let go as too slow, or not let in as there were too many.",
		}, []string{"reason"}),
	}
	m.let.WithLabelValues(tooSlow)
	m.let.WithLabelValues(full)
	if registry == nil {
		return m, nil
	}
	return m, errors.Join(registry.Register(m.requests), registry.Register(m.seconds), registry.Register(m.readers),
		registry.Register(m.events), registry.Register(m.let))
}

// measured counts what a handler answers. An operation is the pattern that it was registered with, so that nobody adds
// any by asking for odd paths.
func (m *metrics) measured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		took := httpsnoop.CaptureMetrics(next, w, r)
		operation := r.Pattern // Set by the mux, in the request that it was given.
		if operation == "" || operation == "/" {
			operation = "none"
		}
		m.requests.WithLabelValues(operation, strconv.Itoa(took.Code)).Inc()
		m.seconds.WithLabelValues(operation).Observe(took.Duration.Seconds())
	})
}
