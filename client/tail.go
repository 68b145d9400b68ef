package client

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// skip moves the position of a partition over what holds no record: the client tells of records alone, and the last
// offsets before an end may be of batches that compaction has emptied.
func (f *follower) skip(ctx context.Context, id int32, end int64) {
	for f.next[id] < end {
		got, next, err := f.fetch(ctx, id)
		if err != nil || len(got.Records) > 0 || next <= f.next[id] {
			return // Somebody has to wait for more, or it will come by itself.
		}
		f.next[id] = next
	}
}

// fetch asks a partition's leader for a little of what follows the position.
func (f *follower) fetch(ctx context.Context, id int32) (kgo.FetchPartition, int64, error) {
	var got kgo.FetchPartition
	found, err := kadm.NewClient(f.gate.kafka).ListTopics(ctx, f.topic)
	if err != nil {
		return got, 0, err
	}
	topic := found[f.topic]
	if topic.Err != nil {
		return got, 0, topic.Err
	}
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = id, f.next[id], 64<<10
	asked := kmsg.NewFetchRequestTopic()
	asked.Topic, asked.TopicID, asked.Partitions = f.topic, topic.ID, append(asked.Partitions, partition)
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = 100, 1, 64<<10
	request.IsolationLevel, request.Topics = 1, append(request.Topics, asked) // Committed records alone.
	response, err := request.RequestWith(ctx, f.gate.kafka.Broker(int(topic.Partitions[id].Leader)))
	if err != nil {
		return got, 0, err
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return got, 0, kerr.ErrorForCode(response.ErrorCode)
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: f.next[id], IsolationLevel: kgo.ReadCommitted(), KeepControlRecords: true,
		Topic: f.topic, Partition: id,
	}, &response.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	return got, next, got.Err
}
