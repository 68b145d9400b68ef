package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// written is where a transaction wrote to, and under which producer id and epoch.
type written struct {
	topic     string
	partition int32
	id        int64
	epoch     int16
}

func writtenTo(r *kgo.Record) written {
	return written{r.Topic, r.Partition, r.ProducerID, r.ProducerEpoch}
}

var errEpochs = errors.New("a transaction is under more than one epoch")

// underOne returns an error where a transaction wrote under another producer id or epoch than its offsets were taken
// under. Where a broker says that it has forgotten the producer, the client (franz-go v1.22.3) takes a new epoch by
// itself and goes on; for the brokers that aborts all there was before, and only the rest would commit.
func underOne(id int64, epoch int16, all []written) error {
	for _, one := range all {
		if one.id != id || one.epoch != epoch {
			return fmt.Errorf("%w: %s/%d and the offsets", errEpochs, one.topic, one.partition)
		}
	}
	return nil
}

// endCommit commits the transaction of a client.
func endCommit(ctx context.Context, client *kgo.Client, all []written) error {
	if err := awaitKnown(ctx, client, all); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}

// awaitKnown waits until a client knows the topics that it has written to. It stores them only after it has sent their
// first records (franz-go v1.22.3), and takes what it does not know not to be in the transaction: where it knows none,
// it aborts in place of a commit, or asks no broker at all, and says that all is well.
func awaitKnown(ctx context.Context, client *kgo.Client, all []written) error {
	for _, one := range all {
		for {
			if leader, _, _ := client.PartitionLeader(one.topic, one.partition); leader >= 0 {
				break
			}
			if pause(ctx, time.Millisecond); ctx.Err() != nil {
				return fmt.Errorf("the client does not know %s/%d, which it has written to: %w",
					one.topic, one.partition, ctx.Err())
			}
		}
	}
	return nil
}
