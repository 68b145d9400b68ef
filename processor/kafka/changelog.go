package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	changelogWaitMS   = 250
	changelogMaxBytes = 8 << 20
)

// changelogReader reads one partition of the changelog, read_committed. It asks the leader itself instead of
// consuming: an answer moves the position over markers, aborted records and batches that compaction emptied, which a
// consumer never shows, and a restore is done when its position has come to the end.
type changelogReader struct {
	cluster   *cluster
	partition int32
	position  int64
	leader    *kgo.Broker
}

// next returns the records that the next answer holds, which may be none.
func (r *changelogReader) next(ctx context.Context) ([]*kgo.Record, error) {
	if r.leader == nil {
		if err := r.find(ctx); err != nil {
			return nil, err
		}
	}
	response, err := r.leader.RetriableRequest(ctx, r.request())
	if err != nil {
		r.leader = nil
		return nil, fmt.Errorf("read the changelog: %w", err)
	}
	answer := response.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, fmt.Errorf("read the changelog: %w", err)
	}
	for i := range answer.Topics {
		for j := range answer.Topics[i].Partitions {
			return r.read(&answer.Topics[i].Partitions[j])
		}
	}
	return nil, errors.New("read the changelog: the answer is empty")
}

// read takes what an answer holds of the partition.
func (r *changelogReader) read(part *kmsg.FetchResponseTopicPartition) ([]*kgo.Record, error) {
	fetched, position := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: r.position, IsolationLevel: kgo.ReadCommitted(),
		Topic: r.cluster.topics.Changelog, Partition: r.partition,
	}, part, kgo.DefaultDecompressor(), nil)
	if err := fetched.Err; err != nil {
		r.leader = nil
		return nil, fmt.Errorf("read the changelog at offset %d: %w", r.position, err)
	}
	r.position = max(r.position, position)
	return fetched.Records, nil
}

// find looks up who leads the partition.
func (r *changelogReader) find(ctx context.Context) error {
	topic := r.cluster.topics.Changelog
	found, err := r.cluster.admin.Metadata(ctx, topic)
	if err != nil {
		return fmt.Errorf("find the leader of %s/%d: %w", topic, r.partition, err)
	}
	part, known := found.Topics[topic].Partitions[r.partition]
	if !known || part.Leader < 0 {
		return fmt.Errorf("find the leader of %s/%d: it has none", topic, r.partition)
	}
	r.leader = r.cluster.client.Broker(int(part.Leader))
	return nil
}

func (r *changelogReader) request() *kmsg.FetchRequest {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = r.partition, r.position, changelogMaxBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = r.cluster.topics.Changelog, r.cluster.rawIDs[r.cluster.topics.Changelog]
	topic.Partitions = append(topic.Partitions, part)
	request := kmsg.NewPtrFetchRequest()
	request.ReplicaID, request.SessionEpoch, request.IsolationLevel = -1, -1, 1
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = changelogWaitMS, 1, changelogMaxBytes
	request.Topics = append(request.Topics, topic)
	return request
}

// holder names who holds the oldest open transaction of a partition, for a person to read.
func (k *cluster) holder(topic string, partition int32) string {
	ctx, cancel := context.WithTimeout(context.Background(), transactionTimeout)
	defer cancel()
	set := kadm.TopicsSet{}
	set.Add(topic, partition)
	found, err := k.admin.DescribeProducers(ctx, set)
	if err != nil {
		return fmt.Sprintf("somebody the brokers do not name (%v)", err)
	}
	var oldest *kadm.DescribedProducer
	for _, p := range found[topic].Partitions[partition].ActiveProducers {
		if p.CurrentTxnStartOffset >= 0 && (oldest == nil || p.CurrentTxnStartOffset < oldest.CurrentTxnStartOffset) {
			oldest = &p
		}
	}
	if oldest == nil {
		return "nobody that the partition's leader knows of"
	}
	who := fmt.Sprintf("producer %d", oldest.ProducerID)
	if listed, err := k.admin.ListTransactions(ctx, []int64{oldest.ProducerID}, nil); err == nil {
		for id, t := range listed {
			who = fmt.Sprintf("transactional id %q (%s), producer %d", id, t.State, oldest.ProducerID)
		}
	}
	return fmt.Sprintf("%s since offset %d", who, oldest.CurrentTxnStartOffset)
}
