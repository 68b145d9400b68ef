package client

import (
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Reporter sends outcomes, each as a record of its own.
type Reporter struct {
	kafka  *kgo.Client
	config Config
}

func newReporter(kafka *kgo.Client, c Config) *Reporter { return &Reporter{kafka, c} }

// send writes an outcome and waits for nobody.
func (r *Reporter) send(l Lease, o Outcome) error {
	out, err := o.record(&l)
	if err != nil {
		return fmt.Errorf("report an outcome of %s: %w", l.circuit, err)
	}
	out.Source = r.config.Router
	if out.ID == "" {
		out.ID = ulid.Make().String()
	}
	if out.Time.IsZero() {
		out.Time = time.Now().UTC().Round(time.Millisecond)
	}
	r.kafka.TryProduce(context.Background(), &kgo.Record{
		Topic: r.config.Topics.Outcomes, Key: []byte(l.circuit), Value: schemas.AppendOutcome(nil, &out),
	}, nil)
	return nil
}

func (r *Reporter) learn(*breaker.Policies) {}

func (r *Reporter) flush(context.Context) error { return nil }
