// Package client is what other programs import: routers, that ask before a call whether a route may be taken, and
// producers, that say how an answer was. A Gate asks nobody: it follows the circuits' states in Kafka, and Enter is a
// read of memory. A Local does the same in one process, without Kafka. Nothing here takes a prompt or an answer.
package client

import (
	"context"

	"github.com/fusebox-project/fusebox/schemas"
)

// Breaker is what Guard, Wrap and Fallback ask: a Gate, or a LocalGate. A program that begins with Local moves to Kafka
// where it makes it: Open wants brokers and a context, and returns an error.
type Breaker interface {
	// Enter admits a call to a circuit, or returns a *RefusedError. Every lease wants one Report or Release.
	Enter(ctx context.Context, circuit string) (Lease, error)
	// State returns a circuit as it is now, and has no side effect.
	State(circuit string) State
	// Resume tells whether the admission of a stored lease still stands, and Lease returns it: see Lease.Ticket.
	Resume(ctx context.Context, ticket string) error
	Lease(ticket string) (Lease, error)
	// Routes returns where to go while a circuit refuses, as the policies in force have it. Callers must not change it.
	Routes() []schemas.Route
	// Close sends what waits to be sent, and ends what runs. Leases are dead afterwards.
	Close() error
}
