package main

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
)

// spill keeps what circuits are while they are out of memory, in a temporary file. A value's place is as large as the
// next power of two, so that most values can be written where they were, and a place that is left is used again.
type spill struct {
	file  *os.File // nil until something is put away.
	end   int64
	slots map[string]slot
	free  map[int64][]int64 // Places that were left, by how large they are.
	value []byte
}

type slot struct{ at, room, length int64 }

// smallestSlot bounds how many sizes of places there are.
const smallestSlot = 256

// Put keeps a copy of the value.
func (s *spill) Put(circuit string, value []byte) error {
	if s.file == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	length := int64(len(value))
	place := s.slots[circuit]
	if place.room < length {
		if place.room > 0 {
			s.free[place.room] = append(s.free[place.room], place.at)
		}
		place = s.place(length)
	}
	place.length = length
	s.slots[circuit] = place
	if _, err := s.file.WriteAt(value, place.at); err != nil {
		return fmt.Errorf("put a circuit away: %w", err)
	}
	return nil
}

// place finds room for a value.
func (s *spill) place(length int64) slot {
	room := int64(1) << bits.Len64(uint64(max(length, smallestSlot)-1))
	if free := s.free[room]; len(free) > 0 {
		s.free[room] = free[:len(free)-1]
		return slot{at: free[len(free)-1], room: room}
	}
	s.end += room
	return slot{at: s.end - room, room: room}
}

// Get returns what was put last, good until the next call.
func (s *spill) Get(circuit string) ([]byte, error) {
	place, there := s.slots[circuit]
	if !there {
		return nil, fmt.Errorf("circuit %q was never put away", circuit)
	}
	if int64(cap(s.value)) < place.length {
		s.value = make([]byte, place.room)
	}
	s.value = s.value[:place.length]
	if _, err := s.file.ReadAt(s.value, place.at); err != nil {
		return nil, fmt.Errorf("bring a circuit back: %w", err)
	}
	return s.value, nil
}

// create makes the file, which is gone from its directory at once where the system allows that.
func (s *spill) create() error {
	file, err := os.CreateTemp("", "fusebox-backtest-*")
	if err != nil {
		return fmt.Errorf("make a file for circuits that are out of memory: %w", err)
	}
	_ = os.Remove(file.Name()) // What cannot be removed while it is open is removed by close.
	s.file, s.slots, s.free = file, make(map[string]slot), make(map[int64][]int64)
	return nil
}

func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if gone := os.Remove(s.file.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
