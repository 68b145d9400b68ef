package kafka

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/state"
)

const (
	stallAfter = 15 * time.Second // Longer than a transaction may last.
	tellEvery  = 5 * time.Second
)

// catchUp reads the changelog of a partition into the store, up to an end.
type catchUp struct {
	loop      *Loop
	partition int32
	end       int64
	reader    logReader

	changes  []state.Change
	progress []byte // The newest progress record.
	start    int64
	began    time.Time
	moved    time.Time // When the position moved last.
	told     time.Time // When progress was last told.
}

func (c *catchUp) run(ctx context.Context) error {
	if err := c.begin(); err != nil {
		return err
	}
	for c.reader.position < c.end {
		before := c.reader.position
		if err := c.read(ctx); err != nil {
			return err
		}
		c.watch(before)
		if err := c.loop.crashes("restore of " + strconv.Itoa(int(c.partition))); err != nil {
			return err
		}
	}
	return nil
}

// begin takes up where the store stands.
func (c *catchUp) begin() error {
	at, _, err := c.loop.store.Position(c.partition)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	c.progress, c.start, c.began = at.Progress, c.reader.position, time.Now()
	c.moved, c.told = c.began, c.began
	c.loop.status.restores(c.partition, 0, max(c.end-c.start, 0))
	return nil
}

// read takes one answer of the broker.
func (c *catchUp) read(ctx context.Context) error {
	part, err := again(ctx, c.loop.trouble(c.partition), func() (*kmsg.FetchResponseTopicPartition, error) {
		return c.reader.fetch(ctx)
	})
	if err != nil {
		return err
	}
	// A few at a time, as what is unpacked takes much memory.
	select {
	case c.loop.unpacking <- struct{}{}:
		defer func() { <-c.loop.unpacking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	records, err := c.reader.unpack(part)
	if err != nil {
		return err
	}
	c.take(records)
	return c.save(ctx)
}

// take notes what records say. A progress record comes after all values that it speaks of, and what comes after it only
// repeats them, so a position between the two is as good as any.
func (c *catchUp) take(records []*kgo.Record) {
	size := 0
	for _, r := range records {
		size += len(r.Key) + len(r.Value)
		if string(r.Key) == progressKey {
			c.progress = r.Value
			continue
		}
		c.changes = append(c.changes, state.Change{Circuit: string(r.Key), Value: r.Value})
	}
	c.loop.metrics.restored.Add(float64(len(records)))
	c.loop.metrics.restoredBytes.Add(float64(size))
}

// save hands what was taken to the store. It waits while the disk is far behind.
func (c *catchUp) save(ctx context.Context) error {
	position := state.Position{Offset: c.reader.position, At: c.loop.now(), Progress: c.progress}
	defer func() {
		clear(c.changes)
		c.changes = c.changes[:0]
	}()
	if c.reader.position >= c.end {
		c.loop.store.Save(c.partition, c.changes, position)
		return nil
	}
	if err := c.loop.store.Fill(ctx, c.partition, c.changes, position); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// watch tells how far the restore is, and what keeps it where it does not move: a transaction that is open, mostly of a
// process that was killed. It goes by itself when the broker ends it.
func (c *catchUp) watch(before int64) {
	now := time.Now()
	done, total := min(c.reader.position, c.end)-c.start, c.end-c.start
	switch {
	case c.reader.position > before:
		c.moved = now
		c.loop.status.restores(c.partition, done, total)
	case now.Sub(c.moved) > stallAfter:
		c.moved = now
		holder := c.loop.cluster.holder(c.loop.config.Topics.Changelog, c.partition)
		c.loop.log.Warn("restore stands still: a transaction is open", "partition", c.partition,
			"offset", c.reader.position, "end", c.end, "held by", holder)
		c.loop.status.problemText(c.partition, fmt.Sprintf("the changelog cannot be read beyond offset %d of %d: "+
			"an open transaction is held by %s", c.reader.position, c.end, holder))
	}
	if now.Sub(c.told) < tellEvery {
		return
	}
	c.told = now
	rate := float64(done) / now.Sub(c.began).Seconds()
	left := "unknown"
	if rate > 0 {
		left = time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second).String()
	}
	c.loop.log.Info("partition is being restored", "partition", c.partition, "records", done, "of", total,
		"left", total-done, "records a second", int64(rate), "time left", left)
}
