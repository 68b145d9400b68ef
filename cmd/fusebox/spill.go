package main

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
)

// spill keeps what circuits are while they are out of memory, in a temporary file. A value's place is as large as the
// next power of two, so that most values can be written where they were, and a place that is left is used again.
type spill struct {
	file  *os.File // nil until something is put away.
	end   int64
	slots []slot               // By the circuit's number.
	free  [maxSlotBits][]int64 // Places that were left, by how large they are.
	value []byte
}

// slot is where a value is: nowhere, where bits is 0.
type slot struct {
	at     int64
	length int32
	bits   uint8 // The place has room for 1<<bits bytes.
}

const (
	minSlotBits = 8 // 256 bytes. It bounds how many sizes of places there are.
	maxSlotBits = 32
)

// Put keeps a copy of the value.
func (s *spill) Put(circuit int, value []byte) error {
	if s.file == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	if len(value) > math.MaxInt32 {
		return fmt.Errorf("put a circuit away: it takes %d bytes", len(value))
	}
	for circuit >= len(s.slots) {
		s.slots = append(s.slots, slot{})
	}
	place := &s.slots[circuit]
	if bits := bitsFor(len(value)); bits > place.bits {
		if place.bits > 0 {
			s.free[place.bits] = append(s.free[place.bits], place.at)
		}
		place.at, place.bits = s.place(bits), bits
	}
	place.length = int32(len(value))
	if _, err := s.file.WriteAt(value, place.at); err != nil {
		return fmt.Errorf("put a circuit away: %w", err)
	}
	return nil
}

// bitsFor returns of what size a place has to be.
func bitsFor(length int) uint8 {
	return uint8(max(bits.Len64(uint64(max(length, 1)-1)), minSlotBits))
}

// place finds room of a size.
func (s *spill) place(bits uint8) int64 {
	if free := s.free[bits]; len(free) > 0 {
		s.free[bits] = free[:len(free)-1]
		return free[len(free)-1]
	}
	s.end += 1 << bits
	return s.end - 1<<bits
}

// Get returns what was put last, good until the next call.
func (s *spill) Get(circuit int) ([]byte, error) {
	if circuit >= len(s.slots) || s.slots[circuit].bits == 0 {
		return nil, fmt.Errorf("circuit number %d was never put away", circuit)
	}
	place := s.slots[circuit]
	if cap(s.value) < int(place.length) {
		s.value = make([]byte, 1<<place.bits)
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
	s.file = file
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
