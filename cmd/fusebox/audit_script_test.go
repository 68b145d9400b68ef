package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// alterCopy copies the transitions to another topic, a partition and an order at a time, without the switches of
// policies before the range where asked. What the last record that has the text says is replaced; by nothing, the
// record is left out: altercopy TO OLD NEW
func alterCopy(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	from, to, old, by := "fusebox.circuit-transitions.v1", args[0], []byte(args[1]), []byte(args[2])
	brokers := kgo.SeedBrokers(strings.Split(ts.Getenv("FUSEBOX_BROKERS"), ",")...)
	client, err := kgo.NewClient(brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	ts.Check(err)
	ts.Defer(client.Close)
	adm := kadm.NewClient(client)
	ends, err := adm.ListEndOffsets(ctx, from)
	ts.Check(err)
	created, err := adm.CreateTopic(ctx, int32(len(ends[from])), 1, nil, to)
	ts.Check(err)
	ts.Check(created.Err)
	for partition, end := range ends[from] {
		r := partitionReader{client: client, topic: from, partition: partition}
		var records []*kgo.Record
		ts.Check(r.readTo(ctx, end.Offset, func(r *kgo.Record) {
			r.Topic = to
			records = append(records, r)
		}))
		for i := len(records) - 1; i >= 0; i-- {
			if !bytes.Contains(records[i].Value, old) {
				continue
			}
			ts.Logf("alter %s", strconv.Itoa(i))
			records[i].Value = bytes.Replace(records[i].Value, old, by, 1)
			if len(by) == 0 {
				records = append(records[:i], records[i+1:]...)
			}
			break
		}
		ts.Check(client.ProduceSync(ctx, records...).FirstErr())
	}
}
