//go:build synctests

package kafka

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestPoison puts records that cannot be read first, last and alone. They end as dead letters, each once, and all
// others are handled.
func TestPoison(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(func(c *Config) { c.DeadLetterPayload = true }, nil)
		w.ready(r)
		bad := func(value string) *kgo.Record {
			return &kgo.Record{Topic: topics.Outcomes, Key: []byte("case:route-0:v1"), Value: []byte(value)}
		}
		huge := bad(`{"kind":"accepted","reason":"` + strings.Repeat("x", schemas.MaxRecord) + `"}`)
		w.Produce(t, bad("not JSON"))
		time.Sleep(time.Second)
		for round := range 6 {
			w.produceAll(round, 3, waves)
		}
		w.Produce(t, bad(`{"id":"no kind"}`), huge)
		w.Produce(t, &kgo.Record{Topic: topics.Signals, Key: []byte("x"), Value: []byte(`{"type":"dance"}`)})
		time.Sleep(time.Second)
		w.produceAll(6, 3, waves)
		w.caughtUp()
		w.end(r)
		w.check()
		letters := w.letters()
		if len(letters) != 4 {
			t.Fatalf("%d dead letters, want 4: %+v", len(letters), letters)
		}
		for _, l := range letters {
			if l.Problem == "" || l.Topic != topics.Outcomes && l.Topic != topics.Signals || len(l.Payload) == 0 {
				t.Errorf("dead letter %+v", l)
			}
		}
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "unreadable")); got != 2 {
			t.Errorf("unreadable outcomes = %v, want 2", got)
		}
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "too_large")); got != 1 {
			t.Errorf("outcomes too large = %v, want 1", got)
		}
	})
}

func (w *world) letters() []schemas.DeadLetter {
	w.t.Helper()
	var letters []schemas.DeadLetter
	for _, r := range w.ReadCommitted(w.t, topics.DeadLetters) {
		var headers []schemas.Header
		for _, h := range r.Headers {
			headers = append(headers, schemas.Header{Key: h.Key, Value: h.Value})
		}
		l, err := schemas.DecodeDeadLetter(headers, r.Value)
		if err != nil {
			w.t.Fatalf("DecodeDeadLetter: %v", err)
		}
		letters = append(letters, l)
	}
	return letters
}

// TestForgedForward puts records with a forward header into a partition where they do not belong, or where another
// group put them.
func TestForgedForward(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		const circuit = "case:route-0:v1"
		home := w.home(circuit)
		origin, other := (home+1)%3, (home+2)%3
		here := schemas.Forward{Group: group, Cluster: r.cluster.id, At: time.Now()}
		here.TopicID = r.cluster.topicIDs[topics.Outcomes]
		put := func(id string, partition int32, f schemas.Forward) {
			record := outcome(circuit, schemas.Accepted, id)
			record.Partition = partition
			record.Headers = []kgo.RecordHeader{{Key: schemas.ForwardHeader, Value: []byte(f.String())}}
			w.ProduceTo(t, record)
		}
		w.ProduceTo(t, &kgo.Record{Topic: topics.Outcomes, Partition: origin, Value: []byte("not JSON")})
		here.Partition, here.Offset = origin, 0
		put("forwarded", home, here)
		put("again", home, here)
		put("astray", other, here)
		foreign, mirrored := here, here
		foreign.Group = "others"
		put("foreign", home, foreign)
		mirrored.Cluster, mirrored.Offset = "elsewhere", 1
		put("mirrored", home, mirrored)
		put("mirrored astray", other, mirrored)
		w.caughtUp()
		time.Sleep(time.Second)
		w.caughtUp()
		for result, want := range map[string]float64{"handled": 3, "repeated": 1, "foreign": 1, "misrouted": 2} {
			if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, result)); got != want {
				t.Errorf("records %s = %v, want %v", result, got, want)
			}
		}
		if letters := w.letters(); len(letters) != 1+1 {
			t.Errorf("%d dead letters, want what was forwarded to a wrong partition, and no JSON", len(letters))
		}
		w.end(r)
	})
}

// TestForgedOffset puts records with forward headers into partitions that name places where nothing can have come from:
// beyond the end of the other partition, before its start, and their own partition. Each counts as a direct record, and
// none of them silences what is forwarded later.
func TestForgedOffset(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		const circuit = "case:route-0:v1"
		home := w.home(circuit)
		forged := schemas.Forward{Group: group, Cluster: r.cluster.id, At: time.Now()}
		forged.TopicID = r.cluster.topicIDs[topics.Outcomes]
		for i, at := range []struct {
			partition int32
			offset    int64
		}{{1 - home, math.MaxInt64}, {1 - home, 0}, {1 - home, -1}, {home, 0}, {2, 0}, {-1, 0}} {
			record := outcome(circuit, schemas.Accepted, fmt.Sprint("forged", i))
			forged.Partition, forged.Offset = at.partition, at.offset
			record.Partition = home
			record.Headers = []kgo.RecordHeader{{Key: schemas.ForwardHeader, Value: []byte(forged.String())}}
			w.ProduceTo(t, record)
		}
		w.caughtUp()
		for i := range 5 {
			w.ProduceTo(t, w.abroad(circuit, fmt.Sprint("m", i)))
			w.settled()
		}
		for result, want := range map[string]float64{"handled": 6 + 5, "misrouted": 5, "repeated": 0} {
			if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, result)); got != want {
				t.Errorf("records %s = %v, want %v", result, got, want)
			}
		}
		w.end(r)
	})
}

