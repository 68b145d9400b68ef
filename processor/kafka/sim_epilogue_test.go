//go:build synctests

package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// effectRecreated is what the epilogue plays.
const effectRecreated = "topic recreated"

// epilogue deletes the outcomes when all has been judged, makes the topic anew, and starts everybody again: the new
// topic is read from its start, each outcome in it counts once, and circuits go on as they were.
func (s *simulation) epilogue() {
	if !s.plan.recreated || s.t.Failed() {
		return
	}
	if err := s.fake.DeleteTopic(topics.Outcomes); err != nil {
		s.t.Fatalf("delete %s: %v", topics.Outcomes, err)
	}
	s.Create(s.t, s.partitions, map[string]string{"message.timestamp.type": "LogAppendTime"}, topics.Outcomes)
	before := len(s.lives)
	for _, i := range s.instances {
		i.look()
	}
	rng, client, sent := s.rng(200), s.manual(), 0
	for range 3 {
		var records []*kgo.Record
		for n := range 10 {
			o := schemas.Outcome{Circuit: s.circuit(n), Kind: schemas.MissingEvidence, Count: 1}
			r := &kgo.Record{Topic: topics.Outcomes, Key: []byte(o.Circuit), Value: schemas.AppendOutcome(nil, &o)}
			records = append(records, s.placed(r, o.Circuit, choose(rng, partitioners)))
		}
		if !s.send(client, records...) {
			s.t.Fatal("outcomes were not taken by the topic that was made anew")
		}
		sent += len(records)
		time.Sleep(2 * time.Second)
	}
	for range 2 {
		s.awaitHealed()
		time.Sleep(time.Second)
	}
	handled := s.handled(s.lives[before:])
	for _, i := range s.instances {
		i.end()
	}
	if handled != sent {
		s.t.Errorf("of %d outcomes in a topic that was made anew %d were handled", sent, handled)
	}
	s.judgeSequences()
	s.took(effectRecreated)
}

// handled returns how many outcomes processes say that they handled.
func (s *simulation) handled(lives []*life) (n int) {
	for _, l := range lives {
		n += int(value(s.t, l.process.metrics.records.WithLabelValues(topics.Outcomes, "handled")))
	}
	return n
}

// judgeSequences looks whether the sequence of each life of a circuit grows by one.
func (s *simulation) judgeSequences() {
	last := map[string]schemas.State{}
	for _, r := range s.ReadCommitted(s.t, topics.Transitions) {
		st, err := schemas.DecodeState(r.Value)
		if err != nil || string(r.Key) == schemas.PoliciesKey || st.IsShadow {
			continue
		}
		before := last[st.Circuit]
		if st.Sequence != before.Sequence+1 && (st.Sequence != 1 || !st.Born.After(before.Born)) {
			s.t.Errorf("transitions/%d offset %d: sequence %d of %s comes after %d",
				r.Partition, r.Offset, st.Sequence, st.Circuit, before.Sequence)
		}
		last[st.Circuit] = st
	}
}
