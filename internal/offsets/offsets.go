// Package offsets asks the brokers where the partitions of a topic begin and end, and how far a group is. An
// error says what was asked, and unwraps to what the brokers answered.
package offsets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Starts returns the first offset of each partition.
func Starts(ctx context.Context, admin *kadm.Client, topic string) (map[int32]int64, error) {
	return ask(ctx, "start", topic, admin.ListStartOffsets)
}

// Ends returns the high watermark of each partition. A transaction that is open may hide what comes before it.
func Ends(ctx context.Context, admin *kadm.Client, topic string) (map[int32]int64, error) {
	return ask(ctx, "end", topic, admin.ListEndOffsets)
}

// Committed returns the last stable offset of each partition: where what is committed ends.
func Committed(ctx context.Context, admin *kadm.Client, topic string) (map[int32]int64, error) {
	return ask(ctx, "end", topic, admin.ListCommittedOffsets)
}

// At returns the offset of each partition's first record of a time or later: its high watermark where there is none.
func At(ctx context.Context, admin *kadm.Client, topic string, at time.Time) (map[int32]int64, error) {
	list := func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return admin.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topics...)
	}
	return ask(ctx, "offsets at "+at.Format(time.RFC3339), topic, list)
}

// Stable returns what a group has committed for the partitions of topics; what it has none of is not in it. That a
// transaction is open which would change any of it is an error, which passes.
func Stable(ctx context.Context, admin *kadm.Client, group string, topics ...string) (kadm.OffsetResponses, error) {
	found, err := admin.FetchOffsets(kadm.RequireStable(ctx), group)
	if err == nil {
		maps.DeleteFunc(found, func(topic string, _ map[int32]kadm.OffsetResponse) bool {
			return !slices.Contains(topics, topic)
		})
		err = found.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the offsets of group %s: %w", group, err)
	}
	return found, nil
}

func ask(
	ctx context.Context, what, topic string, list func(context.Context, ...string) (kadm.ListedOffsets, error),
) (map[int32]int64, error) {
	listed, err := list(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the %s of %s: %w", what, topic, err)
	}
	offsets := make(map[int32]int64, len(listed[topic]))
	for partition, o := range listed[topic] {
		offsets[partition] = o.Offset
	}
	return offsets, nil
}
