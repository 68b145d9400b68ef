package kafkatest

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendTime gives the records of topics the broker's time from here on, as their setting LogAppendTime says. kfake
// itself does not heed it.
func (c *Cluster) AppendTime(topics ...string) {
	c.ControlKey(int16(kmsg.Produce), func(asked kmsg.Request) (kmsg.Response, error, bool) {
		for _, t := range asked.(*kmsg.ProduceRequest).Topics {
			name := t.Topic
			if name == "" {
				if info := c.TopicIDInfo(t.TopicID); info != nil {
					name = info.Topic
				}
			}
			if !slices.Contains(topics, name) {
				continue
			}
			for _, p := range t.Partitions {
				stampBatch(p.Records, time.Now())
			}
		}
		return nil, nil, false
	})
}

// Where things stand in a batch of records.
const (
	batchCRC        = 17
	batchAttributes = 21
	batchOldest     = 27
	batchNewest     = 35
	batchCount      = 57

	appendTimeFlag = 1 << 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stampBatch makes a batch one whose records all have this time. kfake writes both times of such a batch anew, and
// leaves the checksum as it was, so both must be right already.
func stampBatch(batch []byte, at time.Time) {
	if len(batch) < batchCount {
		return
	}
	batch[batchAttributes+1] |= appendTimeFlag
	binary.BigEndian.PutUint64(batch[batchOldest:], uint64(at.UnixMilli()))
	binary.BigEndian.PutUint64(batch[batchNewest:], uint64(at.UnixMilli()))
	binary.BigEndian.PutUint32(batch[batchCRC:], crc32.Checksum(batch[batchAttributes:], castagnoli))
}
