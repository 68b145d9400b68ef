package kafkatest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience is how long a helper waits before it fails the test. In a bubble it costs nothing.
const patience = 2 * time.Minute

// Endpoint is a way to reach a cluster, whatever the cluster is made of.
type Endpoint struct {
	// Seeds are the addresses that a client may begin with.
	Seeds []string

	options     []kgo.Opt
	replication int16
}

// Opts returns the options of a client of this cluster: how to reach it, then what the caller adds.
func (e Endpoint) Opts(more ...kgo.Opt) []kgo.Opt {
	return append(slices.Clone(e.options), more...)
}

// Client returns a client that is closed at the end of the test.
func (e Endpoint) Client(t testing.TB, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(e.Opts(more...)...)
	if err != nil {
		t.Fatalf("new client of %v: %v", e.Seeds, err)
	}
	t.Cleanup(client.CloseAllowingRebalance)
	return client
}

// Topics returns the names of Fusebox's topics under a prefix, in the order of the specification: outcomes, signals,
// circuit states, transitions, changelog, dead letters.
func Topics(prefix string) []string {
	return []string{
		prefix + "outcomes.v1", prefix + "signals.v1", prefix + "circuit-state.v1",
		prefix + "circuit-transitions.v1", prefix + "changelog.v1", prefix + "outcomes-dlq.v1",
	}
}

// CreateTopics creates Fusebox's topics under a prefix with as many partitions each, and waits until all of them have
// a leader. Inputs have LogAppendTime, which kfake does not heed; states and changelog are compacted.
func (e Endpoint) CreateTopics(t testing.TB, prefix string, partitions int32) {
	t.Helper()
	names := Topics(prefix)
	e.Create(t, partitions, map[string]string{"message.timestamp.type": "LogAppendTime"}, names[0], names[1])
	e.Create(t, partitions, map[string]string{"cleanup.policy": "compact"}, names[2], names[4])
	e.Create(t, partitions, nil, names[3], names[5])
}

// Create creates topics with the given settings and waits until every partition has a leader.
func (e Endpoint) Create(t testing.TB, partitions int32, settings map[string]string, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	admin := kadm.NewClient(e.Client(t))
	configs := make(map[string]*string, len(settings))
	for name, value := range settings {
		configs[name] = &value
	}
	created, err := admin.CreateTopics(ctx, partitions, e.replication, configs, names...)
	if err == nil {
		err = created.Error()
	}
	if err != nil {
		t.Fatalf("create topics %v with %d partitions: %v", names, partitions, err)
	}
	until(ctx, t, func() (bool, error) {
		found, err := admin.Metadata(ctx, names...)
		return err == nil && led(found, names, int(partitions)), err
	})
}

// led tells whether every partition of the topics has a leader.
func led(found kadm.Metadata, names []string, partitions int) bool {
	for _, name := range names {
		topic := found.Topics[name]
		if topic.Err != nil || len(topic.Partitions) != partitions {
			return false
		}
		for _, p := range topic.Partitions {
			if p.Err != nil || p.Leader < 0 {
				return false
			}
		}
	}
	return true
}

// WaitCaughtUp waits until the group has committed what its topics hold: for every partition the last stable offset.
// A topic whose last record was written in a transaction ends with a marker, which no group commits; a partition
// that is one behind counts as caught up if that one offset is such a marker.
func (e Endpoint) WaitCaughtUp(t testing.TB, group string, topics ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := e.Client(t)
	admin := kadm.NewClient(client)
	until(ctx, t, func() (bool, error) {
		ends, err := admin.ListCommittedOffsets(ctx, topics...)
		if err != nil {
			return false, err
		}
		commits, err := admin.FetchOffsets(kadm.RequireStable(ctx), group)
		if err != nil {
			return false, err
		}
		return e.caughtUp(t, ends, commits)
	})
}

// caughtUp compares a group's commits with the ends of its topics.
func (e Endpoint) caughtUp(t testing.TB, ends kadm.ListedOffsets, commits kadm.OffsetResponses) (bool, error) {
	for topic, partitions := range ends {
		for p, end := range partitions {
			if end.Err != nil {
				return false, end.Err
			}
			at := max(commits[topic][p].At, 0) // It is -1 where the first commit is pending.
			if at >= end.Offset {
				continue
			}
			if at != end.Offset-1 || !e.isMarker(t, topic, p, at) {
				return false, nil
			}
		}
	}
	return true, nil
}

// until asks again every 20 ms until the answer is yes, and fails the test when the context ends first.
func until(ctx context.Context, t testing.TB, ask func() (bool, error)) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		yes, err := ask()
		if yes {
			return
		}
		if err != nil && !transient(err) {
			t.Fatalf("wait: %v", err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("wait: %v; the last answer was %v", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// transient tells an error that a cluster which starts or moves things answers for a while.
func transient(err error) bool {
	var coded *kerr.Error
	return !errors.As(err, &coded) || coded.Retriable
}
