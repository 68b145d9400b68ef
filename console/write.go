package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// writeWithin is how long the brokers may take to have what is written.
const writeWithin = 10 * time.Second

// signals writes signals and returns where they stand.
func (c *Console) signals(ctx context.Context, signals []schemas.Signal) ([]*kgo.Record, error) {
	records := make([]*kgo.Record, len(signals))
	for i := range signals {
		s := &signals[i]
		records[i] = &kgo.Record{
			Topic: c.config.Topics.Signals, Key: []byte(s.Circuit), Value: schemas.AppendSignal(nil, s),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	if err := c.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, fmt.Errorf("the brokers may lack what was said: say it again: %w", err)
	}
	return records, nil
}

// unreached is the answer where the brokers have not done what was to be done.
func unreached(err error) error {
	return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(err.Error()), http.Header{"Retry-After": {"5"}})
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
		case <-c.ended:
			return s, errSilent
		case <-ctx.Done():
			return s, errSilent
		}
	}
}
