package breaker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
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
	files, _ := filepath.Glob(kafkatest.Shared(t, "scenarios", "*.yaml"))
	if len(files) == 0 {
		t.Fatal("there are no scenarios among the shared files")
	}
	for _, file := range append(files, kafkatest.Shared(t, "peers", "policy.yaml")) {
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

// TestReadLegal has files that look odd and are right.
func TestReadLegal(t *testing.T) {
	tests := []struct{ name, text string }{
		{"no policy at all, and said so", "version: 1\npolicies: []\n"},
		{"parts with nothing in them", "version: 1\nkinds:\ndefaults:\nroutes:\npolicies: []\n"},
		{"JSON", `{"version": 1, "policies": [{"name": "p", "match": ["*"], "rules": [` +
			`{"name": "r", "type": "ratio", "threshold": 5e-1, "window": "1h30m"}]}]}`},
		{"a threshold that is reached", rule("{name: r, type: ratio, threshold: 1}")},
		{"decimals that are zero", rule("{name: r, type: count, threshold: 3.000}")},
		{"the smallest sum", rule("{name: r, type: sum, of: cost_usd, threshold: 0.000001}")},
		{"a success that a rule names", rule("{name: r, type: ratio, threshold: 1, kinds: [accepted]}")},
		{"a weight of nothing", policies("match: [\"*\"]\n  kinds: {missing_evidence: 0}\n" +
			"  rules: [{name: r, type: ratio, threshold: 0.5}, " +
			"{name: s, type: count, kinds: [cancelled], threshold: 2}]")},
		{"the same rule under two names", rule("{name: r, type: count, threshold: 1}, " +
			"{name: s, type: count, threshold: 1}")},
		{"a cause for which nothing but otherwise is left", "version: 1\npolicies: []\nroutes:\n" +
			"- {use_case: u, chain: [a], otherwise: human, by_cause: {MissingEvidence: []}}\n"},
		{"an anchor and its aliases", "version: 1\npolicies:\n" +
			"- {name: a, match: [\"a:*\"], rules: &rules [{name: r, type: count, threshold: 1}]}\n" +
			"- {name: b, match: [\"b:*\"], rules: *rules}\n"},
		{"health that is always long enough", "version: 1\ndefaults: {break: {healthy_after: 0s}}\npolicies: []\n"},
		{"lines that end as on Windows", "version: 1\r\npolicies: []\r\n"},
		{"a mark of the byte order", "\ufeffversion: 1\npolicies: []\n"},
		{"64 rules", rule(manyRules(64))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { read(t, tt.text).For("a") })
	}
}

func manyRules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{name: r%d, type: count, threshold: %d},", i, i+1)
	}
	return b.String()
}

func TestDefaults(t *testing.T) {
	p := read(t, `version: 1
defaults:
  window: 2m
  minimum_throughput: 7
  break: {duration: 5s, jitter: 0}
  half_open: {implicit: false}
  ramp: [{share: 0.1, for: 15s}]
policies:
- name: own
  match: [own]
  window: 3m
  break: {duration: 6s}
  half_open: {concurrency: 3}
  ramp: []
  idle_after: 1h
  rules:
  - {name: a, type: ratio, threshold: 0.5}
  - {name: b, type: ratio, threshold: 0.5, window: 4m, minimum_throughput: 8}
  - {name: c, type: ratio, threshold: 0.5, last: 9}
  - {name: d, type: slow_ratio, threshold: 0.5, last: 9, minimum_throughput: 4, over: 1s}
  - {name: e, type: consecutive, threshold: 2}
  - {name: f, type: sum, of: tokens, threshold: 2.5}
- {name: none, match: [none], rules: [{name: r, type: immediate}]}
`)
	file := breaker.Break{
		Duration: 5 * time.Second, BackoffMilli: 2000, Max: 10 * time.Minute, HealthyAfter: 10 * time.Minute,
	}
	half := breaker.HalfOpen{Concurrency: 1, Successes: 1, Failures: 1, Lease: 30 * time.Second}
	ramp := []breaker.RampStep{{ShareMilli: 100, For: 15 * time.Second}}
	for _, name := range []string{"none", "not matched"} {
		policy := p.For(name)
		if policy.Break != file || policy.HalfOpen != half || !slices.Equal(policy.Ramp, ramp) ||
			policy.IdleAfter != 24*time.Hour || policy.Longest != 0 || policy.Matched != (name == "none") {
			t.Errorf("For(%q) = %+v, want the file's defaults", name, policy)
		}
	}
	own := p.For("own")
	file.Duration, half.Concurrency = 6*time.Second, 3
	if own.Break != file || own.HalfOpen != half || len(own.Ramp) != 0 || own.IdleAfter != time.Hour ||
		own.Longest != 4*time.Minute || own.Line != 9 || !own.Enabled || !own.Enforce {
		t.Errorf("For(own) = %+v, want its own settings above the file's", own)
	}
	want := []struct {
		window                   time.Duration
		last, minimum, threshold int64
	}{{3 * time.Minute, 0, 7, 500}, {4 * time.Minute, 0, 8, 500}, {0, 9, 9, 500}, {0, 9, 4, 500}, {0, 0, 0, 2},
		{3 * time.Minute, 0, 0, 2_500_000}}
	for i, w := range want {
		r := own.Rules[i]
		if r.Window != w.window || r.Last != w.last || r.MinimumThroughput != w.minimum || r.Threshold != w.threshold ||
			r.Line != 17+i {
			t.Errorf("rule %+v, want %+v in line %d", r, w, 17+i)
		}
	}
}

