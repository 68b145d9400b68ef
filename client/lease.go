package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// ErrReported says that a lease was reported or released before. The later call changes nothing.
var ErrReported = errors.New("this lease was reported or released before")

// ErrClosed says that Close was called of a gate, a reporter or a LocalGate: leases are dead.
var ErrClosed = errors.New("the program has closed its gate or reporter")

// ErrNoKind says that an outcome has no kind. A lease that is reported with it is not used up by that.
var ErrNoKind = errors.New("the outcome has no kind")

// Lease is leave for one call: on a closed circuit the epoch under which it was admitted, on one that is probed the
// exclusive right to test it until a deadline. It is a value, and must be reported or released through one copy.
type Lease struct {
	circuit string
	epoch   int64
	spent   uint32 // 1 once it was reported or released.
	plain   bool   // The circuit is closed by its rules and by no operator: see combiner.
	blind   bool   // The gate did not know the circuits yet. There may be a newer epoch, so none is reported.
	slot    *slot  // Of the circuit; nil where a gate did not know it, and in one process.
	probe   *probe // nil for a call through a closed circuit.
	sink    sink
}

// probe is what makes a lease the right to test a route.
type probe struct {
	id       string
	deadline time.Time
	spent    atomic.Bool // Shared by copies of the lease.
}

// sink is where a lease goes back to. It takes values, so that neither lease nor outcome has to be allocated.
type sink interface {
	report(l Lease, o Outcome) error
	release(l Lease, unused bool) error
}

// Circuit returns the name of the circuit that was entered.
func (l *Lease) Circuit() string { return l.circuit }

// Epoch returns the circuit's epoch at admission, as far as it was known: see Config.StartUnready.
func (l *Lease) Epoch() int64 { return l.epoch }

// ID returns the id of a probe's lease, and "" for a call through a closed circuit.
func (l *Lease) ID() string {
	if l.probe == nil {
		return ""
	}
	return l.probe.id
}

// Deadline returns when a probe's lease expires: what is reported later is no evidence. It is the zero time for a call
// through a closed circuit, which has no deadline.
func (l *Lease) Deadline() time.Time {
	if l.probe == nil {
		return time.Time{}
	}
	return l.probe.deadline
}

// Context returns a context for the call that ends when the lease does. Its cause is then ErrExpired.
func (l *Lease) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.probe == nil {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, l.probe.deadline, ErrExpired)
}

// ErrExpired is the cause of a context that ended because its lease did.
var ErrExpired = errors.New("the lease has expired")

// Report says once how the call went. It waits no longer than the configured time. Later calls, and calls after
// Release, change nothing and return ErrReported. An outcome without a kind is as good as no call, and returns
// ErrNoKind. ErrUnknownKind says that the outcome was taken all the same.
func (l *Lease) Report(o Outcome) error {
	if o.Kind == "" {
		return ErrNoKind
	}
	if !l.spend() {
		return ErrReported
	}
	return l.sink.report(l.given(), o)
}

// Release gives the lease back without a verdict: a call that was cancelled is no evidence about the route.
func (l *Lease) Release() error { return l.free(false) }

// Unused gives the lease back as that of a call which was never made.
func (l *Lease) Unused() error { return l.free(true) }

func (l *Lease) free(unused bool) error {
	if !l.spend() {
		return ErrReported
	}
	return l.sink.release(l.given(), unused)
}

// spend marks the lease as used up, and tells whether it was not.
func (l *Lease) spend() bool {
	if l.sink == nil {
		return false // A zero lease: Enter refused.
	}
	if l.probe != nil {
		return l.probe.spent.CompareAndSwap(false, true)
	}
	return atomic.CompareAndSwapUint32(&l.spent, 0, 1)
}

// given returns the lease as it was given, by reading nothing that another goroutine may write.
func (l *Lease) given() Lease {
	return Lease{
		circuit: l.circuit, epoch: l.epoch, plain: l.plain, blind: l.blind, slot: l.slot,
		probe: l.probe, sink: l.sink,
	}
}
