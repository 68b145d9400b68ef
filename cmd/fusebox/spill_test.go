package main

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestSpill compares it with a map, under values that grow and shrink, and wants it to use again what was left.
func TestSpill(t *testing.T) {
	s := &spill{}
	defer s.close()
	rng := rand.New(rand.NewPCG(1, 1))
	want := make(map[int][]byte)
	for i := range 20_000 {
		name := rng.IntN(100)
		value := bytes.Repeat([]byte{byte(i)}, rng.IntN(3000))
		if err := s.Put(name, value); err != nil {
			t.Fatal(err)
		}
		want[name] = value
		name = rng.IntN(100)
		if _, there := want[name]; !there {
			continue
		}
		got, err := s.Get(name)
		if err != nil || !bytes.Equal(got, want[name]) {
			t.Fatalf("step %d: Get(%d) = %d bytes, %v, want %d", i, name, len(got), err, len(want[name]))
		}
	}
	if most := int64(100 * 2 * 4096); s.end > most {
		t.Errorf("the file is %d bytes long, want at most %d", s.end, most)
	}
	if _, err := s.Get(100); err == nil {
		t.Error("Get of what was never put away: no error, want one")
	}
}