func TestBuiltin(t *testing.T) {
	p := breaker.Builtin()
	policy := p.For("any:thing:v1")
	if policy.Name != "default" || !policy.Enabled || !policy.Enforce || len(policy.Rules) != 1 {
		t.Fatalf("For = %+v, want the policy default with one rule", policy)
	}
	r := policy.Rules[0]
	if r.Name != "failure-ratio" || r.Type != breaker.Ratio || r.Threshold != 500 || r.Window != time.Minute ||
		r.MinimumThroughput != 20 {
		t.Errorf("rule %+v, want failure-ratio at a half of at least 20 in a minute", r)
	}
	again, err := breaker.Read("again", []byte(p.Text))
	if err != nil || again.Version != p.Version || len(p.Version) != 16 {
		t.Errorf("Read(Text) = version %s, %v, want %s", again.Version, err, p.Version)
	}
}

func TestRoutes(t *testing.T) {
	routes := read(t, spec).Routes
	if len(routes) != 1 || routes[0].UseCase != "submission-extraction" || routes[0].Otherwise != "human-review" ||
		len(routes[0].Chain) != 2 ||
		!slices.Equal(routes[0].ByCause["missing_evidence"], []string{"submission-extraction:gpt-primary:v3"}) {
		t.Errorf("Routes = %+v, want those of the text", routes)
	}
}

// FuzzRead shows that no text is more than a fault, that every fault has a place, and that what is read can be used.
func FuzzRead(f *testing.F) {
	faults, err := os.ReadFile("testdata/faults.yaml")
	if err != nil {
		f.Fatal(err)
	}
	one := rule("{name: r, type: ratio, threshold: 1e0}")
	for _, text := range []string{spec, varied, ownKinds, string(faults), one} {
		f.Add(text, "submission-extraction:gpt")
	}
	schema := policySchema(f)
	f.Fuzz(func(t *testing.T, text, circuit string) {
		p, err := breaker.Read("p.yaml", []byte(text))
		if err != nil {
			for _, fault := range err.(breaker.Faults) {
				if fault.Line < 1 || fault.Column < 1 || fault.Message == "" {
					t.Errorf("fault %+v has no place or message", fault)
				}
			}
			return
		}
		if p.For(circuit) == nil || p.Explain(circuit) == "" || p.KindLabel(circuit) == "" {
			t.Errorf("For, Explain or KindLabel of %q has no answer", circuit)
		}
		if err := validate(schema, text); err != nil {
			t.Errorf("the schema does not take what the reader takes: %v", err)
		}
		for _, policy := range p.All() {
			for _, r := range policy.Rules {
				if r.Threshold < 1 || r.Window < 0 || r.Type < breaker.Ratio || r.Type > breaker.Sum {
					t.Errorf("rule %+v passed", r)
				}
			}
		}
	})
}

func ExampleRead() {
	_, err := breaker.Read("policy.yaml", []byte(`version: 1
policies:
- name: extraction
  match: ["extraction:*"]
  rules: [{name: failures, type: ratio, threshold: 0, widow: 5m}]
`))
	fmt.Println(err)
	// Output:
	// policy.yaml:5:52: threshold is 0; write a number above 0 with at most three decimals, such as 0.5
	// policy.yaml:5:55: unknown key "widow" in a rule; did you mean "window"?
}
