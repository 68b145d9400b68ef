package client

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
)

// ErrStreamClosed says that a stream was closed, or ranged over, before.
var ErrStreamClosed = errors.New("the stream was closed or ranged over before")

// Stream is a guarded answer that comes in parts. It must be ranged over or closed.
type Stream[T any] struct {
	run     func(yield func(T, error) bool) error
	cancel  context.CancelFunc
	started atomic.Bool
	closed  atomic.Bool
}

// GuardStream enters a circuit and opens a stream through it: Guard for an answer that comes in parts. It is judged
// at its end, by evaluate, that gets all parts in their order; its latency is that of the whole.
//
// A stream that ends with an error was cut short: that is a failure of the route, as is an error of open. One that its
// reader left, by breaking off the range or by Close, is no evidence, and neither is one whose context ended.
func GuardStream[T any](
	ctx context.Context, b Breaker, circuit string,
	open func(context.Context) (iter.Seq2[T, error], error), evaluate func(context.Context, []T) (Outcome, error),
) (*Stream[T], error) {
	must(b != nil && open != nil && evaluate != nil, "GuardStream", "wants a Breaker, an open and an evaluate")
	a, err := begin(ctx, b, circuit, "")
	if err != nil {
		return nil, err
	}
	callCtx, cancel := a.lease.Context(ctx)
	s := &Stream[T]{cancel: cancel}
	defer func() {
		if !a.kept {
			cancel()
		}
	}()
	defer a.end(ctx)
	parts, err := open(callCtx)
	if err != nil {
		a.called()
		return nil, a.failed(ctx, callCtx, err)
	}
	a.kept = true
	s.run = func(yield func(T, error) bool) error {
		a.kept = false
		defer cancel()
		defer a.end(ctx)
		all, err := s.read(a, parts, yield)
		switch {
		case a.done:
			return nil
		case s.closed.Load():
			a.done, a.release = true, true
			return ErrStreamClosed
		}
		a.called()
		if err != nil {
			return a.failed(ctx, callCtx, err)
		}
		outcome, err := evaluate(ctx, all)
		return a.judged(ctx, outcome, err)
	}
	return s, nil
}

// read passes the parts on, and returns them all, or why they ended too early. Where the reader has enough, the attempt
// is done, and released; while it has the word, a panic is its own.
func (s *Stream[T]) read(a *attempt, parts iter.Seq2[T, error], yield func(T, error) bool) (all []T, err error) {
	for part, err := range parts {
		if err != nil {
			return nil, err
		}
		all = append(all, part)
		a.release = true
		if !yield(part, nil) {
			a.done = true
			return nil, nil
		}
		a.release = false
	}
	return all, nil
}

// All returns the parts as they come. After the last one, an error tells that the answer was cut short, or is the
// *RejectedError of one that was not accepted. It can be ranged over once.
func (s *Stream[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := ErrStreamClosed
		if s.started.CompareAndSwap(false, true) {
			err = s.run(yield)
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// Close ends the stream, and does nothing where it has ended. One that nobody has ranged over is begun and broken off,
// so that what it holds is freed.
func (s *Stream[T]) Close() error {
	s.closed.Store(true)
	s.cancel()
	if s.started.CompareAndSwap(false, true) {
		_ = s.run(func(T, error) bool { return false })
	}
	return nil
}
