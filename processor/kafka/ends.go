package kafka

import (
	"context"
	"errors"
	"fmt"
)

// originEnds are the ends of the partitions that records were forwarded from, as far as a worker knows them.
type originEnds map[endKey]originEnd

type endKey struct {
	topic     string
	partition int32
}

// originEnd is where a partition ended when it was asked, and after which poll that was.
type originEnd struct {
	end  int64
	poll uint64
}

// reaches tells whether an offset lies before the end of a partition. The brokers are asked where it is beyond the end
// that is known, and no more than once after each poll: a forward is younger than the record that it is of, so an
// answer from after the poll that brought the forward is the last word on it.
func (o originEnds) reaches(
	ctx context.Context, k *cluster, topic string, partition int32, offset int64, poll uint64,
) (bool, error) {
	key := endKey{topic, partition}
	known, asked := o[key]
	if offset < known.end || asked && known.poll == poll {
		return offset < known.end, nil
	}
	ctx, cancel := context.WithTimeout(ctx, transactionTimeout)
	defer cancel()
	var last error
	ends, err := again(ctx, func(err error) { last = err }, func() (map[int32]int64, error) {
		return k.ends(ctx, topic, []int32{partition}, false)
	})
	if err != nil {
		return false, fmt.Errorf("look where forwards came from: %w", errors.Join(err, last))
	}
	o[key] = originEnd{ends[partition], poll}
	return offset < ends[partition], nil
}
