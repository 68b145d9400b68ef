package oracle

import (
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// forwardHeader is `<group>/<cluster id>/<topic id>/<partition>/<offset>/<timestamp in ms>`.
const forwardHeader = "fusebox-forward"

// origin is where a forwarded record came from.
type origin struct {
	group string
	place Place
	at    time.Time
	known bool // It is a place of this cluster and of these topics.
}

// origin reads the header of a forwarded record, where there is one that can be read.
func (l *Log) origin(r *kgo.Record) (origin, bool) {
	for _, h := range r.Headers {
		if h.Key != forwardHeader {
			continue
		}
		parts := strings.Split(string(h.Value), "/")
		n := len(parts)
		if n < 6 {
			return origin{}, false
		}
		partition, err1 := strconv.ParseInt(parts[n-3], 10, 32)
		offset, err2 := strconv.ParseInt(parts[n-2], 10, 64)
		ms, err3 := strconv.ParseInt(parts[n-1], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			return origin{}, false
		}
		return origin{
			group: strings.Join(parts[:n-5], "/"),
			place: Place{r.Topic, int32(partition), offset},
			at:    time.UnixMilli(ms).UTC(),
			known: parts[n-5] == l.Cluster && parts[n-4] == l.TopicIDs[r.Topic] &&
				partition >= 0 && partition < int64(l.Partitions),
		}, true
	}
	return origin{}, false
}

// home returns the partition where a circuit lives.
func (l *Log) home(circuit string) int32 {
	hash := kgo.StickyKeyPartitioner(nil).ForTopic("")
	return int32(hash.Partition(&kgo.Record{Key: []byte(circuit)}, int(l.Partitions)))
}

func (l *Log) isSignal(r *kgo.Record) bool {
	return len(l.Signals) > 0 && r.Topic == l.Signals[0].Topic
}
