package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// writeWithin is how long the brokers may take to have what is written.
const writeWithin = 10 * time.Second

// signal writes a signal and returns where it stands.
func (c *Console) signal(ctx context.Context, s *schemas.Signal) (*kgo.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	r := &kgo.Record{Topic: c.config.Topics.Signals, Key: []byte(s.Circuit), Value: schemas.AppendSignal(nil, s)}
	written, err := c.client.ProduceSync(ctx, r).First()
	if err != nil {
		return nil, fmt.Errorf("write a %s of %s to %s: %w", s.Type, s.Circuit, r.Topic, err)
	}
	return written, nil
}

// errSilent says that no processor has answered in time.
var errSilent = errors.New("no processor has answered in time")

// await waits until the state of a circuit shows what came of a signal: its inputs are past it, or done says so. A
// signal that changes nothing makes no record, so that the time may be over for that.
func (c *Console) await(ctx context.Context, signal *kgo.Record, circuit string, within time.Duration) (
	schemas.State, error,
) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		changed := c.view.await()
		s, known, err := c.view.state(circuit, time.Now())
		if err == nil && known && s.Inputs.Signals > signal.Offset {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, errSilent
		}
	}
}
