package console

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/danielgtaylor/huma/v2"
)

// circuitBody is a state record with what the circuit's windows hold under live, as JSON.
type circuitBody []byte

// newCircuitBody returns the body and its ETag, which is the same as long as the record and the windows are. That time
// has passed over them is no change.
func newCircuitBody(record stateJSON, windows live) (circuitBody, string) {
	at := windows.At
	windows.At = nil
	text, err := json.Marshal(windows)
	if err != nil {
		panic("console: a circuit's windows as JSON: " + err.Error())
	}
	body := slices.Concat(record[:len(record)-1], []byte(`,"live":`), text)
	tag := fmt.Sprintf(`"%016x"`, xxhash.Sum64(body))
	if at != nil {
		body = at.AppendFormat(append(body[:len(body)-1], `,"at":"`...), time.RFC3339Nano)
		body = append(body, `"}`...)
	}
	return circuitBody(append(body, '}')), tag
}

// MarshalJSON returns the body.
func (b circuitBody) MarshalJSON() ([]byte, error) { return b, nil }

// Schema returns the wire's schema of a state with live added.
func (circuitBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AllOf: []*huma.Schema{refTo("State"), {
		Type: huma.TypeObject, Required: []string{"live"},
		Properties: map[string]*huma.Schema{"live": huma.SchemaFromType(r, reflect.TypeFor[live]())},
	}}}
}
