package kafkatest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/offsets"
)

// Produce writes records and waits for all of them. A record goes to the partition that murmur2 of its key chooses.
func (e Endpoint) Produce(t testing.TB, records ...*kgo.Record) {
	t.Helper()
	e.produce(t, records)
}

// ProduceTo writes records to the partition that each of them names, as a producer with a partitioner of its own
// would, and waits for all of them.
func (e Endpoint) ProduceTo(t testing.TB, records ...*kgo.Record) {
	t.Helper()
	e.produce(t, records, kgo.RecordPartitioner(kgo.ManualPartitioner()))
}

func (e Endpoint) produce(t testing.TB, records []*kgo.Record, more ...kgo.Opt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	more = append(more, kgo.ProducerLinger(0), kgo.AllowIdempotentProduceCancellation())
	if err := e.Client(t, more...).ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatalf("produce %d records: %v", len(records), err)
	}
}

// ReadCommitted returns what a read_committed consumer sees of a topic, from its start to the last stable offsets of
// now, ordered by partition and offset. Markers are left out.
func (e Endpoint) ReadCommitted(t testing.TB, topic string) []*kgo.Record {
	t.Helper()
	return e.read(t, topic, func(r *kgo.Record) bool { return !r.Attrs.IsControl() })
}

// HasAborted tells whether a topic holds the marker of a transaction that was aborted.
func (e Endpoint) HasAborted(t testing.TB, topic string) bool {
	t.Helper()
	aborts := []byte{0, 0, 0, 0} // The version of the marker, and its type.
	return len(e.read(t, topic, func(r *kgo.Record) bool {
		return r.Attrs.IsControl() && bytes.Equal(r.Key, aborts)
	})) > 0
}

// read returns what stands up to the last stable offsets and is wanted, in order.
func (e Endpoint) read(t testing.TB, topic string, wanted func(*kgo.Record) bool) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	admin := kadm.NewClient(e.Client(t))
	starts, err := offsets.Starts(ctx, admin, topic)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := offsets.Committed(ctx, admin, topic)
	if err != nil {
		t.Fatal(err)
	}
	from, left := make(map[int32]kgo.Offset), make(map[int32]int64)
	for partition, end := range ends {
		if start := starts[partition]; start < end {
			from[partition], left[partition] = kgo.NewOffset().At(start), end
		}
	}
	records := e.readTo(ctx, t, topic, from, left, wanted)
	slices.SortFunc(records, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return records
}

// readTo reads the partitions until each has shown the offset before its end, which is a record or a marker: a
// transaction, an aborted one too, leaves a marker behind its records.
func (e Endpoint) readTo(
	ctx context.Context, t testing.TB, topic string, from map[int32]kgo.Offset, left map[int32]int64,
	wanted func(*kgo.Record) bool,
) []*kgo.Record {
	t.Helper()
	if len(left) == 0 {
		return nil
	}
	client := e.Client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	var records []*kgo.Record
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("read %s: %v; not reached: %v (partition to end offset)", topic, err, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, reads := left[r.Partition]
			if reads && wanted(r) {
				records = append(records, r)
			}
			if r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		})
	}
	return records
}

// isMarker tells whether an offset holds the marker of a transaction.
func (e Endpoint) isMarker(t testing.TB, topic string, partition int32, offset int64) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := e.Client(t, kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		topic: {partition: kgo.NewOffset().At(offset)},
	}))
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("read offset %d of %s/%d: %v", offset, topic, partition, err)
		}
		for r := range fetches.RecordsAll() {
			return r.Offset == offset && r.Attrs.IsControl()
		}
	}
}
