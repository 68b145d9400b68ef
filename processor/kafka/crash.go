package kafka

import (
	"errors"
	"time"
)

// errCrash ends a worker as if its process had been killed: nothing more is committed.
var errCrash = errors.New("crash")

// crashes returns the error that ends the process at a point of its life, or nil. Nobody but a test sets any.
func (l *Loop) crashes(point string) error {
	if l.crash == nil {
		return nil
	}
	return l.crash(point)
}

// now returns the time by which this process decides and which it tells others. Nobody but a test sets its clock off.
func (l *Loop) now() time.Time { return time.Now().Add(l.skew) }
