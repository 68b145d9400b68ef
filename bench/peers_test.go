// Package bench measures what one allowed call through a closed circuit costs, in Fusebox's gate and beside it in two
// circuit breakers that live in one process. It is a module of its own: Fusebox does not depend on them.
package bench

import (
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"
)

// inParallel measures one call with a goroutine for each processor: see -cpu.
func inParallel(b *testing.B, call func() error) {
	b.Helper()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func succeed() error { return nil }

func rolling() gobreaker.Settings {
	return gobreaker.Settings{
		Interval: time.Minute, BucketPeriod: time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 20 && c.TotalFailures*2 >= c.Requests },
	}
}

func BenchmarkGobreakerExecute(b *testing.B) {
	breaker := gobreaker.NewCircuitBreaker[int](rolling())
	inParallel(b, func() error {
		_, err := breaker.Execute(func() (int, error) { return 1, nil })
		return err
	})
}

func BenchmarkGobreakerTwoStep(b *testing.B) {
	breaker := gobreaker.NewTwoStepCircuitBreaker[int](rolling())
	inParallel(b, func() error {
		done, err := breaker.Allow()
		if err == nil {
			done(nil)
		}
		return err
	})
}

func failsafeBreaker() circuitbreaker.CircuitBreaker[any] {
	return circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 20, time.Minute).Build()
}

func BenchmarkFailsafeExecutor(b *testing.B) {
	executor := failsafe.With[any](failsafeBreaker())
	inParallel(b, func() error { return executor.Run(succeed) })
}

func BenchmarkFailsafePermit(b *testing.B) {
	breaker := failsafeBreaker()
	inParallel(b, func() error {
		if !breaker.TryAcquirePermit() {
			return circuitbreaker.ErrOpen
		}
		breaker.RecordSuccess()
		return nil
	})
}

// What only asks whether a call may go.

func BenchmarkAskGobreaker(b *testing.B) {
	breaker := gobreaker.NewCircuitBreaker[int](rolling())
	inParallel(b, func() error {
		if breaker.State() != gobreaker.StateClosed {
			return gobreaker.ErrOpenState
		}
		return nil
	})
}

func BenchmarkAskFailsafe(b *testing.B) {
	breaker := failsafeBreaker()
	inParallel(b, func() error {
		if !breaker.TryAcquirePermit() {
			return circuitbreaker.ErrOpen
		}
		return nil
	})
}
