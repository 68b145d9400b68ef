package breaker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// policySchema compiles the schema of policy files.
func policySchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemas.Schema(schemas.PolicyFile)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("policy", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("policy")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate tells what the schema has against the text of a policy file.
func validate(schema *jsonschema.Schema, text string) error {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return err
	}
	asJSON, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON)); err != nil {
		return err
	}
	return schema.Validate(value)
}

// TestSchemaAccepts validates every policy file of the project and of the shared files that the reader takes.
func TestSchemaAccepts(t *testing.T) {
	schema := policySchema(t)
	texts := map[string]string{"the specification's": spec, "varied": varied, "own kinds": ownKinds}
	add := func(root string) {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			ext := filepath.Ext(path)
			if err != nil || ext != ".yaml" && ext != ".md" && ext != ".txtar" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, part := range policyTexts(t, ext, string(text)) {
				texts[fmt.Sprintf("%s, no. %d", path, i+1)] = part
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("..")
	own := 0
	for name, text := range texts {
		if _, err := breaker.Read(name, []byte(text)); err != nil {
			continue
		}
		own++
		if err := validate(schema, text); err != nil {
			t.Errorf("%s: the reader takes it and the schema does not: %v", name, err)
		}
	}
	if own < 20 {
		t.Errorf("%d policy files were found in the project, want 20 at least", own)
	}
	t.Run("shared", func(t *testing.T) {
		clear(texts)
		add(kafkatest.Shared(t, "scenarios"))
		add(kafkatest.Shared(t, "peers"))
		for name, text := range texts {
			if _, err := breaker.Read(name, []byte(text)); err != nil {
				continue
			}
			if err := validate(schema, text); err != nil {
				t.Errorf("%s: the reader takes it and the schema does not: %v", name, err)
			}
		}
	})
}

// policyTexts returns what may be policy files in a file: itself, what stands in policy tests, blocks of a page, files
// of a script.
func policyTexts(t *testing.T, ext, text string) []string {
	var parts []string
	switch ext {
	case ".md":
		for _, block := range strings.Split(text, "```yaml\n")[1:] {
			part, _, _ := strings.Cut(block, "```")
			parts = append(parts, part)
		}
	case ".txtar":
		for _, file := range strings.Split(text, "\n-- ")[1:] {
			name, part, _ := strings.Cut(file, " --\n")
			if filepath.Ext(name) == ".yaml" {
				parts = append(parts, part+"\n")
			}
		}
	default:
		parts = []string{text}
	}
	for _, part := range parts {
		if strings.Contains(part, "tests:") {
			parts = append(parts, embedded(t, []byte(part))...)
		}
	}
	return parts
}

// TestSchemaRefuses wants a fault by both the schema and the reader.
func TestSchemaRefuses(t *testing.T) {
	schema := policySchema(t)
	for name, text := range map[string]string{
		"no version":            "policies: []",
		"another version":       "version: 2\npolicies: []",
		"no policies":           "version: 1",
		"an unknown key":        "version: 1\npolices: []",
		"no name":               `{version: 1, policies: [{match: [a], rules: [{name: r, type: immediate}]}]}`,
		"no match":              `{version: 1, policies: [{name: p, rules: [{name: r, type: count, threshold: 1}]}]}`,
		"no rules":              `{version: 1, policies: [{name: p, match: [a]}]}`,
		"rules that are empty":  `{version: 1, policies: [{name: p, match: [a], rules: []}]}`,
		"a match that is empty": policies("match: []\n  rules: [{name: r, type: count, threshold: 1}]"),
		"an unknown type":       rule("{name: r, type: rate, threshold: 1}"),
		"a missing threshold":   rule("{name: r, type: ratio}"),
		"a mistyped threshold":  rule("{name: r, type: ratio, treshold: 0.5}"),
		"a threshold of 0":      rule("{name: r, type: ratio, threshold: 0}"),
		"a threshold in quotes": rule("{name: r, type: ratio, threshold: '0.5'}"),
		"half a count":          rule("{name: r, type: count, threshold: 2.5}"),
		"a share above 1":       rule("{name: r, type: slow_ratio, over: 1s, threshold: 1.5}"),
		"last and window":       rule("{name: r, type: count, threshold: 1, last: 9, window: 1m}"),
		"too great a last":      rule("{name: r, type: count, threshold: 1, last: 1001}"),
		"no of":                 rule("{name: r, type: sum, threshold: 1}"),
		"no over":               rule("{name: r, type: slow_ratio, threshold: 1}"),
		"a bare duration":       rule("{name: r, type: slow_ratio, over: 5, threshold: 0.5}"),
		"days":                  rule("{name: r, type: slow_ratio, over: 5d, threshold: 0.5}"),
		"an unknown severity":   rule("{name: r, type: count, threshold: 1, severity: grave}"),
		"kinds that are empty":  rule("{name: r, type: count, threshold: 1, kinds: []}"),
		"an unknown action":     rule("{name: r, type: count, threshold: 1, action: shut}"),
		"a role": policies(
			"match: [a]\n  kinds: {accepted: good}\n  rules: [{name: r, type: count, threshold: 1}]"),
		"a negative weight": policies(
			"match: [a]\n  kinds: {cancelled: -1}\n  rules: [{name: r, type: count, threshold: 1}]"),
		"an unknown judge": policies(
			"match: [a]\n  evaluator_weights: {me: 1}\n  rules: [{name: r, type: count, threshold: 1}]"),
		"a flag in quotes":  policies("match: [a]\n  enforce: 'no'\n  rules: [{name: r, type: count, threshold: 1}]"),
		"a jitter of 1":     "version: 1\ndefaults: {break: {jitter: 1}}\npolicies: []",
		"a backoff of 0":    "version: 1\ndefaults: {break: {backoff: 0}}\npolicies: []",
		"half a probe":      "version: 1\ndefaults: {half_open: {successes: 1.5}}\npolicies: []",
		"a whole ramp":      "version: 1\ndefaults: {ramp: [{share: 1, for: 1s}]}\npolicies: []",
		"a ramp for ever":   "version: 1\ndefaults: {ramp: [{share: 0.5}]}\npolicies: []",
		"a route's pattern": `{version: 1, policies: [], routes: [{use_case: u, chain: ["a*"]}]}`,
		"a chain twice":     `{version: 1, policies: [], routes: [{use_case: u, chain: [a, a]}]}`,
		"a kind's name":     `{version: 1, kinds: [a-b], policies: []}`,
	} {
		_, err := breaker.Read(name, []byte(text))
		if err == nil {
			t.Errorf("%s: the reader takes it:\n%s", name, text)
		}
		if err := validate(schema, text); err == nil {
			t.Errorf("%s: the schema takes it:\n%s", name, text)
		}
	}
}

// TestSchemaOfTypes gives each type of rule each key that some types take: the schema is to say what the reader says.
func TestSchemaOfTypes(t *testing.T) {
	schema := policySchema(t)
	values := map[string]string{
		"threshold": "1", "minimum_throughput": "2", "window": "2m", "last": "2", "over": "2s", "of": "tokens",
		"only": "fallback",
	}
	for _, kind := range breaker.RuleTypes {
		for subset := range 1 << len(breaker.OfType) {
			text := "{name: r, type: " + kind
			for i, key := range breaker.OfType {
				if subset&(1<<i) != 0 {
					text += ", " + key + ": " + values[key]
				}
			}
			text = rule(text + ", kinds: [cancelled, missing_evidence]}")
			_, read := breaker.Read("p.yaml", []byte(text))
			if valid := validate(schema, text); (read == nil) != (valid == nil) {
				t.Errorf("the reader says %v and the schema %v of\n%s", read, valid, text)
			}
		}
	}
}

// TestSchemaKeys wants the same keys in the schema as in the reader, and a description of each.
func TestSchemaKeys(t *testing.T) {
	type object struct {
		Description string                     `json:"description"`
		Properties  map[string]json.RawMessage `json:"properties"`
		Items       json.RawMessage            `json:"items"`
		Defs        map[string]json.RawMessage `json:"$defs"`
	}
	parse := func(text []byte) (o object) {
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return o
	}
	file := parse(schemas.Schema(schemas.PolicyFile))
	defaults, policy := parse(file.Properties["defaults"]), parse(file.Defs["policy"])
	objects := map[string]object{
		"file": file, "policy": policy, "defaults": defaults, "rule": parse(file.Defs["rule"]),
		"route": parse(file.Defs["route"]), "break": parse(policy.Properties["break"]),
		"half_open":         parse(policy.Properties["half_open"]),
		"ramp":              parse(parse(policy.Properties["ramp"]).Items),
		"severity_weights":  parse(policy.Properties["severity_weights"]),
		"evaluator_weights": parse(policy.Properties["evaluator_weights"]),
	}
	for name, keys := range breaker.Keys {
		want := slices.Sorted(slices.Values(keys))
		if got := slices.Sorted(maps.Keys(objects[name].Properties)); !slices.Equal(got, want) {
			t.Errorf("the schema of %s has %q, the reader takes %q", name, got, want)
		}
		for key, property := range objects[name].Properties {
			if parse(property).Description == "" {
				t.Errorf("the schema does not describe %s in %s", key, name)
			}
		}
	}
	for key := range defaults.Properties {
		if !bytes.Equal(defaults.Properties[key], policy.Properties[key]) {
			t.Errorf("the schema of %s is another in defaults than in a policy", key)
		}
	}
}
