//go:build synctests

package console_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// description is /openapi.json, as a client reads it.
type description struct {
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // By where they stand.
	all      map[string]any
}

const here = "https://fusebox.example/openapi.json" // Where the document is, for the references in it.

func (w *world) description() *description {
	w.t.Helper()
	text := w.get("/openapi.json").body
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	d := &description{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	if err == nil {
		err = d.compiler.AddResource(here, document)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &d.all)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// pointer makes a JSON pointer.
func pointer(steps ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, step := range steps {
		b.WriteString("/" + escape.Replace(step))
	}
	return b.String()
}

// find returns what stands at a place of the document, references followed; nil where nothing does.
func (d *description) find(steps ...string) map[string]any {
	at := d.all
	for _, step := range steps {
		at, _ = at[step].(map[string]any)
		if ref, is := at["$ref"].(string); is {
			at = d.find(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
	}
	return at
}

// check compares JSON with the schema that stands at a place of the document.
func (d *description) check(t *testing.T, text string, steps ...string) error {
	t.Helper()
	place := here + "#" + pointer(steps...)
	schema := d.schemas[place]
	if schema == nil {
		var err error
		if schema, err = d.compiler.Compile(place); err != nil {
			t.Fatal(err)
		}
		d.schemas[place] = schema
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(document)
}

// TestDescription: the document is OpenAPI 3.1 by the official schema, and it has every operation.
func TestDescription(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "openapi-3.1.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi", document); err != nil {
		t.Fatal(err)
	}
	official := compiler.MustCompile("openapi")
	inWorld(t, withLevel, func(w *world) {
		a := w.get("/openapi.json")
		served, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
		if err != nil || a.header.Get("Content-Type") != "application/json" {
			t.Fatalf("GET /openapi.json = %d %v, %v", a.status, a.header, err)
		}
		if err := official.Validate(served); err != nil {
			t.Errorf("the description is no OpenAPI 3.1: %v", err)
		}
		d := w.description()
		for name := range d.find("components", "schemas") {
			if _, err := d.compiler.Compile(here + "#" + pointer("components", "schemas", name)); err != nil {
				t.Errorf("schema %s: %v", name, err)
			}
		}
		want := []string{
			"get /v1/circuits", "get /v1/circuits/{name}", "get /v1/circuits/{name}/transitions", "get /v1/log-level",
			"get /v1/policies", "get /v1/processors", "get /v1/stream", "post /v1/circuits/{name}/claims",
			"post /v1/circuits/{name}/override", "post /v1/outcomes", "post /v1/overrides", "put /v1/log-level",
		}
		var got []string
		for _, o := range d.operations() {
			got = append(got, o.method+" "+o.path)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("operations described: %q, want %q", got, want)
		}
	})
}

// operation is one of the document.
type operation struct{ path, method string }

func (d *description) operations() []operation {
	var all []operation
	for path, item := range d.find("paths") {
		for method := range item.(map[string]any) {
			all = append(all, operation{path, method})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}
