package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/fusebox-project/fusebox/schemas"
)

// ErrTicket says that a text is no ticket.
var ErrTicket = errors.New("is no ticket of a lease")

// ErrMovedOn says that a circuit has opened, recovered or met an operator since a lease was given: what comes of its
// call says nothing of the route as it is now. Work that goes on enters anew.
var ErrMovedOn = errors.New("the circuit has moved on since")

// ticketForm begins every ticket.
const ticketForm = "fb1"

// Ticket returns the lease as a short text that a workflow can store, to ask Gate.Resume later whether it still stands,
// and to get the lease back with Gate.Lease. The lease itself is not spent by that. Of a call that was admitted before
// the gate knew the circuits, see Config.StartUnready, the ticket is one of epoch 0.
func (l *Lease) Ticket() string {
	deadline := int64(0)
	if l.probe != nil {
		deadline = l.probe.deadline.UnixMilli()
	}
	return fmt.Sprintf("%s/%d/%s/%s/%d/%s", ticketForm, l.epoch, ulid.Make(), l.ID(), deadline, l.circuit)
}

// ticket is what a ticket says.
type ticket struct {
	epoch    int64
	outcome  string // The id of the outcome that it comes to, however often that is reported.
	lease    string // Of a probe.
	deadline time.Time
	circuit  string
}

func readTicket(text string) (ticket, error) {
	var t ticket
	parts := strings.SplitN(text, "/", 6)
	if len(parts) < 6 || parts[0] != ticketForm {
		return t, fmt.Errorf("%q %w", schemas.Cut(text, schemas.MaxText), ErrTicket)
	}
	epoch, err1 := strconv.ParseInt(parts[1], 10, 64)
	deadline, err2 := strconv.ParseInt(parts[4], 10, 64)
	_, err3 := ulid.ParseStrict(parts[2])
	sound := counts(epoch) && counts(deadline) && len(parts[3]) <= schemas.MaxName && shown(parts[3]) == parts[3] &&
		(deadline == 0) == (parts[3] == "")
	if err := errors.Join(err1, err2, err3, schemas.CheckCircuit(parts[5])); err != nil || !sound {
		return t, fmt.Errorf("%q %w", schemas.Cut(text, schemas.MaxText), ErrTicket)
	}
	t = ticket{epoch: epoch, outcome: parts[2], lease: parts[3], circuit: parts[5]}
	if t.lease != "" {
		t.deadline = time.UnixMilli(deadline)
	}
	return t, nil
}

// Resume tells whether the admission of a ticket still stands: nil says that the route was not lost meanwhile. Else the
// error is a *RefusedError where the circuit refuses now, ErrMovedOn where it admits under another epoch, ErrExpired
// too where the lease of a probe is over, or ErrTicket. It waits until the gate is ready, and has no side effect.
func (g *Gate) Resume(ctx context.Context, text string) error {
	t, err := readTicket(text)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := g.Ready(ctx); err != nil {
		return fmt.Errorf("resume work of %s: %w", t.circuit, err)
	}
	s := g.State(t.circuit)
	switch {
	case s.Silent && g.config.OnSilence == RefuseAll:
		return &RefusedError{Circuit: t.circuit, State: s.State.State, Silence: true}
	case s.Silent && g.config.OnSilence == AllowAll:
		return nil
	}
	return t.stands(&s, time.Now())
}

// Resume tells whether the admission of a ticket still stands, as Gate.Resume does. Of tickets from another process it
// knows nothing: their epochs are no longer those of this one.
func (g *LocalGate) Resume(_ context.Context, text string) error {
	t, err := readTicket(text)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	s := g.State(t.circuit)
	return t.stands(&s, g.now())
}

// stands tells why an admission does not stand any more, or nothing.
func (t *ticket) stands(s *State, at time.Time) error {
	if !s.Enforced || leaseOf(&s.State, t.lease) != nil {
		return nil
	}
	switch s.State.State {
	case schemas.Open, schemas.HalfOpen, schemas.ForcedOpen:
		why := refused(&s.State, time.Time{}, time.Time{})
		why.RetryAfter = s.RetryAfter
		if t.lease != "" && !at.Before(t.deadline) {
			return fmt.Errorf("%w, and now %w", ErrExpired, why)
		}
		return why
	}
	if t.epoch != s.Epoch {
		return fmt.Errorf("resume work of %s, which was admitted at epoch %d and is at %d now: %w",
			t.circuit, t.epoch, s.Epoch, ErrMovedOn)
	}
	return nil
}

// Lease returns the lease of a ticket as it was given, whatever has become of the circuit: so that a late result is
// reported under the epoch that its call began in, and told apart where that is over. However often it is reported, in
// this process or another, it is counted once. A lease whose time is over counts for nothing.
func (g *Gate) Lease(text string) (Lease, error) { return ticketed(g, text) }

// Lease returns the lease of a ticket as it was given, as Gate.Lease does.
func (g *LocalGate) Lease(text string) (Lease, error) { return ticketed(g, text) }

// ticketed returns the lease of a ticket, that goes back to where it came from.
func ticketed(to sink, text string) (Lease, error) {
	t, err := readTicket(text)
	if err != nil {
		return Lease{}, err
	}
	l := Lease{circuit: t.circuit, epoch: t.epoch, sink: resumed{to, t.outcome}}
	if t.lease != "" {
		l.probe = &probe{id: t.lease, deadline: t.deadline}
	}
	return l, nil
}

// resumed is where the lease of a ticket goes back to.
type resumed struct {
	sink
	outcome string
}

func (r resumed) report(l Lease, o Outcome) error {
	if o.ID == "" {
		o.ID = r.outcome
	}
	return r.sink.report(l, o)
}
