package schemas

import "strconv"

// Header is a header of a Kafka record.
type Header struct {
	Key   string
	Value []byte
}

// Headers of a dead letter.
const (
	DeadLetterTopic     = "fusebox-topic"
	DeadLetterPartition = "fusebox-partition"
	DeadLetterOffset    = "fusebox-offset"
	DeadLetterProblem   = "fusebox-problem"
	DeadLetterSize      = "fusebox-size"
)

// DeadLetter is a record that could not be read: where it came from and what is wrong with it, which go into headers,
// and what goes into the value of the record.
type DeadLetter struct {
	Topic     string
	Partition int32
	Offset    int64
	Problem   string // A Fault in words; it quotes no text of the record.
	Size      int64  // Bytes of the value as it came.
	Payload   []byte // The value as it came, cut to fit; nil unless it was asked for.
}

// Cut returns the beginning of a record's value or key that a dead letter has room for. It shares its bytes.
func (DeadLetter) Cut(b []byte) []byte { return b[:min(len(b), MaxRecord)] }

// Headers returns the headers of the record.
func (d *DeadLetter) Headers() []Header {
	return []Header{
		{DeadLetterTopic, []byte(d.Topic)},
		{DeadLetterPartition, strconv.AppendInt(nil, int64(d.Partition), 10)},
		{DeadLetterOffset, strconv.AppendInt(nil, d.Offset, 10)},
		{DeadLetterProblem, []byte(d.Problem)},
		{DeadLetterSize, strconv.AppendInt(nil, d.Size, 10)},
	}
}

// Value returns the value of the record.
func (d *DeadLetter) Value() []byte { return d.Cut(d.Payload) }

// DecodeDeadLetter reads the headers and the value of a dead letter. Other headers pass. The error is a *Fault.
func DecodeDeadLetter(headers []Header, payload []byte) (DeadLetter, error) {
	d := DeadLetter{Payload: payload}
	seen := map[string]bool{}
	for _, h := range headers {
		if err := d.header(h); err != nil {
			return DeadLetter{}, err
		}
		seen[h.Key] = true
	}
	for _, key := range []string{DeadLetterTopic, DeadLetterPartition, DeadLetterOffset, DeadLetterProblem} {
		if !seen[key] {
			return DeadLetter{}, d.fault(key, "is missing")
		}
	}
	return d, nil
}

func (d *DeadLetter) header(h Header) error {
	text := string(h.Value)
	switch h.Key {
	case DeadLetterTopic:
		d.Topic = text
	case DeadLetterProblem:
		d.Problem = text
	case DeadLetterPartition:
		n, err := strconv.ParseUint(text, 10, 31)
		d.Partition = int32(n)
		return d.numberFault(h.Key, err)
	case DeadLetterOffset:
		n, err := strconv.ParseUint(text, 10, 63)
		d.Offset = int64(n)
		return d.numberFault(h.Key, err)
	case DeadLetterSize:
		n, err := strconv.ParseUint(text, 10, 63)
		d.Size = int64(n)
		return d.numberFault(h.Key, err)
	}
	return nil
}

func (d *DeadLetter) numberFault(key string, err error) error {
	if err == nil {
		return nil
	}
	return d.fault(key, "must be a whole number")
}

func (d *DeadLetter) fault(key, problem string) error {
	return &Fault{Record: "dead letter", Field: key, Problem: problem}
}
