package oracle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// valueHead is the part of a circuit's value that is of fixed width. Behind it stand, as varints, the number of the
// policies in force, and the next offsets of both inputs after the circuit's last record.
const valueHead = 18

func inputsOf(value []byte) (in schemas.Inputs, err error) {
	if len(value) < valueHead {
		return in, errors.New("value is cut short")
	}
	rest, regime := value[valueHead:], int64(0)
	for _, n := range []*int64{&regime, &in.Outcomes, &in.Signals} {
		v, width := binary.Varint(rest)
		if width <= 0 {
			return in, errors.New("value is cut short")
		}
		*n, rest = v, rest[width:]
	}
	return in, nil
}

// valueCuts returns the points in a partition's history that the values of the changelog tell.
func (l *Log) valueCuts(partition int32, faults *[]string) []cut {
	var cuts []cut
	for _, r := range of(l.Changelog, partition) {
		if !isCircuit(r) || r.Value == nil {
			continue
		}
		at, err := inputsOf(r.Value)
		if err != nil {
			*faults = append(*faults, fmt.Sprintf("changelog/%d offset %d: %v", partition, r.Offset, err))
			continue
		}
		cuts = append(cuts, cut{Cut: audit.Cut{At: at, Circuit: string(r.Key)}})
	}
	return cuts
}

// isCircuit tells whether a record of the changelog or of the states is about a circuit.
func isCircuit(r *kgo.Record) bool { return len(r.Key) > 0 && r.Key[0] != 0 }

// values looks whether the changelog ends with what the core knows of each circuit: all that it has counted.
func (c *checker) values() {
	if c.log.Changelog == nil {
		return
	}
	got := map[string]*kgo.Record{}
	for _, r := range c.log.Changelog {
		if isCircuit(r) {
			got[string(r.Key)] = r
		}
	}
	for circuit, want := range c.want.Values {
		switch r := got[circuit]; {
		case r == nil:
			c.fault("the changelog has nothing of %s", circuit)
		case r.Value == nil && c.want.Idle[circuit]:
		case !bytes.Equal(r.Value, want) || r.Partition != c.want.Homes[circuit]:
			c.fault("the changelog's last value of %s, %d/%d:\n got %x\nwant %x",
				circuit, r.Partition, r.Offset, r.Value, want)
		}
	}
	for circuit, r := range got {
		if c.want.Values[circuit] == nil && r.Value != nil {
			c.fault("changelog/%d offset %d: nothing is to be known of %q", r.Partition, r.Offset, circuit)
		}
	}
}
