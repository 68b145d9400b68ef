package schemas

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ForwardHeader is the header of a record that a processor moved to the partition of its circuit.
const ForwardHeader = "fusebox-forward"

// Forward is where such a record came from.
type Forward struct {
	Group, Cluster, TopicID string
	Partition               int32
	Offset                  int64
	At                      time.Time // Its timestamp there.
}

// String returns the value of the header: group/cluster id/topic id/partition/offset/timestamp in ms.
func (f Forward) String() string {
	return fmt.Sprintf("%s/%s/%s/%d/%d/%d", f.Group, f.Cluster, f.TopicID, f.Partition, f.Offset, f.At.UnixMilli())
}

// ReadForward reads the value of the header. A group's name may hold slashes, so it reads from the end.
func ReadForward(value string) (Forward, error) {
	parts := strings.Split(value, "/")
	n := len(parts)
	if n < 6 {
		return Forward{}, fmt.Errorf("header %s: %d parts, want 6", ForwardHeader, n)
	}
	partition, err := strconv.ParseInt(parts[n-3], 10, 32)
	if err != nil {
		return Forward{}, fmt.Errorf("header %s: partition: %w", ForwardHeader, err)
	}
	offset, err := strconv.ParseInt(parts[n-2], 10, 64)
	if err != nil {
		return Forward{}, fmt.Errorf("header %s: offset: %w", ForwardHeader, err)
	}
	ms, err := strconv.ParseInt(parts[n-1], 10, 64)
	if err != nil {
		return Forward{}, fmt.Errorf("header %s: timestamp: %w", ForwardHeader, err)
	}
	return Forward{
		Group:     strings.Join(parts[:n-5], "/"),
		Cluster:   parts[n-5],
		TopicID:   parts[n-4],
		Partition: int32(partition),
		Offset:    offset,
		At:        time.UnixMilli(ms).UTC(),
	}, nil
}
