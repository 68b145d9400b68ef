package kafka

import "errors"

// errCrash ends a worker as if its process had been killed: nothing more is committed.
var errCrash = errors.New("crash")

// crashes returns the error that ends the worker at a point of its life, or nil. Nobody but a test sets any.
func (w *worker) crashes(point string) error {
	if w.crash == nil {
		return nil
	}
	return w.crash(point)
}
