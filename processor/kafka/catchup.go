package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/state"
)

// catchUp reads the changelog of a partition into the store, up to an end.
type catchUp struct {
	loop      *Loop
	partition int32
	end       int64
	reader    logReader

	changes  []state.Change
	progress []byte // The newest progress record.
	saved    int
	moved    time.Time // When the position moved last.
	told     time.Time // When progress was last told.
}

func (c *catchUp) run(ctx context.Context) error {
	if err := c.begin(); err != nil {
		return err
	}
	for c.reader.position < c.end {
		before := c.reader.position
		records, err := again(ctx, c.loop.trouble(c.partition), func() ([]*kgo.Record, error) {
			return c.reader.next(ctx)
		})
		if err == nil {
			err = c.take(ctx, records)
		}
		if err != nil {
			return err
		}
		c.watch(before)
		if err := c.loop.crashes("in restore"); err != nil {
			return err
		}
	}
	c.save()
	c.loop.status.remaining(c.partition, 0)
	return nil
}

// begin takes up where the store stands.
func (c *catchUp) begin() error {
	at, _, err := c.loop.store.Position(c.partition)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	c.progress = at.Progress
	c.moved, c.told = time.Now(), time.Now()
	c.loop.status.remaining(c.partition, max(c.end-c.reader.position, 0))
	return nil
}

// take hands records to the store, a slice at a time. A progress record comes after all values that it speaks of, and
// what comes after it only repeats them, so a position between the two is as good as any.
func (c *catchUp) take(ctx context.Context, records []*kgo.Record) error {
	for _, r := range records {
		if string(r.Key) == progressKey {
			c.progress = r.Value
			continue
		}
		c.changes = append(c.changes, state.Change{Circuit: string(r.Key), Value: r.Value})
	}
	if len(c.changes) >= saveSlice {
		c.save()
	}
	if c.saved < flushEvery {
		return nil
	}
	c.saved = 0
	// A disk that is full or slow only makes this wait: what is not written stays in memory.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := c.loop.store.Flush(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

func (c *catchUp) save() {
	c.loop.store.Save(c.partition, c.changes, state.Position{
		Offset: c.reader.position, At: time.Now(), Progress: c.progress,
	})
	c.saved += len(c.changes)
	c.changes = c.changes[:0]
}

// watch tells how far the restore is, and what keeps it where it does not move: a transaction that is open, mostly of a
// process that was killed. It goes by itself when the broker ends it.
func (c *catchUp) watch(before int64) {
	now := time.Now()
	left := max(c.end-c.reader.position, 0)
	switch {
	case c.reader.position > before:
		c.moved = now
		c.loop.status.remaining(c.partition, left)
	case now.Sub(c.moved) > stallAfter:
		c.moved = now
		holder := c.loop.cluster.holder(c.loop.config.Topics.Changelog, c.partition)
		c.loop.log.Warn("restore stands still: a transaction is open", "partition", c.partition,
			"offset", c.reader.position, "end", c.end, "held by", holder)
		c.loop.status.problemText(c.partition, fmt.Sprintf("the changelog cannot be read beyond offset %d of %d: "+
			"an open transaction is held by %s", c.reader.position, c.end, holder))
	}
	if now.Sub(c.told) > stallAfter {
		c.told = now
		c.loop.log.Info("restore goes on", "partition", c.partition, "records left", left)
	}
}
