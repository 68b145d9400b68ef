package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// poll waits for records, for a word in the inbox or for the next thing that is due, and hands the records to the
// pairs.
func (w *worker) poll(ctx context.Context) error {
	ctx, cancel := context.WithDeadline(ctx, w.next())
	defer cancel()
	w.inbox.wakes(cancel)
	fetches := w.client.PollRecords(ctx, maxPoll)
	w.polls++
	var fault error
	fetches.EachPartition(func(t kgo.FetchTopicPartition) {
		if t.Err != nil && fault == nil {
			fault = w.fetchFault(t)
		}
		p := w.pairs[t.Partition]
		if p == nil || !p.phase.works() || len(t.Records) == 0 {
			return
		}
		switch t.Topic {
		case p.outcomes.topic:
			p.outcomes.add(t.Records)
		case p.signals.topic:
			p.signals.add(t.Records)
		}
	})
	return fault
}

// fetchFault decides what an error of a poll means: nil where the client goes on by itself.
func (w *worker) fetchFault(t kgo.FetchTopicPartition) error {
	var bomb *kgo.ErrDecompressTooLarge
	var group *kgo.ErrGroupSession
	switch err := t.Err; {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, kerr.FencedInstanceID):
		return fmt.Errorf("%w: poll: %w", errRejoin, err)
	case errors.As(err, &group):
		w.log.Warn("group membership interrupted", "err", err)
		if fatal(err) {
			return err
		}
		return nil
	case errors.As(err, &bomb):
		w.skipBatch(bomb)
		return nil
	case errors.Is(err, kgo.ErrClientClosed):
		return fmt.Errorf("%w: %w", errRejoin, err)
	case errors.Is(err, kerr.OffsetOutOfRange), errors.Is(err, kerr.UnknownTopicID),
		errors.Is(err, kerr.UnknownTopicOrPartition):
		return fmt.Errorf("%w: poll %s/%d: %w", errRejoin, t.Topic, t.Partition, err)
	default:
		w.log.Warn("poll", "topic", t.Topic, "partition", t.Partition, "err", err)
		w.mute(t)
		return nil
	}
}

// mute stops asking for a partition that answers with an error which does not go by itself, and says so in the report:
// asked again at once, the broker would answer at once, as often as it can. The next heartbeats ask again.
func (w *worker) mute(t kgo.FetchTopicPartition) {
	p := w.pairs[t.Partition]
	if p == nil || !p.phase.works() || t.Topic != p.outcomes.topic && t.Topic != p.signals.topic {
		return
	}
	w.client.PauseFetchPartitions(map[string][]int32{t.Topic: {p.id}})
	p.muted = append(p.muted, t.Topic)
	w.loop.status.problemText(p.id, fmt.Sprintf("%s cannot be read: %v", t.Topic, t.Err))
}

// unmute asks for what answered with an error once more, and takes the word of it back where there was none since.
func (w *worker) unmute(p *pair) {
	switch {
	case len(p.muted) > 0:
		p.unsure = true
	case p.unsure:
		p.unsure = false
		w.loop.status.problemText(p.id, "")
	}
	p.muted = p.muted[:0]
}

// wakeAfter is how long after it was moved the client is told to fetch once more.
const wakeAfter = 100 * time.Millisecond

// move has the client go on elsewhere. It may lose the word to: franz-go (v1.22.3) ends a fetch loop that was begun for
// the place before, and does not look whether it was begun again since. Nothing is read from that broker any more then,
// until it is woken: in 5 of 900 starts with 24 partitions.
func (w *worker) move(offsets map[string]map[int32]kgo.EpochOffset) {
	w.client.SetOffsets(offsets)
	w.wake = time.Now().Add(wakeAfter)
}

// fetchAgain wakes the client, and has it fetch all that is to be fetched.
func (w *worker) fetchAgain() {
	w.wake = time.Time{}
	partitions := map[string][]int32{}
	for p := range w.working() {
		for _, topic := range []string{p.outcomes.topic, p.signals.topic} {
			if !slices.Contains(p.muted, topic) && (topic == p.outcomes.topic || !p.held) {
				partitions[topic] = append(partitions[topic], p.id)
			}
		}
	}
	w.client.ResumeFetchPartitions(partitions)
}

// skipBatch goes on behind a batch that is too large to be unpacked. A record that is marked stands in its place: when
// its turn comes, the batch is set aside as one dead letter, and the offset behind it is committed. Nothing is done for
// a pair that does not work: it begins where it was, and finds the batch again.
func (w *worker) skipBatch(bomb *kgo.ErrDecompressTooLarge) {
	p := w.pairs[bomb.Partition]
	if p == nil || !p.phase.works() {
		return
	}
	from := &p.outcomes
	if bomb.Topic == p.signals.topic {
		from = &p.signals
	}
	if first := max(bomb.Offset, from.polled); first < bomb.NextOffset {
		last := bomb.NextOffset - 1
		p.mark(bomb.Topic, last, poison{
			problem: fmt.Sprintf("a batch of the offsets %d to %d unpacks to more than %d bytes",
				bomb.Offset, last, batchMaxBytes),
			tooLarge: true, batch: bomb.NextOffset - first,
		})
		from.add([]*kgo.Record{{Topic: bomb.Topic, Partition: bomb.Partition, Offset: last}})
		w.log.Error("a batch is too large to be unpacked and is set aside", "topic", bomb.Topic,
			"partition", bomb.Partition, "from", bomb.Offset, "to", last, "limit", batchMaxBytes)
	}
	w.move(map[string]map[int32]kgo.EpochOffset{
		bomb.Topic: {bomb.Partition: {Epoch: bomb.Epoch, Offset: from.polled}},
	})
}

// signalsWaiting bounds how many signals of a pair wait in memory for a backlog of outcomes.
const signalsWaiting = 1000

// holdSignals stops polling the signals of a pair while too many wait, and polls them again when few are left.
func (w *worker) holdSignals(p *pair) {
	partition := map[string][]int32{p.signals.topic: {p.id}}
	switch waiting := len(p.signals.queue); {
	case !p.held && waiting > signalsWaiting:
		p.held = true
		w.client.PauseFetchPartitions(partition)
	case p.held && waiting < signalsWaiting/2:
		p.held = false
		w.client.ResumeFetchPartitions(partition)
	}
}

// rewind takes a pair back to its last commit.
func (w *worker) rewind(p *pair) {
	w.rollback(p)
	offsets := map[string]map[int32]kgo.EpochOffset{}
	p.offsets(offsets)
	w.move(offsets)
}

// rewindAll takes all pairs that work back to their last commits.
func (w *worker) rewindAll() {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for p := range w.working() {
		w.rollback(p)
		p.offsets(offsets)
	}
	w.move(offsets)
}

func (w *worker) rollback(p *pair) {
	w.loop.known.Add(int64(-p.out.known))
	p.rollback()
	w.retry = time.Time{}
}
