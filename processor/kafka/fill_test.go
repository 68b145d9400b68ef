package kafka

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// lives returns the values of circuits that differ, under the built-in policy.
func lives(t testing.TB, kind string, n int) (values [][]byte) {
	t.Helper()
	core, at := processor.New(breaker.Builtin()), time.Now().Add(-time.Minute)
	for c := range n {
		for i := range 45 {
			o := schemas.Outcome{Circuit: fmt.Sprint("c", c), Kind: kind, ID: fmt.Sprint(c, "-", i), Count: 1}
			core.Step(at.Add(time.Duration(i)*100*time.Millisecond), processor.Input{Outcome: &o})
		}
	}
	for _, value := range core.Changes() {
		values = append(values, value.Append(nil))
	}
	return values
}

// fillChangelog writes circuits to the changelog as a processor would have left them, one of a hundred open. All of
// them belong where they are.
func fillChangelog(t testing.TB, cluster kafkatest.Endpoint, names Topics, partitions int32, circuits int) {
	t.Helper()
	client := cluster.Client(t, kgo.DefaultProduceTopic(names.Changelog), kgo.MaxBufferedRecords(100_000),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	k, err := connect(context.Background(), names, "", cluster.Opts(), func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer k.client.Close()
	var failed atomic.Pointer[error]
	produce := func(partition int32, key string, value []byte) {
		client.Produce(context.Background(), &kgo.Record{Partition: partition, Key: []byte(key), Value: value},
			func(_ *kgo.Record, err error) {
				if err != nil {
					failed.Store(&err)
				}
			})
	}
	closed, open := lives(t, schemas.Accepted, 2000), lives(t, schemas.MissingEvidence, 200)
	hash := kgo.StickyKeyPartitioner(nil).ForTopic("")
	known := map[int32]int{}
	for i := range circuits {
		circuit := fmt.Sprintf("use-case-%d:route-%d:v1", i%7, i)
		value := closed[i%len(closed)]
		if i%100 == 0 {
			value = open[i/100%len(open)]
		}
		partition := int32(hash.Partition(&kgo.Record{Key: []byte(circuit)}, int(partitions)))
		known[partition]++
		produce(partition, circuit, value)
	}
	policies := breaker.Builtin()
	for i := range partitions {
		produce(i, policiesKey(0), []byte(policies.Text))
		p := progress{Schema: progressSchema, Partitions: partitions, ClockMS: time.Now().UnixMilli(), Number: 1,
			Outcomes: inputPosition{TopicID: k.topicIDs[names.Outcomes]}, Policies: policies.Version,
			Signals: inputPosition{TopicID: k.topicIDs[names.Signals]}, Writer: "before", Circuits: known[i]}
		produce(i, progressKey, p.append(nil))
	}
	if err := client.Flush(context.Background()); err != nil || failed.Load() != nil {
		t.Fatalf("fill the changelog: %v, %v", err, failed.Load())
	}
}
