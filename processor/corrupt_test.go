package processor_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestValueOfANewerVersion is refused by name, not taken for corrupt.
func TestValueOfANewerVersion(t *testing.T) {
	value := bytes.Clone(richCircuits(t).values()["c"])
	if value[0] != 1 {
		t.Fatalf("a value begins with %d, want the oldest version that can hold it", value[0])
	}
	value[0] = processor.ValueVersion + 1
	r := newRig(t, rich)
	if err := r.Insert("c", value); !errors.Is(err, processor.ErrNewerValue) || r.Resident("c") {
		t.Errorf("Insert of a newer value = %v, want ErrNewerValue", err)
	}
	if _, err := processor.LastRecord(value); !errors.Is(err, processor.ErrNewerValue) {
		t.Errorf("LastRecord of a newer value = %v, want ErrNewerValue", err)
	}
	if value[0] = 0; r.Insert("c", value) == nil || errors.Is(r.Insert("c", value), processor.ErrNewerValue) {
		t.Error("Insert of version 0 is no error, or that of a newer version")
	}
}

// TestCorruptValue cuts values short at every byte, and makes each too long: all are errors, and nothing stays in
// memory.
func TestCorruptValue(t *testing.T) {
	for _, policy := range []string{rich, rich + beside} {
		for name, value := range fillRich(newRig(t, policy)).values() {
			r := newRig(t, policy)
			for n := range value {
				if err := r.Insert(name, value[:n]); err == nil || r.Resident(name) {
					t.Fatalf("Insert of %d bytes of %d of %s = %v, resident %v",
						n, len(value), name, err, r.Resident(name))
				}
			}
			if err := newRig(t, policy).Insert(name, append(value, 0)); err == nil {
				t.Errorf("Insert of %s with a byte too many is no error", name)
			}
		}
	}
}

// TestValueOfAShadowThatWent reads a circuit whose shadow's policy went while more policies came than are known: it is
// as it was, without the shadow, and says so with its next record.
func TestValueOfAShadowThatWent(t *testing.T) {
	value := fillRich(newRig(t, rich+beside)).values()["c"]
	other := rich + strings.Replace(beside, "careful", "bold", 1)
	for policy, want := range map[string]string{rich: "", other: "bold"} {
		r := newRig(t, policy)
		if err := r.Insert("c", value); err != nil {
			t.Fatal(err)
		}
		was := r.state(t, 3*time.Second)
		result := r.outcome(3*time.Second, schemas.Outcome{Kind: schemas.Cancelled})
		if len(result.States) != 1 || result.States[0].Sequence != was.Sequence+1 ||
			(want == "") != (result.States[0].Shadow == nil) {
			t.Errorf("shadow %q: the next record published %+v", want, result.States)
		}
	}
}

// TestImpossibleValue writes numbers into a value that no circuit has: more ids than are kept, a place among them that
// is not there, states and modes that are none.
func TestImpossibleValue(t *testing.T) {
	values := richCircuits(t).values()
	value, forced := values["c"], values["forced"]
	ids := idsOf(value)
	state := ids + 2 + 8*int(value[ids])
	if value[ids] != 64 {
		t.Fatalf("the number of ids is %d, want 64: the form of values has changed", value[ids])
	}
	forced[idsOf(forced)+3] = byte(schemas.Reset)
	more := slices.Concat(value[:ids], []byte{65}, value[ids+1:ids+2], make([]byte, 8), value[ids+2:])
	tests := map[string][]byte{"65 ids": more, "an override that is none": forced}
	for name, change := range map[string]struct {
		at int
		to byte
	}{
		"place 64": {ids + 1, 64}, "a forced state without an override": {state, byte(schemas.ForcedOpen)},
		"a state before that is none": {state, byte(schemas.Disabled+1) << 4}, "a mode that is none": {state + 1, 6},
		"a mode that is no state": {state + 1, byte(schemas.Reset)},
	} {
		tests[name] = bytes.Clone(value)
		tests[name][change.at] = change.to
	}
	for name, bad := range tests {
		if err := newRig(t, rich).Insert("c", bad); err == nil {
			t.Errorf("Insert of a value with %s is no error", name)
		}
	}
}

// idsOf returns where the ids begin in a value: behind the head, which has a fixed width, and eight numbers.
func idsOf(value []byte) int {
	at := 18
	for range 9 {
		_, width := binary.Varint(value[at:])
		at += width
	}
	return at
}

// FuzzInsert shows that no bytes make the core panic, and that what is read can be used, judged, written and read
// again.
func FuzzInsert(f *testing.F) {
	for _, policy := range []string{rich, rich + beside} {
		for _, value := range fillRich(newRig(f, policy)).values() {
			f.Add(value)
		}
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r := newRig(t, rich+beside)
		processor.NeedsReload(value)
		if r.Insert("c", value) != nil {
			return
		}
		at := 50 * time.Second
		r.state(t, at)
		r.Ratios("c")
		r.outcomes(at, schemas.Accepted, "tone", "tone", schemas.TransportFailure, schemas.Cancelled)
		r.claim(at, "Z")
		r.Reload(read(t, weighed), schemas.Inputs{})
		r.outcomes(at, schemas.Accepted, "tone", schemas.InvalidContract, schemas.InvalidContract)
		for name, again := range r.values() {
			if err := newRig(t, weighed).Insert(name, again); err != nil {
				t.Errorf("what was read does not read back: %v", err)
			}
		}
	})
}
