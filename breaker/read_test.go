package breaker_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/breaker"
)

// spec is the example of the specification.
const spec = `version: 1
kinds: [tool_misuse]              # kinds of our own, beside the nine
defaults:
  window: 1m
  minimum_throughput: 20
  break: {duration: 30s, backoff: 2, max: 10m, jitter: 0.1, healthy_after: 10m}
  half_open: {concurrency: 1, successes: 1, failures: 1, lease: 30s, implicit: true}
  ramp: []                        # e.g. [{share: 0.1, for: 15s}, {share: 0.5, for: 30s}]
  idle_after: 24h
policies:
- name: extraction
  match: ["submission-extraction:*"]
  kinds: {missing_evidence: 0.5, tool_misuse: 2, policy_rejection: neutral}
  evaluator_weights: {llm: 0.5}
  severity_weights: {low: 0.5, critical: 5}
  rules:
  - {name: invented-identifier, type: immediate, kinds: [contradictory_evidence], severity: critical}
  - {name: failure-ratio, type: ratio, threshold: 0.5}
  - {name: lately, type: ratio, threshold: 0.6, last: 30}
  - {name: provider-down, type: consecutive, kinds: [transport_failure], threshold: 5}
  - {name: spend, type: sum, of: cost_usd, threshold: 25, window: 1h}
  - {name: evidence-watch, type: count, kinds: [missing_evidence], threshold: 10, window: 5m, action: degrade}
routes:                           # for routers: where to go while a circuit refuses
- use_case: submission-extraction
  chain: ["submission-extraction:gpt-primary:v4", "submission-extraction:gpt-secondary:v4"]
  otherwise: human-review
  by_cause: {missing_evidence: ["submission-extraction:gpt-primary:v3"]}
`

// read reads a policy file that is right.
func read(t *testing.T, text string) *breaker.Policies {
	t.Helper()
	p, err := breaker.Read("p.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Read: %v, want no fault in\n%s", err, text)
	}
	return p
}

func TestReadSharedPolicies(t *testing.T) {
	files, _ := filepath.Glob("../../shared/scenarios/*.yaml")
	if len(files) == 0 {
		t.Skip("no ../shared/scenarios beside the project")
	}
	for _, file := range append(files, "../../shared/peers/policy.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		policies := embedded(t, text)
		if len(policies) == 0 {
			policies = []string{string(text)}
		}
		for _, policy := range policies {
			if _, err := breaker.Read(file, []byte(policy)); err != nil {
				t.Errorf("Read: %v, want no fault in\n%s", err, policy)
			}
		}
	}
}

// embedded returns the policies that stand as text in a file of policy tests.
func embedded(t *testing.T, text []byte) []string {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	var found []string
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "policy" && c.Kind == yaml.ScalarNode {
				found = append(found, c.Value)
			}
			walk(c)
		}
	}
	walk(&root)
	return found
}

func TestSpecExample(t *testing.T) {
	p := read(t, spec)
	policy := p.For("submission-extraction:gpt-primary:v4")
	if policy.Name != "extraction" || !policy.Matched || len(policy.Rules) != 6 {
		t.Errorf("For = %+v, want extraction with its six rules", policy)
	}
}
