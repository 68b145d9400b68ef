package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	logWaitMS   = 250
	logMaxBytes = 2 << 20 // Of one answer, which takes several times as much once it is unpacked.
)

// logReader reads one partition of a topic, read_committed. It asks the leader itself instead of consuming: an answer
// moves the position over markers, aborted records and batches that compaction emptied, which a consumer never shows,
// and a restore is done when its position has come to the end.
type logReader struct {
	cluster   *cluster
	topic     string
	partition int32
	position  int64
	leader    *kgo.Broker
}

// next returns the records that the next answer holds, which may be none.
func (r *logReader) next(ctx context.Context) ([]*kgo.Record, error) {
	part, err := r.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return r.unpack(part)
}

// fetch returns what the next answer holds of the partition, packed.
func (r *logReader) fetch(ctx context.Context) (*kmsg.FetchResponseTopicPartition, error) {
	if r.leader == nil {
		if err := r.find(ctx); err != nil {
			return nil, err
		}
	}
	response, err := r.leader.RetriableRequest(ctx, r.request())
	if err != nil {
		r.leader = nil
		return nil, fmt.Errorf("read %s/%d: %w", r.topic, r.partition, err)
	}
	answer := response.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, fmt.Errorf("read %s/%d: %w", r.topic, r.partition, err)
	}
	for i := range answer.Topics {
		for j := range answer.Topics[i].Partitions {
			part := &answer.Topics[i].Partitions[j]
			if err := kerr.ErrorForCode(part.ErrorCode); err != nil {
				r.leader = nil
				return nil, fmt.Errorf("read %s/%d at offset %d: %w", r.topic, r.partition, r.position, err)
			}
			return part, nil
		}
	}
	return nil, fmt.Errorf("read %s/%d: the answer is empty", r.topic, r.partition)
}

// unpack returns the records that an answer holds, and moves on behind them.
func (r *logReader) unpack(part *kmsg.FetchResponseTopicPartition) ([]*kgo.Record, error) {
	fetched, position := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: r.position, IsolationLevel: kgo.ReadCommitted(),
		Topic: r.topic, Partition: r.partition,
	}, part, kgo.DefaultDecompressor(), nil)
	if err := fetched.Err; err != nil {
		r.leader = nil
		return nil, fmt.Errorf("read %s/%d at offset %d: %w", r.topic, r.partition, r.position, err)
	}
	r.position = max(r.position, position)
	return fetched.Records, nil
}

// find looks up who leads the partition.
func (r *logReader) find(ctx context.Context) error {
	found, err := r.cluster.admin.Metadata(ctx, r.topic)
	if err != nil {
		return fmt.Errorf("find the leader of %s/%d: %w", r.topic, r.partition, err)
	}
	part, known := found.Topics[r.topic].Partitions[r.partition]
	if !known || part.Leader < 0 {
		return fmt.Errorf("find the leader of %s/%d: it has none", r.topic, r.partition)
	}
	r.leader = r.cluster.client.Broker(int(part.Leader))
	return nil
}

func (r *logReader) request() *kmsg.FetchRequest {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = r.partition, r.position, logMaxBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = r.topic, r.cluster.rawIDs[r.topic]
	topic.Partitions = append(topic.Partitions, part)
	request := kmsg.NewPtrFetchRequest()
	request.ReplicaID, request.SessionEpoch, request.IsolationLevel = -1, -1, 1
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = logWaitMS, 1, logMaxBytes
	request.Topics = append(request.Topics, topic)
	return request
}

// readTo reads up to an offset and hands over every record before it. Where an open transaction keeps it from getting
// there, it gives up after a while and names the holder.
func (r *logReader) readTo(ctx context.Context, end int64, take func(*kgo.Record)) error {
	moved := time.Now()
	for r.position < end {
		before := r.position
		records, err := again(ctx, func(error) {}, func() ([]*kgo.Record, error) { return r.next(ctx) })
		if err != nil {
			return err
		}
		for _, record := range records {
			if record.Offset < end {
				take(record)
			}
		}
		switch now := time.Now(); {
		case r.position > before:
			moved = now
		case now.Sub(moved) > stallAfter:
			return fmt.Errorf("%s/%d cannot be read beyond offset %d of %d: an open transaction is held by %s",
				r.topic, r.partition, r.position, end, r.cluster.holder(r.topic, r.partition))
		}
	}
	return nil
}