// TestForwardBesideAnOldLeader has a broker that led a partition before say how far it reaches. What was forwarded from
// beyond that is a forward all the same: it is as old as its record, and is dropped when it comes again.
func TestForwardBesideAnOldLeader(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		const circuit = "case:route-0:v1"
		r := w.start(nil, nil)
		w.ready(r)
		home := w.home(circuit)
		w.ProduceTo(t, w.abroad(circuit, "m"))
		w.settled()
		w.end(r)
		f := schemas.Forward{Group: group, Cluster: r.cluster.id, At: time.Now(), Partition: 1 - home, Offset: 1}
		f.TopicID = r.cluster.topicIDs[topics.Outcomes]
		forward := func() *kgo.Record {
			record := outcome(circuit, schemas.Accepted, "")
			record.Partition = home
			record.Headers = []kgo.RecordHeader{{Key: schemas.ForwardHeader, Value: []byte(f.String())}}
			return record
		}

		r = w.start(nil, nil)
		w.ready(r)
		defer w.oldLeader(topics.Outcomes, 1-home, 1)()
		w.ProduceTo(t, &kgo.Record{Topic: topics.Outcomes, Partition: 1 - home, Value: []byte("not JSON")})
		w.ProduceTo(t, forward(), forward(), forward())
		w.caughtUp()
		if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "repeated")); got != 2 {
			t.Errorf("of three copies of a forward %v were dropped, want 2", got)
		}
		w.end(r)
	})
}

// oldLeader has a broker that led a partition before say where it ends, until it is told to stop: what names the epoch
// of the leader is not for it.
func (w *world) oldLeader(topic string, partition int32, end int64) (stop func()) {
	var stopped atomic.Bool
	w.fake.ControlKey(int16(kmsg.ListOffsets), func(request kmsg.Request) (kmsg.Response, error, bool) {
		if stopped.Load() {
			return nil, nil, false
		}
		w.fake.KeepControl()
		asked := request.(*kmsg.ListOffsetsRequest)
		if len(asked.Topics) != 1 || asked.Topics[0].Topic != topic {
			return nil, nil, false
		}
		part := asked.Topics[0].Partitions
		if len(part) != 1 || part[0].Partition != partition || part[0].Timestamp != -1 ||
			part[0].CurrentLeaderEpoch != -1 {
			return nil, nil, false
		}
		response := asked.ResponseKind().(*kmsg.ListOffsetsResponse)
		answer, of := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
		of.Partition, of.Offset = partition, end
		answer.Topic, answer.Partitions = topic, append(answer.Partitions, of)
		response.Topics = append(response.Topics, answer)
		return response, nil, true
	})
	return func() { stopped.Store(true) }
}

// TestRestartBesideAnOldLeader starts again while a broker that led the outcomes before says that they end where they
// did: they have lost nothing.
func TestRestartBesideAnOldLeader(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		w.end(r)
		stop := w.oldLeader(topics.Outcomes, 0, 2)
		r = w.start(nil, nil)
		w.ready(r)
		stop()
		w.produceAll(1, 5, waves)
		w.caughtUp()
		w.end(r)
		w.check()
		if strings.Contains(w.log.String(), errLost.Error()) {
			t.Error("the log says that records were lost, want nothing")
		}
	})
}

// TestForgedForwardsAskOnce counts how often the brokers are asked about records that claim to come from beyond the end
// of a partition.
func TestForgedForwardsAskOnce(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		const circuit = "case:route-0:v1"
		r := w.start(nil, nil)
		w.ready(r)
		forged := schemas.Forward{Group: group, Cluster: r.cluster.id, At: time.Now(), Offset: math.MaxInt64}
		forged.TopicID, forged.Partition = r.cluster.topicIDs[topics.Outcomes], 1-w.home(circuit)
		w.end(r)
		var records []*kgo.Record
		for i := range 500 {
			record := outcome(circuit, schemas.Accepted, fmt.Sprint("forged", i))
			record.Partition = w.home(circuit)
			record.Headers = []kgo.RecordHeader{{Key: schemas.ForwardHeader, Value: []byte(forged.String())}}
			records = append(records, record)
		}
		w.ProduceTo(t, records...)
		r = w.start(nil, nil)
		asked := w.fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: topics.Outcomes, Observe: true, Count: -1,
		})
		w.until("handled", func() bool {
			return value(t, r.metrics.records.WithLabelValues(topics.Outcomes, "handled")) == 500
		})
		if got := asked.Hits(); got > 30 {
			t.Errorf("the brokers were asked %d times for ends, want a few times", got)
		}
		w.end(r)
	})
}
