package state_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/state"
)

func TestPitfall15WipeForgetsWithPendingWrites(t *testing.T) {
	for _, flushed := range []bool{false, true} {
		dir := t.TempDir()
		s := open(t, dir, state.Options{})
		s.Save(1, []state.Change{set("old", "1"), set("both", "1")}, at(10))
		s.Save(2, []state.Change{set("old", "2")}, at(20))
		if flushed {
			flush(t, s)
		}
		s.Save(1, []state.Change{set("pending", "1")}, at(11))
		if err := s.Wipe(1); err != nil {
			t.Fatalf("Wipe(1) = %v", err)
		}
		checkValues(t, s, 1, map[string]string{})
		checkPosition(t, s, 1, state.Position{})
		s.Save(1, []state.Change{set("both", "new")}, at(5))
		check := func() {
			t.Helper()
			checkValues(t, s, 1, map[string]string{"both": "new"})
			checkPosition(t, s, 1, at(5))
			checkValues(t, s, 2, map[string]string{"old": "2"})
			checkPosition(t, s, 2, at(20))
		}
		check()
		flush(t, s)
		check()
		closeStore(t, s)
		s = open(t, dir, state.Options{})
		check()
		closeStore(t, s)
	}
}

// TestPitfall15WipeWhileItWrites wipes a partition at any moment of a write of it: what is saved after it is there when
// the store is opened again, and nothing else.
func TestPitfall15WipeWhileItWrites(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 0))
	var changes []state.Change
	for i := range 5000 {
		changes = append(changes, set(fmt.Sprint("old", i), "1"))
	}
	dir := t.TempDir()
	for round := range int64(5) {
		s := open(t, dir, state.Options{})
		s.Save(1, changes, at(10))
		flushed := make(chan error, 1)
		go func() { flushed <- s.Flush(t.Context()) }()
		time.Sleep(time.Duration(rng.IntN(10_000)) * time.Microsecond)
		if err := s.Wipe(1); err != nil {
			t.Fatalf("Wipe(1) = %v", err)
		}
		s.Save(1, []state.Change{set("new", "1")}, at(20+round))
		if err := <-flushed; err != nil {
			t.Fatalf("Flush = %v", err)
		}
		closeStore(t, s)
		s = open(t, dir, state.Options{})
		checkValues(t, s, 1, map[string]string{"new": "1"})
		checkPosition(t, s, 1, at(20+round))
		closeStore(t, s)
	}
}

// TestPitfall15WhatWasWipedLeavesTheDisk wipes faster than it can be deleted, and works on: that is when it goes.
func TestPitfall15WhatWasWipedLeavesTheDisk(t *testing.T) {
	s := open(t, t.TempDir(), state.Options{MemTableBytes: 256 << 10})
	rng := rand.New(rand.NewPCG(1, 0))
	save := func(round int64) {
		t.Helper()
		var changes []state.Change
		for i := range 2000 {
			changes = append(changes, state.Change{Circuit: fmt.Sprint(i), Value: noise(rng, 500)})
		}
		s.Save(0, changes, at(round))
		flush(t, s)
	}
	const wipes = 24
	for round := range int64(wipes) {
		save(round + 1)
		if err := s.Wipe(0); err != nil {
			t.Fatal(err)
		}
	}
	for round := int64(1); s.Stats().Bytes > 8<<20; round++ {
		if round > 200 {
			t.Fatalf("%d bytes on disk after %d wipes of 1 MB and %d saves, want less than 8 MiB",
				s.Stats().Bytes, wipes, round)
		}
		save(wipes + round)
		time.Sleep(20 * time.Millisecond)
	}
	if err := s.Wipe(0); err != nil {
		t.Fatal(err)
	}
	s.Save(0, []state.Change{set("a", "1")}, at(1000))
	flush(t, s)
	checkValues(t, s, 0, map[string]string{"a": "1"})
}
