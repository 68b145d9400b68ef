package policytest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// seen is what is to be seen after a step.
type seen struct {
	runner  *runner
	circuit string
	result  processor.Result // Of the last repetition.
	state   schemas.State
	moves   int
}

// Value is what an expectation wants: a word, a number, a truth, a time, nothing, or numbers or words by name.
type Value struct {
	Text   string
	Null   bool
	Truth  bool // Text is "true" or "false", and no word.
	Offset *time.Duration
	Names  []string // In order, with the value of each in Values.
	Values []string
}

// String returns the value as the file has it.
func (v Value) String() string {
	switch {
	case v.Null:
		return "null"
	case v.Names != nil:
		return pairs(v.Names, v.Values)
	case !v.Truth && (v.Text == "null" || v.Text == "true" || v.Text == "false"):
		return strconv.Quote(v.Text) // Names that look like none.
	}
	return v.Text
}

func pairs(names, values []string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name + ": " + values[i])
	}
	return "{" + b.String() + "}"
}

// check compares, and returns what was to be seen in the words of the file.
func (e *Expectation) check(s *seen) (got string, met bool) {
	switch e.Field {
	case "by_kind":
		return e.checkByKind(s)
	case "state_of":
		return e.checkStates(s)
	case "observed":
		return e.checkObserved(s)
	case "degraded":
		return e.checkDegraded(s)
	case "retry_at":
		return e.checkRetryAt(s)
	}
	got, some := e.look(s)
	if !some {
		return "null", e.Want.Null
	}
	return got, !e.Want.Null && got == e.Want.Text
}

// look returns a field that is a word or a whole number, and whether there is one.
func (e *Expectation) look(s *seen) (got string, some bool) {
	switch cause := s.state.Cause; e.Field {
	case "why":
		return s.result.Why.String(), !s.result.Why.Counts() && s.result.Why != processor.NoWhy
	case "override":
		if s.state.Override == nil {
			return "", false
		}
		return s.state.Override.Mode.String(), true
	case "rule":
		if cause == nil {
			return "", false
		}
		return cause.Rule, true
	case "throughput":
		if cause == nil || cause.Throughput == 0 && e.Want.Null {
			return "", false
		}
		return strconv.FormatInt(cause.Throughput, 10), true
	}
	return e.always(s), true
}

// always returns a field that every circuit, or every step of its kind, has.
func (e *Expectation) always(s *seen) string {
	switch e.Field {
	case "state":
		return s.state.State.String()
	case "epoch":
		return strconv.FormatInt(s.state.Epoch, 10)
	case "attempt":
		return strconv.Itoa(s.state.Attempt)
	case "counted":
		return strconv.FormatBool(s.result.Why.Counts())
	case "granted":
		return strconv.FormatBool(s.result.Granted)
	case "enforced":
		return strconv.FormatBool(s.state.Enforced)
	}
	return strconv.Itoa(s.moves)
}

func (e *Expectation) checkByKind(s *seen) (string, bool) {
	if s.state.Cause == nil || len(s.state.Cause.ByKind) == 0 && e.Want.Null {
		return "null", e.Want.Null
	}
	var names, values []string
	for kind := range s.state.Cause.ByKind {
		names = append(names, kind)
	}
	slices.Sort(names)
	for _, kind := range names {
		values = append(values, strconv.FormatInt(s.state.Cause.ByKind[kind], 10))
	}
	got := pairs(names, values)
	return got, got == e.Want.String()
}

func (e *Expectation) checkStates(s *seen) (string, bool) {
	values := make([]string, len(e.Want.Names))
	for i, circuit := range e.Want.Names {
		state := s.runner.state(circuit)
		values[i] = state.State.String()
	}
	return pairs(e.Want.Names, values), slices.Equal(values, e.Want.Values)
}

// checkObserved compares to the last decimal that the file gives, and to a thousandth where it gives fewer.
func (e *Expectation) checkObserved(s *seen) (string, bool) {
	if s.state.Cause == nil || s.state.Cause.Observed == 0 && e.Want.Null {
		return "null", e.Want.Null
	}
	got := s.state.Cause.Observed
	text := strconv.FormatFloat(got, 'f', -1, 64)
	want, err := strconv.ParseFloat(e.Want.Text, 64)
	if err != nil {
		return text, false
	}
	_, decimals, _ := strings.Cut(e.Want.Text, ".")
	places := min(max(len(decimals), 3), 6)
	return text, math.Abs(got-want) <= 0.5*math.Pow10(-places)+1e-9
}

func (e *Expectation) checkDegraded(s *seen) (string, bool) {
	d := s.state.Degraded
	switch {
	case d == nil:
		return "false", e.Want.Null || e.Want.Truth && e.Want.Text == "false"
	case e.Want.Truth && e.Want.Text == "true":
		return "true", true
	}
	return d.Rule, !e.Want.Null && !e.Want.Truth && e.Want.Text == d.Rule
}

func (e *Expectation) checkRetryAt(s *seen) (string, bool) {
	if s.state.RetryAt.IsZero() {
		return "null", e.Want.Null
	}
	offset := s.state.RetryAt.Sub(epoch)
	return fmt.Sprint(offset), e.Want.Offset != nil && *e.Want.Offset == offset
}
