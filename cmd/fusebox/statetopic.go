package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/offsets"
	"github.com/fusebox-project/fusebox/schemas"
)

// known is a circuit's newest record in the state topic.
type known struct {
	schemas.State
	raw []byte // As it was on the wire.
}

// stateTopic is what the state topic held when it was read: the newest record of each circuit that was not forgotten.
type stateTopic struct {
	circuits  map[string]known
	policies  *schemas.PoliciesInForce // nil where no processor has published any.
	heartbeat time.Time                // The newest of any partition; the zero time where there is none.
	ends      map[int32]int64          // Where reading ended, a partition.
}

// readStateTopic reads the topic from its start to its high watermarks as they are now, and of that what is committed.
// It goes by fetch positions, as the last offsets before a watermark may hold no record that a reader sees. The
// context bounds it: a transaction that stays open hides what comes after it, and the error says so.
func readStateTopic(ctx context.Context, client *kgo.Client, topic string) (*stateTopic, error) {
	adm := kadm.NewClient(client)
	starts, err := offsets.Starts(ctx, adm, topic)
	if err != nil {
		return nil, err
	}
	ends, err := offsets.Ends(ctx, adm, topic)
	if err != nil {
		return nil, err
	}
	read := &stateTopic{circuits: make(map[string]known), ends: make(map[int32]int64)}
	for partition, end := range ends {
		r := partitionReader{client: client, topic: topic, partition: partition, position: starts[partition]}
		if err := r.readTo(ctx, end, read.add); err != nil {
			return nil, err
		}
		read.ends[partition] = r.position
	}
	return read, nil
}

// add takes one record in. Records that cannot be read are passed over: they are not of a version that this program
// knows.
func (s *stateTopic) add(r *kgo.Record) {
	key := string(r.Key)
	switch {
	case key == schemas.PoliciesKey:
		if p, err := schemas.DecodePolicies(r.Value); err == nil {
			s.policies = &p
		}
	case strings.HasPrefix(key, schemas.HeartbeatKeyPrefix):
		if h, err := schemas.DecodeHeartbeat(r.Value); err == nil && h.At.After(s.heartbeat) {
			s.heartbeat = h.At
		}
	case r.Value == nil:
		delete(s.circuits, key)
	default:
		state, err := schemas.DecodeState(r.Value)
		if before, ok := s.circuits[key]; err == nil && (!ok || state.Newer(&before.State)) {
			s.circuits[key] = known{state, r.Value}
		}
	}
}

// judges returns the policies in force, nil where nobody has published any, or where they are of a later version.
func (s *stateTopic) judges() *breaker.Policies { return readInForce(s.policies) }

// readInForce reads policies in force, which may be nil. It returns nil where this version cannot read them.
func readInForce(published *schemas.PoliciesInForce) *breaker.Policies {
	if published == nil {
		return nil
	}
	policies, err := breaker.Read(published.Version, []byte(published.Text))
	if err != nil {
		return nil
	}
	return policies
}

// partitionReader reads what is committed in one partition, by fetch position.
type partitionReader struct {
	client    *kgo.Client
	topic     string
	partition int32
	position  int64
	stable    int64 // The last stable offset as it was at the last fetch that was answered.
	answered  bool  // One was.

	most   int32 // Bytes of one fetch; 0 is 16 MiB.
	leader int32
	id     [16]byte
}

// readTo reads up to an offset and hands every record to add. What may pass, such as a leader that moves, is tried
// again until the context ends.
func (r *partitionReader) readTo(ctx context.Context, end int64, add func(*kgo.Record)) error {
	for r.position < end {
		fetched, err := r.some(ctx, end)
		if err != nil {
			return err
		}
		for _, record := range fetched {
			add(record)
		}
	}
	return nil
}

// some returns what follows the position, on the way to an offset. It may be nothing, where that has to be tried again.
func (r *partitionReader) some(ctx context.Context, end int64) ([]*kgo.Record, error) {
	fetched, err := r.fetch(ctx)
	if ctx.Err() != nil {
		return nil, r.stalled(end)
	}
	if refused := (*kerr.Error)(nil); errors.As(err, &refused) && !refused.Retriable {
		return nil, fmt.Errorf("read %s, partition %d from offset %d: %w", r.topic, r.partition, r.position, err)
	}
	if err != nil {
		r.id = [16]byte{}
		pause(ctx, 100*time.Millisecond)
	}
	return fetched, nil
}

// stalled says why a partition could not be read to its end in time.
func (r *partitionReader) stalled(end int64) error {
	if r.answered && r.stable <= r.position {
		return fmt.Errorf("read %s, partition %d: stopped at offset %d of %d: a transaction that is still open hides "+
			"what follows; it ends by itself when its producer's transaction timeout is over",
			r.topic, r.partition, r.position, end)
	}
	return fmt.Errorf("read %s, partition %d: only at offset %d of %d when the time was over",
		r.topic, r.partition, r.position, end)
}

// fetch asks the partition's leader once for what follows the position, and moves the position.
func (r *partitionReader) fetch(ctx context.Context) ([]*kgo.Record, error) {
	if err := r.find(ctx); err != nil {
		return nil, err
	}
	request := kmsg.NewPtrFetchRequest()
	most := cmp.Or(r.most, 16<<20)
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = 100, 1, most
	request.IsolationLevel = 1 // Committed records alone.
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = r.partition, r.position, most
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = r.topic, r.id, append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, r.client.Broker(int(r.leader)))
	if err != nil {
		return nil, err
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return nil, kerr.ErrorForCode(response.ErrorCode)
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: r.position, IsolationLevel: kgo.ReadCommitted(), Topic: r.topic, Partition: r.partition,
	}, &response.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	if got.Err != nil {
		return nil, got.Err
	}
	r.position, r.stable, r.answered = next, got.LastStableOffset, true
	return got.Records, nil
}

// find looks up the partition's leader, where it is not known.
func (r *partitionReader) find(ctx context.Context) error {
	if r.id != [16]byte{} {
		return nil
	}
	found, err := kadm.NewClient(r.client).ListTopics(ctx, r.topic)
	if err != nil {
		return fmt.Errorf("look up %s: %w", r.topic, err)
	}
	topic := found[r.topic]
	if topic.Err != nil {
		return topic.Err
	}
	r.id, r.leader = topic.ID, topic.Partitions[r.partition].Leader
	return nil
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
