package kafkatest_test

import (
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

func TestLoopback(t *testing.T) {
	c := kafkatest.NewLoopback(t)
	c.CreateTopics(t, "fusebox.", 4)
	outcomes := kafkatest.Topics("fusebox.")[0]
	want := make(map[string]int32)
	var records []*kgo.Record
	for i := range int32(8) {
		value := strconv.Itoa(int(i))
		want[value] = i % 4
		records = append(records, &kgo.Record{Topic: outcomes, Partition: i % 4, Value: []byte(value)})
	}
	c.ProduceTo(t, records...)
	got := c.ReadCommitted(t, outcomes)
	if len(got) != len(want) {
		t.Errorf("ReadCommitted returns %d records, want %d", len(got), len(want))
	}
	for _, r := range got {
		if partition := want[string(r.Value)]; r.Partition != partition {
			t.Errorf("record %s is in partition %d, want %d", r.Value, r.Partition, partition)
		}
	}
	for _, name := range kafkatest.Topics("fusebox.") {
		if got := len(c.PartitionInfos(name)); got != 4 {
			t.Errorf("%s has %d partitions, want 4", name, got)
		}
	}
}
