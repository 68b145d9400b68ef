package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// memory is what fetched records lie in, used again once all records of a batch are handled. A record that somebody
// keeps is not recycled, and its batch is left to the garbage collector.
type memory struct{ bytes, records sync.Pool }

// GetDecompressBytes returns memory for a batch.
func (m *memory) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte {
	if b, ok := m.bytes.Get().(*[]byte); ok {
		return *b
	}
	return nil
}

// PutDecompressBytes takes it back.
func (m *memory) PutDecompressBytes(b []byte) { m.bytes.Put(&b) }

// GetRecords returns memory for the records of a batch.
func (m *memory) GetRecords(n int) []kgo.Record {
	if r, ok := m.records.Get().(*[]kgo.Record); ok {
		return *r
	}
	return make([]kgo.Record, 0, n)
}

// PutRecords takes it back.
func (m *memory) PutRecords(r []kgo.Record) { m.records.Put(&r) }
