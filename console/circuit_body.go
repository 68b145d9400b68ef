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

// circuitBody returns a state record with what the circuit's windows hold under live, as JSON, and its ETag, which is
// the same as long as the record and the windows are. That time has passed over them is no change.
func circuitBody(record stateJSON, windows live) (text []byte, tag string) {
	at := windows.At
	windows.At = nil
	held, err := json.Marshal(windows)
	if err != nil {
		panic("console: a circuit's windows as JSON: " + err.Error())
	}
	text = slices.Concat(record[:len(record)-1], []byte(`,"live":`), held)
	tag = fmt.Sprintf(`"%016x"`, xxhash.Sum64(text))
	if at != nil {
		text = at.AppendFormat(append(text[:len(text)-1], `,"at":"`...), time.RFC3339Nano)
		text = append(text, `"}`...)
	}
	return append(text, '}'), tag
}

// circuitSchema returns the wire's schema of a state with live added.
func circuitSchema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AllOf: []*huma.Schema{refTo("State"), {
		Type: huma.TypeObject, Required: []string{"live"},
		Properties: map[string]*huma.Schema{"live": huma.SchemaFromType(r, reflect.TypeFor[live]())},
	}}}
}
