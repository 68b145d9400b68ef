package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// holder names who holds the oldest open transaction of a partition, since when, for a person to read. The state is the
// one that the coordinator knows: where it says Complete, the coordinator has ended it, and this partition does not
// know.
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
	return fmt.Sprintf("%s since offset %d, which it last wrote to at %s", who, oldest.CurrentTxnStartOffset,
		time.UnixMilli(oldest.LastTimestamp).UTC().Format(time.RFC3339))
}

const offsetsTopic = "__consumer_offsets"

// unstable returns what takes note of errors that keep the group's offsets from a partition. While a transaction is
// open that could change them, they are not given out; after some time it says who holds it.
func (l *Loop) unstable(partition int32) func(error) {
	trouble, since, named := l.trouble(partition), time.Now(), false
	return func(err error) {
		switch {
		case !errors.Is(err, kerr.UnstableOffsetCommit):
			since, named = time.Now(), false
			trouble(err)
			return
		case time.Since(since) < stallAfter:
			if !named {
				trouble(err)
			}
			return
		}
		since, named = time.Now(), true
		place, holder := l.cluster.offsetsHolder()
		l.log.Warn("restore stands still: a transaction is open that could change the group's offsets",
			"partition", partition, "topic", place, "held by", holder)
		trouble(fmt.Errorf("the group's offsets are not to be had: an open transaction in %s is held by %s",
			place, holder))
	}
}

// offsetsHolder names the partition that has the group's offsets, and who holds an open transaction there.
func (k *cluster) offsetsHolder() (place, holder string) {
	ctx, cancel := context.WithTimeout(context.Background(), transactionTimeout)
	defer cancel()
	found, err := k.admin.Metadata(ctx, offsetsTopic)
	count := len(found.Topics[offsetsTopic].Partitions)
	if err != nil || count == 0 {
		return offsetsTopic, fmt.Sprintf("somebody the brokers do not name (%v)",
			errors.Join(err, found.Topics[offsetsTopic].Err))
	}
	partition := offsetsPartition(k.group, count)
	return fmt.Sprintf("%s/%d", offsetsTopic, partition), k.holder(offsetsTopic, partition)
}

// offsetsPartition returns where Kafka keeps the offsets of a group: by the hash that Java has for a text.
func offsetsPartition(group string, count int) int32 {
	var hash int32
	for _, unit := range utf16.Encode([]rune(group)) {
		hash = 31*hash + int32(unit)
	}
	return int32(max(int64(hash), -int64(hash)) % int64(count))
}
