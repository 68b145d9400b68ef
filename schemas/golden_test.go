package schemas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fusebox-project/fusebox/schemas"
)

// again decodes a record and encodes what it has read. The key is that of the record.
type again func(key string, text []byte) ([]byte, error)

var codecs = map[string]again{
	"outcome": func(key string, text []byte) ([]byte, error) {
		var o schemas.Outcome
		if err := schemas.DecodeOutcome([]byte(key), text, &o); err != nil {
			return nil, err
		}
		return schemas.AppendOutcome(nil, &o), nil
	},
	"signal": func(key string, text []byte) ([]byte, error) {
		s, err := schemas.DecodeSignal([]byte(key), text)
		if err != nil {
			return nil, err
		}
		return schemas.AppendSignal(nil, &s), nil
	},
	"state":         both(schemas.DecodeState, schemas.AppendState),
	"heartbeat":     both(schemas.DecodeHeartbeat, schemas.AppendHeartbeat),
	"policies":      both(schemas.DecodePolicies, schemas.AppendPolicies),
	"policy-switch": both(schemas.DecodeSwitch, schemas.AppendSwitch),
	"handled":       both(schemas.DecodeHandled, schemas.AppendHandled),
	"dead-letter-headers": func(_ string, text []byte) ([]byte, error) {
		var members map[string]string
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, err
		}
		var headers []schemas.Header
		for _, key := range slices.Sorted(maps.Keys(members)) {
			headers = append(headers, schemas.Header{Key: key, Value: []byte(members[key])})
		}
		d, err := schemas.DecodeDeadLetter(headers, nil)
		if err != nil {
			return nil, err
		}
		members = map[string]string{}
		for _, h := range d.Headers() {
			members[h.Key] = string(h.Value)
		}
		return json.Marshal(members)
	},
}

func both[T any](decode func([]byte) (T, error), encode func([]byte, *T) []byte) again {
	return func(_ string, text []byte) ([]byte, error) {
		v, err := decode(text)
		if err != nil {
			return nil, err
		}
		return encode(nil, &v), nil
	}
}

// ours are the records that Fusebox itself writes: every byte of them is as in the golden record.
var ours = map[string]bool{"state": true, "policies": true, "heartbeat": true, "policy-switch": true,
	"handled": true}

func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemas.Schema(name)))
	if err != nil {
		t.Fatalf("schema %s: %v", name, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(name, document); err != nil {
		t.Fatalf("schema %s: %v", name, err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		t.Fatalf("schema %s: %v", name, err)
	}
	return schema
}

func conforms(schema *jsonschema.Schema, text []byte) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(document)
}

func TestGoodRecords(t *testing.T) {
	for _, name := range schemas.Names {
		schema := compiled(t, name)
		files, err := filepath.Glob(filepath.Join("testdata", name, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("golden records of %s: %v, %v", name, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := conforms(schema, text); err != nil {
				t.Errorf("%s against its schema: %v", file, err)
			}
			first, err := codecs[name]("from:key", text)
			if err != nil {
				t.Errorf("decoding %s: %v", file, err)
				continue
			}
			if err := conforms(schema, first); err != nil {
				t.Errorf("%s, encoded again, against its schema: %v\n%s", file, err, first)
			}
			if second, err := codecs[name]("", first); err != nil || !bytes.Equal(first, second) {
				t.Errorf("%s, encoded again: %s\ndecoded and encoded once more: %s, %v", file, first, second, err)
			}
			whole := ours[name] && filepath.Base(file) != "later-version.json"
			if whole && string(first) != strings.TrimSpace(string(text)) {
				t.Errorf("%s, encoded again:\n%s\nwant, as it is in the file:\n%s", file, first, text)
			}
		}
	}
}

// A section of testdata/*.bad.txtar is the fault, perhaps a line "schema: why it cannot see this", and the record.
func TestBadRecords(t *testing.T) {
	for _, name := range schemas.Names {
		schema := compiled(t, name)
		archive, err := txtar.ParseFile(filepath.Join("testdata", name+".bad.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			want, record, _ := strings.Cut(string(section.Data), "\n")
			blind := strings.HasPrefix(record, "schema: ")
			if blind {
				_, record, _ = strings.Cut(record, "\n")
			}
			_, err := codecs[name]("", []byte(record))
			if fmt.Sprint(err) != want {
				t.Errorf("%s, %s: decoding says %q, want %q", name, section.Name, fmt.Sprint(err), want)
			}
			if err := conforms(schema, []byte(record)); (err == nil) != blind {
				t.Errorf("%s, %s: the schema says %v, want a fault: %v", name, section.Name, err, !blind)
			}
		}
	}
}

func TestExamplesInSchemas(t *testing.T) {
	for _, name := range schemas.Names {
		var document struct{ Examples []json.RawMessage }
		if err := json.Unmarshal(schemas.Schema(name), &document); err != nil {
			t.Fatal(err)
		}
		schema := compiled(t, name)
		for _, example := range document.Examples {
			if err := conforms(schema, example); err != nil {
				t.Errorf("example of %s: %v", name, err)
			}
			if _, err := codecs[name]("", example); err != nil {
				t.Errorf("example of %s: decoding says %v", name, err)
			}
		}
	}
	if text := schemas.Schema("nothing"); text != nil {
		t.Errorf("Schema(nothing) = %s, want none", text)
	}
}
