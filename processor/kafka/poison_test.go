//go:build synctests

package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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
	inWorld(t, 2, func(t *testing.T, w *world) {
		r := w.start(nil, nil)
		w.ready(r)
		const circuit = "case:route-0:v1"
		home := w.home(circuit)
		here := forwarded{group: group, cluster: r.cluster.id, at: time.Now()}
		here.topicID = r.cluster.topicIDs[topics.Outcomes]
		put := func(id string, partition int32, f forwarded) {
			record := outcome(circuit, schemas.Accepted, id)
			record.Partition = partition
			record.Headers = []kgo.RecordHeader{{Key: forwardHeader, Value: []byte(f.String())}}
			w.ProduceTo(t, record)
		}
		here.partition, here.offset = 1-home, 0
		put("forwarded", home, here)
		put("again", home, here)
		put("astray", 1-home, here)
		foreign, mirrored := here, here
		foreign.group = "others"
		put("foreign", home, foreign)
		mirrored.cluster, mirrored.offset = "elsewhere", 1
		put("mirrored", home, mirrored)
		put("mirrored astray", 1-home, mirrored)
		w.caughtUp()
		time.Sleep(time.Second)
		w.caughtUp()
		for result, want := range map[string]float64{"handled": 3, "repeated": 1, "foreign": 1, "misrouted": 2} {
			if got := value(t, r.metrics.records.WithLabelValues(topics.Outcomes, result)); got != want {
				t.Errorf("records %s = %v, want %v", result, got, want)
			}
		}
		if letters := w.letters(); len(letters) != 1 {
			t.Errorf("%d dead letters, want the one that was forwarded to the wrong partition", len(letters))
		}
		w.end(r)
	})
}
