package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// setAside puts a record that cannot be handled among the dead letters of the next transaction.
func (w *worker) setAside(p *pair, r *kgo.Record, problem string) {
	letter := schemas.DeadLetter{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Problem: problem, Size: int64(len(r.Value)),
	}
	if w.loop.config.DeadLetterPayload {
		letter.Payload = r.Value
	}
	headers := letter.Headers()
	record := &kgo.Record{
		Topic:     w.loop.config.Topics.DeadLetters,
		Partition: p.id % w.loop.cluster.deadLetters,
		Key:       letter.Cut(r.Key),
		Value:     letter.Value(),
		Headers:   make([]kgo.RecordHeader, 0, len(headers)),
	}
	for _, h := range headers {
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	p.out.letters = append(p.out.letters, record)
	w.log.Debug("set aside", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "problem", problem)
}
