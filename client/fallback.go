package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Stage is how one circuit of a route chain is called, and what judges its answers: nil for what judges those of all
// that have none of their own.
type Stage[T any] struct {
	Call     func(context.Context) (T, error)
	Evaluate func(context.Context, T) (Outcome, error)
}

// Errors that say that the policies and the program do not fit each other.
var (
	ErrNoRoute = errors.New("the policies in force have no route")
	ErrNoStage = errors.New("the program has no call for it")
)

// Fallback goes along the route chain of a use case, as the policies in force have it, until an answer is accepted.
// Each circuit has a Stage, by its name, and is called as by Guard. After a refusal the kind of its cause, and after an
// answer that was not accepted its kind, chooses where to go on: what by_cause lists for it takes the place of what is
// left of the chain. No circuit is tried twice. Outcomes name the head of the chain as the circuit whose work it was.
//
// It stops where ctx ends. When nothing is left it returns a *FallbackError. It panics where a stage has no Call, or
// nothing that evaluates.
func Fallback[T any](
	ctx context.Context, b Breaker, useCase string,
	stages map[string]Stage[T], evaluate func(context.Context, T) (Outcome, error),
) (T, error) {
	var none T
	must(b != nil, "Fallback", "wants a Breaker")
	for circuit, stage := range stages {
		if stage.Call == nil || stage.Evaluate == nil && evaluate == nil {
			must(false, "Fallback", "wants a Call for "+circuit+", and what evaluates its answers")
		}
	}
	route, err := routeOf(b.Routes(), useCase)
	if err != nil {
		return none, err
	}
	failure := &FallbackError{UseCase: useCase, Otherwise: route.Otherwise}
	for next := route.Chain; len(next) > 0; {
		circuit := next[0]
		next = next[1:]
		if failure.has(circuit) {
			continue
		}
		stage, ok := stages[circuit]
		if !ok {
			failure.add(circuit, ErrNoStage)
			continue
		}
		if stage.Evaluate == nil {
			stage.Evaluate = evaluate
		}
		from := ""
		if circuit != route.Chain[0] {
			from = route.Chain[0]
		}
		answer, err := guarded(ctx, b, circuit, from, stage.Call, stage.Evaluate)
		if err == nil {
			return answer, nil
		}
		failure.add(circuit, err)
		if ctx.Err() != nil {
			break
		}
		next = route.Instead(causeOf(err), next)
	}
	return none, failure
}

// routeOf returns the route of a use case.
func routeOf(routes []schemas.Route, useCase string) (*schemas.Route, error) {
	var known []string
	for i := range routes {
		if routes[i].UseCase == useCase {
			return &routes[i], nil
		}
		known = append(known, routes[i].UseCase)
	}
	if near := breaker.Nearest(useCase, known); near != "" {
		return nil, fmt.Errorf("%w for use case %s; did you mean %s?", ErrNoRoute, useCase, near)
	}
	return nil, fmt.Errorf("%w for use case %s, and %d for others", ErrNoRoute, useCase, len(known))
}

// causeOf returns the kind by which a route goes on after an error of guarded, "" where no kind is to blame.
func causeOf(err error) string {
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		if refused.Cause == nil {
			return ""
		}
		return refused.Cause.Kind
	}
	if rejected := (*RejectedError)(nil); errors.As(err, &rejected) {
		return rejected.Outcome.Kind
	}
	if errors.Is(err, ErrEvaluator) {
		return EvaluatorError
	}
	return TransportFailure
}

// FallbackError says that no circuit of a route gave an accepted answer: what was tried, and why it was not the one.
type FallbackError struct {
	UseCase string
	Tried   []Tried // In that order.
	// RetryAfter is the least of those that refused: how long to wait before asking again. It is 0 where none refused,
	// or where nobody can say.
	RetryAfter time.Duration
	Otherwise  string // What the policy says to do then, such as human-review.
}

// Tried is one circuit that gave no accepted answer, and why.
type Tried struct {
	Circuit string
	Err     error
}

func (e *FallbackError) has(circuit string) bool {
	return slices.ContainsFunc(e.Tried, func(t Tried) bool { return t.Circuit == circuit })
}

func (e *FallbackError) add(circuit string, err error) {
	e.Tried = append(e.Tried, Tried{circuit, err})
	var refused *RefusedError
	if errors.As(err, &refused) && refused.RetryAfter > 0 && (e.RetryAfter == 0 || refused.RetryAfter < e.RetryAfter) {
		e.RetryAfter = refused.RetryAfter
	}
}

// Unwrap returns why each circuit was not the one.
func (e *FallbackError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, t := range e.Tried {
		errs[i] = t.Err
	}
	return errs
}

// Error says in words what was tried and why, and what to do then.
func (e *FallbackError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no route of %s gave an accepted answer:", e.UseCase)
	for i, t := range e.Tried {
		fmt.Fprintf(&b, " (%d) %s", i+1, t)
	}
	if e.Otherwise != "" {
		b.WriteString("; otherwise " + e.Otherwise)
	}
	return b.String()
}

// String says why the circuit was not the one, and names it.
func (t Tried) String() string {
	text := t.Err.Error()
	if strings.Contains(text, t.Circuit) {
		return text
	}
	return t.Circuit + ": " + text
}
