package state

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// The keys of the database. Numbers are big-endian, so that keys sort by them.
//
//	c <number 8>                          a transaction; the value is the lowest number that must still be there
//	d <partition 4> <epoch 4> <circuit>   a circuit's value
//	e <partition 4>                       the partition's epoch, where it was ever wiped
//	p <partition 4> <epoch 4>             the partition's position
const (
	chainKeys    = 'c'
	valueKeys    = 'd'
	epochKeys    = 'e'
	positionKeys = 'p'
)

const prefixLen = 1 + 4 + 4

func chainKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{chainKeys}, number)
}

func epochKey(partition int32) []byte {
	return binary.BigEndian.AppendUint32([]byte{epochKeys}, uint32(partition))
}

func positionKey(partition int32, epoch uint32) []byte {
	return prefix(positionKeys, partition, epoch, 0)
}

func valueKey(partition int32, epoch uint32, circuit string) []byte {
	return append(prefix(valueKeys, partition, epoch, len(circuit)), circuit...)
}

// prefix returns the prefix of a partition's keys, with room for more behind it.
func prefix(kind byte, partition int32, epoch uint32, more int) []byte {
	key := append(make([]byte, 0, prefixLen+more), kind)
	key = binary.BigEndian.AppendUint32(key, uint32(partition))
	return binary.BigEndian.AppendUint32(key, epoch)
}

// splitPrefix reads what prefix wrote.
func splitPrefix(key []byte) (partition int32, epoch uint32, err error) {
	if len(key) < prefixLen {
		return 0, 0, fmt.Errorf("key %x is too short", key)
	}
	return int32(binary.BigEndian.Uint32(key[1:])), binary.BigEndian.Uint32(key[5:]), nil
}

// noTime stands for the zero time, which has no nanoseconds since 1970.
const noTime = math.MinInt64

func encodePosition(p Position) []byte {
	at := int64(noTime)
	if !p.At.IsZero() {
		at = p.At.UnixNano()
	}
	value := binary.BigEndian.AppendUint64(nil, uint64(p.Offset))
	value = binary.BigEndian.AppendUint64(value, uint64(at))
	return append(value, p.Progress...)
}

func decodePosition(value []byte) (Position, error) {
	if len(value) < 16 {
		return Position{}, fmt.Errorf("position of %d bytes: want 16 or more", len(value))
	}
	p := Position{Offset: int64(binary.BigEndian.Uint64(value))}
	if at := int64(binary.BigEndian.Uint64(value[8:])); at != noTime {
		p.At = time.Unix(0, at).UTC()
	}
	if len(value) > 16 {
		p.Progress = append([]byte{}, value[16:]...)
	}
	return p, nil
}
