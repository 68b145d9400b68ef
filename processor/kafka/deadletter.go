package kafka

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// deadLetterKeySize is the header of a dead letter whose key did not fit: how many bytes it had as it came.
const deadLetterKeySize = "fusebox-key-size"

// problemMost bounds the words of a problem: a panic may quote what it likes.
const problemMost = 1024

// setAside puts a record that cannot be handled among the dead letters of the next transaction. The letter has the
// record's key, cut where it is longer than a dead letter has room for, and none of its headers.
func (w *worker) setAside(p *pair, r *kgo.Record, problem string) {
	letter := schemas.DeadLetter{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Problem: schemas.Cut(problem, problemMost),
		Size: int64(len(r.Value)),
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
		Headers:   make([]kgo.RecordHeader, 0, len(headers)+1),
	}
	for _, h := range headers {
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	if whole := len(r.Key); whole > len(record.Key) {
		record.Headers = append(record.Headers, kgo.RecordHeader{
			Key: deadLetterKeySize, Value: strconv.AppendInt(nil, int64(whole), 10),
		})
	}
	p.out.letters = append(p.out.letters, record)
	w.log.Debug("set aside", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "problem", problem)
}
