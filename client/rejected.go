package client

import (
	"errors"
	"strings"
)

// ErrRejected is what every RejectedError unwraps to.
var ErrRejected = errors.New("the answer was not accepted")

// RejectedError says that a call was made and its answer was not accepted, and how it was judged. A call may return one
// of its own, of which Outcome and Err are enough: see Guard.
type RejectedError struct {
	Circuit string
	Outcome Outcome
	Err     error // Of the call, where it has one to tell. Its text is shown, so it has no prompt and no answer in it.
}

// Unwrap returns ErrRejected, and the call's error.
func (e *RejectedError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrRejected}
	}
	return []error{ErrRejected, e.Err}
}

// Error says in words how the answer was judged.
func (e *RejectedError) Error() string {
	var b strings.Builder
	if e.Circuit != "" {
		b.WriteString(e.Circuit + " ")
	}
	b.WriteString("gave no accepted answer: " + e.Outcome.Kind)
	for _, more := range []string{e.Outcome.ReasonCode, e.Outcome.Reason} {
		if more != "" {
			b.WriteString(", " + more)
		}
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}
