package console

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/cespare/xxhash/v2"
	"github.com/danielgtaylor/huma/v2"
)

// circuitBody is a state record with what the circuit's windows hold under live.
type circuitBody struct {
	record stateJSON
	live   live
}

// MarshalJSON returns the record with one more member.
func (b circuitBody) MarshalJSON() ([]byte, error) {
	windows, err := json.Marshal(b.live)
	if err != nil {
		return nil, err
	}
	text := append([]byte{}, b.record[:len(b.record)-1]...)
	text = append(append(text, `,"live":`...), windows...)
	return append(text, '}'), nil
}

// tag returns an ETag: the same as long as the record and the windows are. That time has passed over them is no change.
func (b circuitBody) tag() string {
	still := b.live
	still.At = nil
	text, err := circuitBody{b.record, still}.MarshalJSON()
	if err != nil {
		panic("console: a circuit as JSON: " + err.Error())
	}
	return fmt.Sprintf(`"%016x"`, xxhash.Sum64(text))
}

// Schema returns the wire's schema of a state with live added.
func (circuitBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AllOf: []*huma.Schema{refTo("State"), {
		Type: huma.TypeObject, Required: []string{"live"},
		Properties: map[string]*huma.Schema{"live": huma.SchemaFromType(r, reflect.TypeFor[live]())},
	}}}
}
