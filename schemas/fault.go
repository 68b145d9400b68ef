package schemas

import (
	"errors"
	"strings"
)

// Fault says what is wrong with a record. Its text holds nothing of the record but names of fields and at most 64 bytes
// of a number that is out of bounds. Text never shows, whatever field it stands in.
type Fault struct {
	Record  string // "outcome", "signal" and so on; empty where a lone value was checked.
	Field   string // As "evaluator.type" or "leases[2].id"; empty where it is the record as a whole.
	Problem string // As "is missing".
}

// Error returns the fault in one line.
func (f *Fault) Error() string {
	var b strings.Builder
	for _, part := range []string{f.Record, f.Field} {
		if part != "" {
			b.WriteString(part)
			b.WriteString(": ")
		}
	}
	b.WriteString(f.Problem)
	return b.String()
}

// within returns err with its field placed in the given one: [2].id in leases is leases[2].id.
func within(field string, err error) error {
	var f *Fault
	if field == "" || !errors.As(err, &f) {
		return err
	}
	name := strings.Clone(field)
	switch {
	case f.Field == "":
	case f.Field[0] == '[':
		name += f.Field
	default:
		name += "." + f.Field
	}
	return &Fault{Record: f.Record, Field: name, Problem: f.Problem}
}
