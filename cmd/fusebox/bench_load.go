package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// benchLoad writes outcomes.
type benchLoad struct {
	client  *kgo.Client
	topic   string
	written int
	failed  atomic.Pointer[error] // The first record that was not acknowledged.
	waits   brokerWaits
}

func (b *bench) newLoad() (*benchLoad, error) {
	l := &benchLoad{topic: b.site.topics.Outcomes}
	client, err := kgo.NewClient(append(b.config.clientOpts(),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0), kgo.MaxBufferedRecords(50_000),
		kgo.RecordDeliveryTimeout(time.Minute), l.waits.option())...)
	if err != nil {
		return nil, fmt.Errorf("make a Kafka client: %w", err)
	}
	l.client = client
	return l, nil
}

// send writes one outcome of now; acked, which may be nil, is called when the brokers have it.
func (l *benchLoad) send(ctx context.Context, circuit, kind string, acked func()) {
	l.written++
	o := schemas.Outcome{
		ID: fmt.Sprintf("01J%023d", l.written), Circuit: circuit, Kind: kind, Count: 1, Time: time.Now(),
		LatencyMS: rand.Int64N(400), InputTokens: 4808, OutputTokens: 212, CostMicros: 15_300,
		Provider: "azure.ai.openai", Model: "gpt-4o-2024-08-06", Source: "fusebox-bench",
		Evaluator: schemas.Evaluator{Name: "evidence-verifier", Version: "1.4.0"},
	}
	record := &kgo.Record{Topic: l.topic, Key: []byte(circuit), Value: schemas.AppendOutcome(nil, &o)}
	l.client.Produce(ctx, record, func(_ *kgo.Record, err error) {
		switch {
		case err != nil:
			l.failed.CompareAndSwap(nil, &err)
		case acked != nil:
			acked()
		}
	})
}

// flush waits until the brokers have all outcomes.
func (l *benchLoad) flush(ctx context.Context) error {
	if err := l.client.Flush(ctx); err != nil {
		return err
	}
	if err := l.failed.Load(); err != nil {
		return fmt.Errorf("write outcomes: %w", *err)
	}
	return nil
}

// route names a circuit of the load.
func route(i int) string { return fmt.Sprintf("bench:route-%06d:v1", i) }

// fill writes the outcomes that are then handled as fast as possible. A twentieth are failures; one circuit in a
// hundred fails nine times in ten at first, and trips if it has outcomes enough.
func (b *bench) fill(ctx context.Context, l *benchLoad) error {
	bar := b.bar("writing outcomes", b.outcomes)
	for i := range b.outcomes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		circuit, share := rand.IntN(b.circuits), 0.05
		if circuit%100 == 7 && i < b.outcomes/5 {
			share = 0.9
		}
		kind := schemas.Accepted
		if rand.Float64() < share {
			kind = schemas.MissingEvidence
		}
		l.send(ctx, route(circuit), kind, nil)
		if i%1000 == 0 {
			_ = bar.Set(i)
		}
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	return bar.Finish()
}

// bar returns a progress bar, which is seen on a terminal only; elsewhere a line says what goes on.
func (b *bench) bar(what string, most int) *progressbar.ProgressBar {
	seen := isTerminal(b.out)
	if !seen && most > 0 {
		fmt.Fprintf(b.out, "%s\n", what)
	}
	return progressbar.NewOptions(most,
		progressbar.OptionSetWriter(b.out), progressbar.OptionSetVisibility(seen && most > 0),
		progressbar.OptionSetDescription(what), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(20), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
}
