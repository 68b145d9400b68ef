package kafka

import (
	"encoding/base64"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/oracle"
)

// check compares what was published with what must have been: nothing twice, nothing missing, in order.
func (w *world) check() *oracle.Expected {
	w.t.Helper()
	return w.checkLog(w.published())
}

func (w *world) checkLog(l *oracle.Log) *oracle.Expected {
	w.t.Helper()
	want, err := oracle.Check(l)
	if err != nil {
		w.t.Fatalf("what was published is not what had to be:\n%v", err)
	}
	if same, err := oracle.Audited(l); err != nil || same < int64(want.Count()) {
		w.t.Fatalf("%d of %d transitions audited: %v", same, want.Count(), err)
	}
	return want
}

// published returns what stands on the topics.
func (w *world) published() *oracle.Log {
	w.t.Helper()
	found, err := kadm.NewClient(w.Client(w.t)).Metadata(w.t.Context(), topics.Outcomes, topics.Signals)
	if err != nil {
		w.t.Fatalf("look at the topics: %v", err)
	}
	l := &oracle.Log{
		Outcomes: w.ReadCommitted(w.t, topics.Outcomes), Signals: w.ReadCommitted(w.t, topics.Signals),
		Transitions: w.ReadCommitted(w.t, topics.Transitions), States: w.ReadCommitted(w.t, topics.State),
		DeadLetters: w.ReadCommitted(w.t, topics.DeadLetters), Changelog: w.ReadCommitted(w.t, topics.Changelog),
		Group: group, Cluster: found.Cluster, TopicIDs: map[string]string{},
		Partitions: w.partitions, Policies: []*breaker.Policies{w.policies},
	}
	for name, topic := range found.Topics {
		l.TopicIDs[name] = base64.RawURLEncoding.EncodeToString(topic.ID[:])
	}
	return l
}
