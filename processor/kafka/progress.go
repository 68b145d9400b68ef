package kafka

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// progressKey is the key of the progress record of a partition in the changelog. No circuit has such a name.
const progressKey = "\u0000progress"

// progressSchema is the version of the progress record's form. In every form stand, under the names that they have now,
// its version, who wrote it and by which version of Fusebox: see readAuthor.
const progressSchema = 1

// progress is the record that each transaction leaves in the changelog for every partition that it touched: where the
// partition stood when the values before it were true.
type progress struct {
	Schema     int           `json:"schema"`       // Absent stands for 1.
	By         string        `json:"by,omitempty"` // The version of Fusebox.
	Partitions int32         `json:"partitions"`   // Of the topics; where it differs from theirs, nothing may start.
	Outcomes   inputPosition `json:"outcomes"`
	Signals    inputPosition `json:"signals"`
	ClockMS    int64         `json:"clock_ms"` // Milliseconds since 1970; 0 before the first record.
	Number     uint64        `json:"number"`   // Of the transaction.
	Writer     string        `json:"writer"`   // Its transactional id.
	Policies   string        `json:"policies"` // The version in force.
	Regime     int64         `json:"regime"`   // Its number among all that were in force here: see policiesKey.
	Circuits   int           `json:"circuits"` // How many are known.
	Origins    []origin      `json:"origins,omitempty"`
}

// inputPosition is how far an input topic was handled.
type inputPosition struct {
	TopicID string `json:"topic_id"`
	Next    int64  `json:"next"`
}

// origin is the highest offset that was handled of the records which were forwarded from a partition.
type origin struct {
	TopicID   string `json:"topic_id"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (p progress) append(b []byte) []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("progress record %+v cannot be written: %v", p, err))
	}
	return append(b, text...)
}

// readProgress reads a record of this form or an older one. The error is a processor.ErrNewerValue for a newer one.
func readProgress(value []byte) (progress, error) {
	if n := readAuthor(value).Schema; n > progressSchema {
		return progress{}, fmt.Errorf("progress record of version %d, this one reads up to %d: %w",
			n, progressSchema, processor.ErrNewerValue)
	}
	var p progress
	if err := json.Unmarshal(value, &p); err != nil {
		return progress{}, fmt.Errorf("read progress record: %w", err)
	}
	p.Schema = max(p.Schema, 1)
	return p, nil
}

func (p progress) inputs() schemas.Inputs {
	return schemas.Inputs{Outcomes: p.Outcomes.Next, Signals: p.Signals.Next}
}

func (p progress) clock() time.Time {
	if p.ClockMS == 0 {
		return time.Time{}
	}
	return time.UnixMilli(p.ClockMS).UTC()
}

// stamp is the metadata of a transaction's offset commits. It tells that transaction from any other that could have
// committed for the same partition: two writers may use the same number, and one writer never does so twice.
func stamp(number uint64, writer string) string { return fmt.Sprintf("%d %s", number, writer) }

func (p progress) stamp() string { return stamp(p.Number, p.Writer) }
