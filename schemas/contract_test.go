package schemas_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

// messages are those of fusebox.proto by the name of the JSON Schema of the same record.
var messages = map[string]protoreflect.Name{
	"outcome": "Outcome", "signal": "Signal", "state": "State", "heartbeat": "Heartbeat",
	"policies": "PoliciesInForce", "policy-switch": "PolicySwitch", "handled": "Handled",
}

func protobuf(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{})}
	files, err := compiler.Compile(context.Background(), "fusebox.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

// TestProtobufFields holds the messages to the schemas: the same fields, at every depth.
func TestProtobufFields(t *testing.T) {
	file := protobuf(t)
	for name, message := range messages {
		var document map[string]any
		if err := yaml.Unmarshal(schemas.Schema(name), &document); err != nil { // JSON is YAML.
			t.Fatal(err)
		}
		sameFields(t, string(message), file.Messages().ByName(message), document, document)
	}
	var document map[string]any
	if err := yaml.Unmarshal(schemas.Schema("state"), &document); err != nil {
		t.Fatal(err)
	}
	shadow := document["properties"].(map[string]any)["shadow"].(map[string]any)
	sameFields(t, "Shadow", file.Messages().ByName("Shadow"), document, shadow)
}

func sameFields(t *testing.T, at string, m protoreflect.MessageDescriptor, document, schema map[string]any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = document["$defs"].(map[string]any)[filepath.Base(ref)].(map[string]any)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		schema = items
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); properties[string(f.Name())] == nil {
			t.Errorf("%s.%s is not in the JSON Schema", at, f.Name())
		}
	}
	for name, property := range properties {
		f := m.Fields().ByName(protoreflect.Name(name))
		if f == nil {
			t.Errorf("%s has no field %s", at, name)
			continue
		}
		if child := f.Message(); child != nil && child.ParentFile() == m.ParentFile() && !f.IsMap() {
			sameFields(t, at+"."+name, child, document, property.(map[string]any))
		}
	}
}

// TestProtobufReads reads every golden record as a message of fusebox.proto, and what a program writes from such a
// message as Fusebox reads it.
func TestProtobufReads(t *testing.T) {
	file := protobuf(t)
	for name, kind := range messages {
		files, err := filepath.Glob(filepath.Join("testdata", name, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("golden records of %s: %v, %v", name, files, err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			foreign := strings.HasPrefix(filepath.Base(path), "foreign")
			message := dynamicpb.NewMessage(file.Messages().ByName(kind))
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, message); err != nil {
				if !foreign { // Of those Fusebox takes more than the mapping does.
					t.Errorf("%s: %v", path, err)
				}
				continue
			}
			written, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			got, want := readAgain(name, written), readAgain(name, text)
			if want != nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s written by a program is\n%s\nand reads\n%+v, want\n%+v", path, written, got, want)
			}
		}
	}
}

// readAgain reads what programs write.
func readAgain(name string, text []byte) any {
	switch name {
	case "outcome":
		o, err := outcomeFrom(text)
		if err != nil {
			return err
		}
		return o
	case "signal":
		s, err := signalFrom(text)
		if err != nil {
			return err
		}
		return s
	}
	return nil
}

// TestAsyncAPI looks whether the topics are those of the default prefix, every reference leads somewhere, and no record
// is left out.
func TestAsyncAPI(t *testing.T) {
	text, err := os.ReadFile("asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var files, topics []string
	each(document, func(key string, value any) {
		switch target, _ := value.(string); {
		case key == "address":
			topics = append(topics, target)
		case key != "$ref":
		case strings.HasPrefix(target, "#/"):
			var at any = document
			for step := range strings.SplitSeq(target[2:], "/") {
				at, _ = at.(map[string]any)[step]
			}
			if at == nil {
				t.Errorf("%s leads nowhere", target)
			}
		default:
			files = append(files, strings.TrimSuffix(target, ".schema.json"))
		}
	})
	want := kafka.TopicsWithPrefix("fusebox.")
	public := []string{want.Outcomes, want.Signals, want.State, want.Transitions, want.DeadLetters}
	if slices.Sort(topics); !slices.Equal(topics, slices.Sorted(slices.Values(public))) {
		t.Errorf("it has the topics %q, want %q", topics, public)
	}
	if slices.Sort(files); !slices.Equal(files, slices.Sorted(slices.Values(schemas.Names))) {
		t.Errorf("it has the records %q, want each of %q once", files, schemas.Names)
	}
}

// TestAsyncAPIByItsOwnSchema holds the document to the schema that AsyncAPI publishes.
func TestAsyncAPIByItsOwnSchema(t *testing.T) {
	text, err := os.ReadFile("asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile("testdata/asyncapi-3.0.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("asyncapi.yaml is no AsyncAPI 3.0: %v", err)
	}
}

// each calls for every member of every object.
func each(value any, do func(key string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			do(key, member)
			each(member, do)
		}
	case []any:
		for _, member := range v {
			each(member, do)
		}
	}
}
