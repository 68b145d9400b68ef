package kafka

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// memory is what fetched batches lie in. It is used again once all records of a batch are handled. A batch of which a
// record is kept, as one that is forwarded, is left to the garbage collector. Pieces are told apart by their size, in
// powers of two: else each would one day be as large as the largest batch.
type memory struct {
	bytes   [32]sync.Pool
	records [24]sync.Pool
}

// unpacked is how many times its size a batch is taken to have at least once decompressed, where it does not say.
const unpacked = 4

// GetDecompressBytes returns room for a batch, mostly. One in snappy says first how large it is.
func (m *memory) GetDecompressBytes(packed []byte, codec kgo.CompressionCodecType) []byte {
	size := uint64(unpacked * len(packed))
	if codec == kgo.CodecSnappy && !bytes.HasPrefix(packed, xerial) {
		size, _ = binary.Uvarint(packed)
	}
	if size > batchMaxBytes {
		return nil // What it says of itself need not be so.
	}
	class := bits.Len64(max(size, 1) - 1)
	if b, ok := m.bytes[class].Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 0, 1<<class)
}

// xerial is how a batch begins that Java's old snappy library packed.
var xerial = []byte{130, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

// PutDecompressBytes takes it back.
func (m *memory) PutDecompressBytes(b []byte) {
	if class := bits.Len(uint(cap(b))) - 1; class >= 0 && class < len(m.bytes) {
		m.bytes[class].Put(&b)
	}
}

// GetRecords returns room for so many records.
func (m *memory) GetRecords(n int) []kgo.Record {
	class := bits.Len(uint(max(n, 1) - 1))
	if class >= len(m.records) {
		return make([]kgo.Record, 0, n)
	}
	if r, ok := m.records[class].Get().(*[]kgo.Record); ok {
		return *r
	}
	return make([]kgo.Record, 0, 1<<class)
}

// PutRecords takes it back.
func (m *memory) PutRecords(r []kgo.Record) {
	if class := bits.Len(uint(cap(r))) - 1; class >= 0 && class < len(m.records) {
		m.records[class].Put(&r)
	}
}
