package kafkatest

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// OpenTransaction is a transaction that a partition's leader takes to be under way. It keeps all that is behind its
// first record from readers.
type OpenTransaction struct {
	Topic            string
	Partition        int32
	ProducerID       int64
	ProducerEpoch    int16
	CoordinatorEpoch int32
	From             int64 // The offset of its first record.
}

// OpenTransactions returns those of some topics.
func (e Endpoint) OpenTransactions(t testing.TB, topics ...string) []OpenTransaction {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	set := kadm.TopicsSet{}
	for _, topic := range topics {
		set.Add(topic)
	}
	admin := kadm.NewClient(e.Client(t))
	defer admin.Close()
	found, err := admin.DescribeProducers(ctx, set)
	if err != nil {
		t.Fatalf("look for open transactions: %v", err)
	}
	var open []OpenTransaction
	found.EachProducer(func(p kadm.DescribedProducer) {
		if p.CurrentTxnStartOffset >= 0 {
			open = append(open, OpenTransaction{
				p.Topic, p.Partition, p.ProducerID, p.ProducerEpoch, p.CoordinatorEpoch, p.CurrentTxnStartOffset,
			})
		}
	})
	return open
}

// EndOpen writes the marker of a transaction in its coordinator's place, as an operator can.
func (e Endpoint) EndOpen(t testing.TB, o OpenTransaction, commit bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	set := kadm.TopicsSet{}
	set.Add(o.Topic, o.Partition)
	admin := kadm.NewClient(e.Client(t))
	defer admin.Close()
	written, err := admin.WriteTxnMarkers(ctx, kadm.TxnMarkers{
		ProducerID: o.ProducerID, ProducerEpoch: o.ProducerEpoch, Commit: commit,
		CoordinatorEpoch: max(o.CoordinatorEpoch, 0), Topics: set,
	})
	written.EachPartition(func(p kadm.TxnMarkersPartitionResponse) {
		if err == nil {
			err = p.Err
		}
	})
	if err != nil {
		t.Fatalf("end the transaction of producer %d in %s/%d: %v", o.ProducerID, o.Topic, o.Partition, err)
	}
}
