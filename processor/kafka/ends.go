package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
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
// answer from after the poll that brought the forward is the last word on it, if it is the leader's.
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
	end, err := again(ctx, func(err error) { last = err }, func() (int64, error) {
		ends, err := k.ends(ctx, topic, []int32{partition}, false)
		if err != nil || offset < ends[partition] {
			return ends[partition], err
		}
		return k.surestEnd(ctx, topic, partition)
	})
	if err != nil {
		return false, fmt.Errorf("look where forwards came from: %w", errors.Join(err, last))
	}
	o[key] = originEnd{end, poll}
	return offset < end, nil
}

// surestEnd returns the end of a partition by the newest leader that any broker knows of. One that leads no more and
// has not heard so, as it was paused or cut off from the others, answers with an end of the past.
func (k *cluster) surestEnd(ctx context.Context, topic string, partition int32) (int64, error) {
	leader, epoch, err := k.newestLeader(ctx, topic, partition)
	if err != nil {
		return 0, err
	}
	request := listRequest(topic, []int32{partition}, -1)
	request.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
	ends, err := listBy(ctx, k.client.Broker(int(leader)), request)
	return ends[partition], err
}

// brokerPatience is how long a broker may take to say who leads.
const brokerPatience = 2 * time.Second

// newestLeader asks every broker who leads a partition, and takes the newest answer. More than half of them have to
// answer.
func (k *cluster) newestLeader(ctx context.Context, topic string, partition int32) (leader, epoch int32, err error) {
	ctx, cancel := context.WithTimeout(ctx, brokerPatience)
	defer cancel()
	brokers := k.client.DiscoveredBrokers()
	answers := make(chan *kmsg.MetadataResponse, len(brokers))
	for _, broker := range brokers {
		go func() {
			asked := kmsg.NewMetadataRequestTopic()
			asked.Topic = &topic
			request := kmsg.NewPtrMetadataRequest()
			request.Topics = append(request.Topics, asked)
			response, err := request.RequestWith(ctx, broker)
			if err != nil {
				response = nil
			}
			answers <- response
		}()
	}
	answered := 0
	leader, epoch = -1, -1
	for range brokers {
		response := <-answers
		if response == nil {
			continue
		}
		answered++
		for _, t := range response.Topics {
			for _, p := range t.Partitions {
				if p.Partition == partition && p.LeaderEpoch > epoch {
					leader, epoch = p.Leader, p.LeaderEpoch
				}
			}
		}
	}
	if 2*answered <= len(brokers) || leader < 0 {
		return 0, 0, fmt.Errorf("%s/%d: %d of %d brokers say who leads: %w",
			topic, partition, answered, len(brokers), kerr.LeaderNotAvailable)
	}
	return leader, epoch, nil
}
