package client

import "context"

// Guard enters a circuit, makes the call, lets evaluate judge its answer and reports that. It returns what call did:
//
//   - An answer that evaluate accepts, and no error.
//   - An answer that it does not accept, and a *RejectedError with the outcome.
//   - The error of a call that failed. It is reported as transport_failure, unless it is a *RejectedError, whose
//     outcome is reported instead: so a call tells a refused key from a lost connection, or how long the provider asks
//     to wait.
//   - A *RefusedError where the circuit refused. The call is not made.
//
// No evidence about the route is: a call that ended because ctx did, be it cancelled or its deadline over (a timeout of
// the call's own, before that, is evidence), which is released, so that no outcome is written, of kind Cancelled
// neither; an error of evaluate, which is reported as evaluator_error and returned
// together with the answer; a call that came to nothing because another circuit refused, in a Guard inside it. A panic
// is reported, a call's as transport_failure, and goes on.
//
// Of a probe's call the context ends when the lease does. The answer may come later all the same, and is no evidence
// then. Guard panics where it is given no breaker, no call or nothing that evaluates.
func Guard[T any](
	ctx context.Context, b Breaker, circuit string,
	call func(context.Context) (T, error), evaluate func(context.Context, T) (Outcome, error),
) (T, error) {
	must(b != nil && call != nil && evaluate != nil, "Guard", "wants a Breaker, a call and an evaluate")
	return guarded(ctx, b, circuit, "", call, evaluate)
}

// Wrap makes of a call, such as a method of a chat client, one of the same shape that is guarded: see Guard. It panics
// where Guard would.
func Wrap[In, Out any](
	b Breaker, circuit string,
	call func(context.Context, In) (Out, error), evaluate func(context.Context, Out) (Outcome, error),
) func(context.Context, In) (Out, error) {
	must(b != nil && call != nil && evaluate != nil, "Wrap", "wants a Breaker, a call and an evaluate")
	return func(ctx context.Context, in In) (Out, error) {
		return Guard(ctx, b, circuit, func(ctx context.Context) (Out, error) { return call(ctx, in) }, evaluate)
	}
}

// must stops a program that calls a function of this package with nothing to call, before anything is entered.
func must(ok bool, function, wants string) {
	if !ok {
		panic("client." + function + " " + wants + ", none of them nil")
	}
}

// guarded is Guard for the work of another circuit, where from is not empty.
func guarded[T any](
	ctx context.Context, b Breaker, circuit, from string,
	call func(context.Context) (T, error), evaluate func(context.Context, T) (Outcome, error),
) (answer T, err error) {
	a, err := begin(ctx, b, circuit, from)
	if err != nil {
		return answer, err
	}
	callCtx, cancel := a.lease.Context(ctx)
	defer cancel()
	defer a.end(ctx)
	answer, err = call(callCtx)
	a.called()
	if err != nil {
		return answer, a.failed(ctx, callCtx, err)
	}
	outcome, err := evaluate(ctx, answer)
	return answer, a.judged(ctx, outcome, err)
}
