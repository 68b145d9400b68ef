package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// Check compares what was published with what must have been, byte for byte: nothing twice, nothing missing, in order,
// sequences without a gap, every record handled once, wherever it was written. The error has a line for each fault.
func Check(l *Log) (*Expected, error) {
	e, faults := Expect(l)
	c := &checker{log: l, want: e, faults: faults}
	c.transitions()
	c.sequences()
	c.states()
	c.values()
	c.letters()
	c.forwards()
	if e.Count() == 0 {
		c.fault("nothing was to be published, so nothing was compared")
	}
	if len(c.faults) == 0 {
		return e, nil
	}
	return e, errors.New(strings.Join(c.faults, "\n"))
}

type checker struct {
	log    *Log
	want   *Expected
	faults []string
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// transitions compares the state records of the transitions topic, and tells the first difference of a partition.
func (c *checker) transitions() {
	for id := range c.log.Partitions {
		want, n := c.want.Transitions[id], 0
		for _, r := range of(c.log.Transitions, id) {
			if !isCircuit(r) {
				continue
			}
			if n >= len(want) || string(r.Value) != want[n] {
				break
			}
			n++
		}
		got := c.stateRecords(id)
		if n < len(want) || n < len(got) {
			c.fault("partition %d, transition %d, of %d published and %d expected:\n got %s\nwant %s",
				id, n, len(got), len(want), nth(got, n), nth(want, n))
		}
	}
}

// stateRecords returns the records of a partition of the transitions topic that are about a circuit.
func (c *checker) stateRecords(id int32) (values []string) {
	for _, r := range of(c.log.Transitions, id) {
		if isCircuit(r) {
			values = append(values, string(r.Value))
		}
	}
	return values
}

func nth(list []string, n int) string {
	if n >= len(list) {
		return "(nothing)"
	}
	return list[n]
}

// sequences looks whether the sequence of each circuit's life begins with 1 and grows by one, and whether the
// transitions of shadows follow the record that shows them.
func (c *checker) sequences() {
	last := map[string]schemas.State{}
	for _, r := range c.log.Transitions {
		if !isCircuit(r) {
			continue
		}
		state, err := schemas.DecodeState(r.Value)
		if err != nil {
			continue // Told already.
		}
		if state.IsShadow {
			if of := last[state.Circuit]; of.Sequence != state.Sequence || !of.Born.Equal(state.Born) {
				c.fault("transitions/%d offset %d: a shadow of %s has sequence %d, the circuit's record %d",
					r.Partition, r.Offset, state.Circuit, state.Sequence, of.Sequence)
			}
			continue
		}
		next := int64(1)
		if before, any := last[state.Circuit]; any && before.Born.Equal(state.Born) {
			next = before.Sequence + 1
		}
		if state.Sequence != next || string(r.Key) != state.Circuit {
			c.fault("transitions/%d offset %d: key %q, circuit %q, sequence %d, want %d",
				r.Partition, r.Offset, r.Key, state.Circuit, state.Sequence, next)
		}
		last[state.Circuit] = state
	}
}

// states looks whether the state topic ends with the newest record of each circuit, in the circuit's partition, and
// whether none of them ever went back.
func (c *checker) states() {
	got := map[string]*kgo.Record{}
	newest := map[string]schemas.State{}
	for _, r := range c.log.States {
		if !isCircuit(r) {
			continue
		}
		circuit := string(r.Key)
		got[circuit] = r
		if r.Value == nil {
			continue
		}
		state, err := schemas.DecodeState(r.Value)
		before := newest[circuit]
		if err != nil || state.Born.Before(before.Born) ||
			state.Born.Equal(before.Born) && state.Sequence <= before.Sequence {
			c.fault("states/%d offset %d: sequence %d of %s comes after %d: %v",
				r.Partition, r.Offset, state.Sequence, circuit, before.Sequence, err)
		}
		newest[circuit] = state
	}
	for circuit, want := range c.want.States {
		r := got[circuit]
		switch {
		case r == nil:
			c.fault("state of %s: got nothing, want %s", circuit, want)
		case r.Value == nil && c.want.Idle[circuit]:
		case string(r.Value) != want || r.Partition != c.want.Partitions[circuit]:
			c.fault("state of %s, partition %d:\n got %s\nwant %s", circuit, r.Partition, r.Value, want)
		}
	}
	for circuit, r := range got {
		if _, known := c.want.States[circuit]; !known {
			c.fault("states/%d offset %d: nothing is to be known of %q", r.Partition, r.Offset, circuit)
		}
	}
}

// letters looks whether what was to be set aside is among the dead letters, once, and nothing else.
func (c *checker) letters() {
	got := map[Place]int{}
	for _, r := range c.log.DeadLetters {
		var headers []schemas.Header
		for _, h := range r.Headers {
			headers = append(headers, schemas.Header{Key: h.Key, Value: h.Value})
		}
		letter, err := schemas.DecodeDeadLetter(headers, r.Value)
		place := Place{Topic: letter.Topic, Partition: letter.Partition, Offset: letter.Offset}
		if err != nil || !c.want.Letters[place] {
			c.fault("dead letter %d/%d of %v (%s): none was to be written: %v",
				r.Partition, r.Offset, place, letter.Problem, err)
		}
		got[place]++
	}
	for place := range c.want.Letters {
		if got[place] != 1 {
			c.fault("%d dead letters of %v, want 1", got[place], place)
		}
	}
}

// forwards looks whether every record that was written to a partition not its own arrived where it belongs, as it was.
func (c *checker) forwards() {
	lost := map[Place]bool{} // By where they were first.
	for _, r := range c.log.Lost {
		lost[Place{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}] = true
		if from, err := schemas.ReadForward(forward(r)); err == nil {
			lost[Place{Topic: r.Topic, Partition: from.Partition, Offset: from.Offset}] = true
		}
	}
	for place, original := range c.want.Forwarded {
		arrived := c.want.Arrived[place]
		if arrived == nil && lost[place] {
			continue
		}
		if arrived == nil {
			c.fault("%v was not forwarded, key %q", place, original.Key)
			continue
		}
		if !bytes.Equal(arrived.Key, original.Key) || !bytes.Equal(arrived.Value, original.Value) {
			c.fault("%v was forwarded as %q: %s, want %q: %s",
				place, arrived.Key, arrived.Value, original.Key, original.Value)
		}
		if from, _ := schemas.ReadForward(forward(arrived)); !from.At.Equal(original.Timestamp) {
			c.fault("%v was forwarded with the time %v, want %v", place, from.At, original.Timestamp)
		}
	}
	for place := range c.want.Arrived {
		if c.want.Forwarded[place] == nil && !lost[place] {
			c.fault("%v was forwarded, and nothing there was to be", place)
		}
	}
}
