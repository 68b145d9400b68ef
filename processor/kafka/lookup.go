package kafka

import (
	"context"
	"fmt"
	"time"
)

// lookUp finds out how a transaction ended whose commit was not confirmed. The client cannot know: a broker may have
// committed and answered with an error. The group's offsets tell, by the number that their metadata holds; they are
// not given out while a transaction that could change them is open.
func (w *worker) lookUp(ctx context.Context, batch []publication, why error) error {
	w.loop.metrics.transactions.WithLabelValues(unknownResult).Inc()
	if isFenced(why) {
		return fmt.Errorf("%w: end a transaction: %w", errRejoin, why)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*transactionTimeout)
	defer cancel()
	offsets, err := again(ctx, w.unanswered, func() (map[int32]committed, error) {
		return w.loop.cluster.offsets(ctx)
	})
	if err != nil {
		return fmt.Errorf("%w: how a transaction ended is not known: %w: %w", errRejoin, why, err)
	}
	done, undone := 0, 0
	for _, pub := range batch {
		switch now := offsets[pub.pair.id].stamp; {
		case now == pub.next.stamp():
			done++
			w.count(pub.pair, time.Now())
		case now == pub.pair.stamp:
			undone++
		}
	}
	switch {
	case done > 0:
		return fmt.Errorf("%w: a transaction committed though its end was not confirmed: %w", errRejoin, why)
	case undone == len(batch):
		return w.again(why)
	}
	return fmt.Errorf("%w: others have committed for partitions of a transaction: %w", errRejoin, why)
}

func (w *worker) unanswered(err error) {
	w.log.Warn("how a transaction ended is asked again", "err", err)
}
