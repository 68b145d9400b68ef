package offsets_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/internal/offsets"
)

// TestOffsets asks for the offsets of a topic whose last record is in a transaction that is open.
func TestOffsets(t *testing.T) {
	const topic = "t"
	cluster := kafkatest.NewLoopback(t)
	cluster.Create(t, 2, nil, topic)
	noon := time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)
	cluster.ProduceTo(t, &kgo.Record{Topic: topic, Timestamp: noon},
		&kgo.Record{Topic: topic, Timestamp: noon.Add(time.Hour)})
	writer := cluster.Client(t, kgo.TransactionalID("open"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := writer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	last := &kgo.Record{Topic: topic, Timestamp: noon.Add(2 * time.Hour)}
	if err := writer.ProduceSync(t.Context(), last).FirstErr(); err != nil {
		t.Fatal(err)
	}

	at := func(at time.Time) func(context.Context, *kadm.Client, string) (map[int32]int64, error) {
		return func(ctx context.Context, admin *kadm.Client, topic string) (map[int32]int64, error) {
			return offsets.At(ctx, admin, topic, at)
		}
	}
	admin := kadm.NewClient(cluster.Client(t))
	for _, tt := range []struct {
		name  string
		ask   func(context.Context, *kadm.Client, string) (map[int32]int64, error)
		first int64 // Of partition 0; the other is empty.
		words string
	}{
		{"Starts", offsets.Starts, 0, "ask for the start of none: "},
		{"Ends", offsets.Ends, 3, "ask for the end of none: "},
		{"Committed", offsets.Committed, 2, "ask for the end of none: "},
		{"At a record", at(noon.Add(time.Hour)), 1, "ask for the offsets at 2026-09-14T13:00:00Z of none: "},
		{"At after all", at(noon.Add(9 * time.Hour)), 3, "ask for the offsets at 2026-09-14T21:00:00Z of none: "},
	} {
		got, err := tt.ask(t.Context(), admin, topic)
		if want := map[int32]int64{0: tt.first, 1: 0}; err != nil || !maps.Equal(got, want) {
			t.Errorf("%s = %v, %v, want %v", tt.name, got, err, want)
		}
		_, err = tt.ask(t.Context(), admin, "none")
		if !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.HasPrefix(err.Error(), tt.words) {
			t.Errorf("%s of a topic that is not there = %v, want %q and the brokers' answer", tt.name, err, tt.words)
		}
	}
}
