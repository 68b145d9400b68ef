package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// ErrEvaluator says that the evaluator failed, and nothing is known about the answer.
var ErrEvaluator = errors.New("the evaluator failed")

// attempt is one call through a circuit, from its admission to its report.
type attempt struct {
	lease Lease
	from  string // The circuit whose work this is, where that is another.
	began time.Time

	latency time.Duration
	verdict Outcome // What end reports: of a panic, until something else is known.
	release bool    // There is no verdict.
	unused  bool    // The call was never made.
	done    bool    // It ended by a return.
	kept    bool    // It has not ended: a stream goes on with it.
}

// panicked is the reason code of a call, or of an evaluator, that panicked.
const panicked = "panic"

// begin enters the circuit. Whoever gets an attempt calls end, deferred.
func begin(ctx context.Context, b Breaker, circuit, from string) (*attempt, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	lease, err := b.Enter(ctx, circuit)
	if err != nil {
		return nil, err
	}
	verdict := Outcome{Kind: TransportFailure, ReasonCode: panicked}
	return &attempt{lease: lease, from: from, began: time.Now(), verdict: verdict}, nil
}

// end gives the lease back, once, however the call ended: by a return, a panic, or the end of the goroutine, which says
// nothing about the route. It must be deferred itself.
func (a *attempt) end(ctx context.Context) {
	switch {
	case a.kept:
		return
	case a.done:
		a.settle()
		return
	}
	fault := recover()
	a.release = a.release || fault == nil || ctx.Err() != nil
	a.settle()
	if fault != nil {
		panic(fault)
	}
}

// settle reports or releases. What becomes of the report is no matter for who wants the answer: what is lost on the
// way, the reporter counts.
func (a *attempt) settle() {
	switch {
	case a.unused:
		_ = a.lease.Unused()
	case a.release:
		_ = a.lease.Release()
	default:
		o := a.verdict
		if o.Latency == 0 {
			o.Latency = a.latency
		}
		if o.FallbackFrom == "" {
			o.FallbackFrom = a.from
		}
		_ = a.lease.Report(o)
	}
}

// called says that the call has ended. A panic from now on is the evaluator's.
func (a *attempt) called() {
	a.latency = time.Since(a.began)
	a.verdict = Outcome{Kind: EvaluatorError, ReasonCode: panicked}
}

// failed judges a call by its error, and returns the error for the caller.
func (a *attempt) failed(ctx, callCtx context.Context, err error) error {
	a.done = true
	var rejected *RejectedError
	switch {
	case callerEnded(ctx, err):
		a.release = true
		return err
	case errors.Is(err, ErrRefused):
		a.unused = true
		return err
	case errors.As(err, &rejected) && a.sound(&rejected.Outcome) == nil:
		a.verdict = rejected.Outcome
	default:
		a.verdict = Outcome{Kind: TransportFailure}
	}
	if bare, ok := err.(*RejectedError); ok && bare.Circuit == "" {
		err = &RejectedError{Circuit: a.lease.circuit, Outcome: bare.Outcome, Err: bare.Err}
	}
	if errors.Is(context.Cause(callCtx), ErrExpired) {
		return fmt.Errorf("%w: %w", ErrExpired, err)
	}
	return err
}

// sound returns what of an outcome cannot be reported.
func (a *attempt) sound(o *Outcome) error {
	_, err := o.record(&a.lease)
	return err
}

// callerEnded tells whether a call failed because its caller's context ended. Errors of clients do not always say so,
// and so any will do. But where the caller cancelled, a deadline that is over was the call's own.
func callerEnded(ctx context.Context, err error) bool {
	switch ctx.Err() {
	case nil:
		return false
	case context.DeadlineExceeded:
		return true
	}
	return !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// judged takes the evaluator's word, and returns the error for the caller.
func (a *attempt) judged(ctx context.Context, outcome Outcome, err error) error {
	a.done = true
	if err == nil {
		err = a.sound(&outcome)
	}
	if err != nil {
		a.verdict, a.release = Outcome{Kind: EvaluatorError}, ctx.Err() != nil
		return fmt.Errorf("%w on the answer of %s: %w", ErrEvaluator, a.lease.circuit, err)
	}
	a.verdict = outcome
	if schemas.SameKind(outcome.Kind, Accepted) {
		return nil
	}
	return &RejectedError{Circuit: a.lease.circuit, Outcome: outcome}
}
