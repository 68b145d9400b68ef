package kafka

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ForwardHeader is the header of a record that a processor moved to the partition of its circuit.
const ForwardHeader = "fusebox-forward"

// forwarded is where such a record came from.
type forwarded struct {
	group, cluster, topicID string
	partition               int32
	offset                  int64
	at                      time.Time // Its timestamp there.
}

// String returns the value of the header: group/cluster id/topic id/partition/offset/timestamp in ms.
func (f forwarded) String() string {
	return fmt.Sprintf("%s/%s/%s/%d/%d/%d", f.group, f.cluster, f.topicID, f.partition, f.offset, f.at.UnixMilli())
}

// readForwarded reads the header. A group's name may hold slashes, so it reads from the end.
func readForwarded(value string) (forwarded, error) {
	parts := strings.Split(value, "/")
	n := len(parts)
	if n < 6 {
		return forwarded{}, fmt.Errorf("header %s: %d parts, want 6", ForwardHeader, n)
	}
	partition, err := strconv.ParseInt(parts[n-3], 10, 32)
	if err != nil {
		return forwarded{}, fmt.Errorf("header %s: partition: %w", ForwardHeader, err)
	}
	offset, err := strconv.ParseInt(parts[n-2], 10, 64)
	if err != nil {
		return forwarded{}, fmt.Errorf("header %s: offset: %w", ForwardHeader, err)
	}
	ms, err := strconv.ParseInt(parts[n-1], 10, 64)
	if err != nil {
		return forwarded{}, fmt.Errorf("header %s: timestamp: %w", ForwardHeader, err)
	}
	return forwarded{
		group:     strings.Join(parts[:n-5], "/"),
		cluster:   parts[n-5],
		topicID:   parts[n-4],
		partition: int32(partition),
		offset:    offset,
		at:        time.UnixMilli(ms).UTC(),
	}, nil
}

// origins are the highest offsets handled of forwarded records, by where they came from. Only topics and partitions of
// this cluster are in it, so it never holds more than twice the number of partitions.
type origins map[originKey]int64

type originKey struct {
	topicID   string
	partition int32
}

func (o origins) list() []origin {
	list := make([]origin, 0, len(o))
	for key, offset := range o {
		list = append(list, origin{key.topicID, key.partition, offset})
	}
	return list
}
