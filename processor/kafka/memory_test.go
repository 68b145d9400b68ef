package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestTenTimesTheResidentCircuits works through ten times as many circuits as may stay in memory, three times over:
// after each transaction no more stay than may, all are known, and each of them has counted what came for it.
func TestTenTimesTheResidentCircuits(t *testing.T) {
	const most, circuits, rounds = 500, 5_000, 3
	cluster := kafkatest.NewLoopback(t)
	names := TopicsWithPrefix("m.")
	cluster.CreateTopics(t, "m.", 4)
	l, err := New(Config{
		Group: "memory", Instance: "a", Topics: names, Client: cluster.Opts(), DataDir: t.TempDir(), Workers: 2,
		MaxResident: most, Policies: thirdFailureOpens(t),
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	wait(t, "shared by the workers", func() bool { // What a circuit has counted goes where its pair goes.
		owners := map[string]int{}
		for partition := range int32(4) {
			owners[l.status.worker(partition)]++
		}
		return owners["memory-a-0"] == 2 && owners["memory-a-1"] == 2
	})
	for round := range rounds {
		var records []*kgo.Record
		for i := range circuits {
			o := schemas.Outcome{ID: fmt.Sprint(round, i), Circuit: fmt.Sprintf("case:route-%d:v1", i), Count: 1}
			o.Kind = schemas.MissingEvidence
			records = append(records, &kgo.Record{
				Topic: names.Outcomes, Key: []byte(o.Circuit), Value: schemas.AppendOutcome(nil, &o),
			})
		}
		cluster.Produce(t, records...)
		wait(t, "handled", func() bool {
			handled := l.metrics.records.WithLabelValues(names.Outcomes, "handled")
			return value(t, handled) == float64((round+1)*circuits)
		})
		wait(t, "few in memory", func() bool { return l.resident.Load() <= most })
	}
	if got := l.known.Load(); got != circuits {
		t.Errorf("%d circuits are known, want %d", got, circuits)
	}
	wait(t, "open, each of them", func() bool { return total(t, l.metrics.trips) == circuits })
}

// thirdFailureOpens returns policies under which it takes all that a circuit counts here to open it.
func thirdFailureOpens(t *testing.T) *breaker.Policies {
	t.Helper()
	p, err := breaker.Read("test.yaml", []byte(`version: 1
policies:
- {name: third, match: ["*"], rules: [{name: third-failure, type: count, threshold: 3, window: 1h}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// total returns the sum over all label values.
func total(t *testing.T, m prometheus.Collector) (sum float64) {
	t.Helper()
	all := make(chan prometheus.Metric)
	go func() {
		defer close(all)
		m.Collect(all)
	}()
	for one := range all {
		sum += value(t, one)
	}
	return sum
}

// wait waits in real time for what a test waits for.
func wait(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for began := time.Now(); !ask(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("not %s after two minutes", what)
		}
	}
}

// TestRoomForABatch asks for room as the client does, before it looks at what a batch says of itself.
func TestRoomForABatch(t *testing.T) {
	var m memory
	for _, tt := range []struct {
		name   string
		packed []byte
		codec  kgo.CompressionCodecType
		want   int
	}{
		{"snappy says how large it is", binary.AppendUvarint(nil, 5_000), kgo.CodecSnappy, 8_192},
		{"just as large", binary.AppendUvarint(nil, 8_192), kgo.CodecSnappy, 8_192},
		{"larger than anything may be", binary.AppendUvarint(nil, 1<<40), kgo.CodecSnappy, 0},
		{"snappy that says nothing", []byte{255, 255}, kgo.CodecSnappy, 1},
		{"Java's own framing", append(bytes.Clone(xerial), make([]byte, 1_016)...), kgo.CodecSnappy, 4_096},
		{"another codec", make([]byte, 1_024), kgo.CodecZstd, 4_096},
	} {
		if got := cap(m.GetDecompressBytes(tt.packed, tt.codec)); got != tt.want {
			t.Errorf("%s: room for %d bytes, want %d", tt.name, got, tt.want)
		}
	}
}
