package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// How long a signal may wait to be sent. One that comes later would find another world: nobody waits for the lease of a
// claim any more. It is not less, as a signal that is given up on its way breaks off the request that it is in.
const (
	claimPatience   = time.Second
	releasePatience = 10 * time.Second
)

// sendClaim asks for a lease.
func (g *Gate) sendClaim(p *prober, s *schemas.State) {
	g.counts.claims.Add(1)
	claim := schemas.Signal{
		Type: schemas.Claim, Circuit: p.circuit, Holder: g.config.Router, Lease: p.ask(s.Epoch),
		Epoch: s.Epoch, HasEpoch: true,
	}
	_ = g.send(&claim, max(claimPatience, g.config.ProbeWait)) // What cannot be sent is not answered, and counted.
}

// free gives a lease back.
func (g *Gate) free(circuit, lease string, unused bool) error {
	release := schemas.Signal{Type: schemas.Release, Circuit: circuit, Lease: lease, Unused: unused}
	return g.send(&release, releasePatience)
}

// send writes a signal, and waits for nobody. The error says that there is no room for it.
func (g *Gate) send(s *schemas.Signal, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	refused := make(chan error, 1)
	record := &kgo.Record{Topic: g.config.Topics.Signals, Key: []byte(s.Circuit), Value: schemas.AppendSignal(nil, s)}
	g.kafka.TryProduce(ctx, record, func(_ *kgo.Record, err error) {
		cancel()
		refused <- err
		if err != nil {
			g.lost(s, err)
		}
	})
	select {
	case err := <-refused:
		if err != nil {
			return fmt.Errorf("%s a lease of %s: %w", s.Type, s.Circuit, err)
		}
	default:
	}
	return nil
}

// lost notes that a signal could not be sent.
func (g *Gate) lost(s *schemas.Signal, err error) {
	g.counts.signalsLost.Add(1)
	forgetTopic(g.kafka, g.config.Topics.Signals, err)
	if !errors.Is(err, kgo.ErrClientClosed) {
		g.config.Log.Warn("a signal could not be sent", "signal", s.Type, "circuit", s.Circuit, "err", err)
	}
}
