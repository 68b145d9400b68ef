package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/fusebox-project/fusebox/processor/kafka"
)

// stalled is how long a processor may commit nothing before a bench gives up.
const stalled = time.Minute

// moment is how far a processor was, and what this process had used.
type moment struct {
	at       time.Time
	handled  int64
	cpu      time.Duration
	resident float64 // Bytes.
}

// throughput waits until the group has committed all outcomes. The processor began at the given time; it had to join
// the group first.
func (b *bench) throughput(ctx context.Context, loop *kafka.Loop, began time.Time) (*throughput, error) {
	bar := b.bar("handling them", b.outcomes)
	self := newSelf()
	first := moment{at: began, cpu: self.cpu()}
	last, half, peak := first, moment{}, 0.0
	moved := began
	for last.handled < int64(b.outcomes) || !loop.Ready().Ready {
		pause(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		handled, err := b.site.handled(ctx)
		if err != nil {
			return nil, err
		}
		now := moment{time.Now(), handled, self.cpu(), self.resident()}
		if now.handled > last.handled {
			moved = now.at
		} else if now.at.Sub(moved) > stalled {
			return nil, fmt.Errorf("nothing was committed for %v, at %d of %s: %s", stalled, now.handled,
				count(b.outcomes, "outcome", "outcomes"), strings.Join(loop.Ready().Missing, "; "))
		}
		if peak = max(peak, now.resident); half.at.IsZero() && 2*now.handled >= int64(b.outcomes) {
			half = now
		}
		if last.handled < int64(b.outcomes) {
			last = now
		}
		_ = bar.Set(int(now.handled))
	}
	if err := bar.Finish(); err != nil || b.outcomes == 0 {
		return nil, err
	}
	return &throughput{
		Outcomes: b.outcomes, Seconds: last.at.Sub(began).Seconds(), Whole: between(first, last),
		SecondHalf: between(half, last), PeakMiB: peak / (1 << 20),
	}, nil
}

// between returns the speed from one moment to another.
func between(from, to moment) speed {
	n := float64(to.handled - from.handled)
	if n == 0 {
		return speed{}
	}
	return speed{
		PerSecond: n / to.at.Sub(from.at).Seconds(), CPUMicros: float64((to.cpu - from.cpu).Microseconds()) / n,
	}
}

// handled returns how many outcomes the group has committed.
func (s *benchSite) handled(ctx context.Context) (n int64, err error) {
	offsets, err := s.admin.FetchOffsetsForTopics(ctx, s.group, s.topics.Outcomes)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !kerr.IsRetriable(err) {
		return 0, fmt.Errorf("ask how far group %s is: %w", s.group, err)
	}
	for _, p := range offsets[s.topics.Outcomes] {
		n += max(p.At, 0)
	}
	return n, nil
}

// self tells what this process uses, as Prometheus would be told.
type self struct{ registry *prometheus.Registry }

func newSelf() self {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return self{registry}
}

// cpu returns the time that this process has computed; 0 where the system does not tell.
func (s self) cpu() time.Duration {
	return time.Duration(s.value("process_cpu_seconds_total") * float64(time.Second))
}

// resident returns the bytes of memory that this process has; 0 where the system does not tell.
func (s self) resident() float64 { return s.value("process_resident_memory_bytes") }

func (s self) value(name string) float64 {
	families, err := s.registry.Gather()
	if err != nil {
		return 0
	}
	for _, family := range families {
		if family.GetName() == name {
			m := family.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return 0
}
