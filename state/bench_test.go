package state_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fusebox-project/fusebox/state"
)

const benchCircuits = 100_000

func benchStore(b *testing.B) (*state.Store, []state.Change) {
	s := open(b, b.TempDir(), state.Options{})
	rng := rand.New(rand.NewPCG(1, 0))
	changes := make([]state.Change, benchCircuits)
	for i := range changes {
		changes[i] = state.Change{Circuit: fmt.Sprintf("submission-extraction:route-%d:v4", i), Value: noise(rng, 700)}
	}
	s.Save(0, changes, at(1))
	flush(b, s)
	return s, changes
}

// BenchmarkSave is what a commit of 1,000 circuits costs the loop.
func BenchmarkSave(b *testing.B) {
	s, changes := benchStore(b)
	b.ReportAllocs()
	b.SetBytes(1000 * 700)
	offset := int64(1)
	for b.Loop() {
		from := int(offset) * 1000 % benchCircuits
		offset++
		s.Save(0, changes[from:from+1000], at(offset))
	}
}

// BenchmarkSaveAndFlush is the same, on disk.
func BenchmarkSaveAndFlush(b *testing.B) {
	s, changes := benchStore(b)
	b.ReportAllocs()
	b.SetBytes(1000 * 700)
	offset := int64(1)
	for b.Loop() {
		from := int(offset) * 1000 % benchCircuits
		offset++
		s.Save(0, changes[from:from+1000], at(offset))
		flush(b, s)
	}
	b.ReportMetric(float64(s.Stats().Bytes)/(1<<20), "MiB-on-disk")
}

// BenchmarkLoad is what a circuit costs that is not in memory.
func BenchmarkLoad(b *testing.B) {
	s, changes := benchStore(b)
	rng := rand.New(rand.NewPCG(2, 0))
	b.ReportAllocs()
	for b.Loop() {
		circuit := changes[rng.IntN(benchCircuits)].Circuit
		if _, ok, err := s.Load(0, circuit); !ok || err != nil {
			b.Fatalf("Load(%q) = %t, %v", circuit, ok, err)
		}
	}
}

// BenchmarkEach is a restore's read of a partition, per circuit.
func BenchmarkEach(b *testing.B) {
	s, _ := benchStore(b)
	n := 0
	for b.Loop() {
		if err := s.Each(0, func(string, []byte) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/circuit")
}
