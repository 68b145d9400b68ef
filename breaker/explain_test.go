package breaker_test

import (
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/breaker"
)

// varied has what the example of the specification has not.
const varied = `version: 1
policies:
- name: varied
  match: ["a:*", "b:*"]
  enforce: false
  kinds: {missing_evidence: 0.333, transport_failure: 0.001, policy_rejection: success, cancelled: 0}
  severity_weights: {low: 0.5}
  evaluator_weights: {llm: 0.5, human: 2}
  break: {duration: 90s, backoff: 1, max: 1h30m, jitter: 0}
  half_open: {concurrency: 2, successes: 3, failures: 2, implicit: false}
  ramp: [{share: 0.1, for: 15s}, {share: 0.505, for: 30s}]
  rules:
  - {name: down, type: immediate, kinds: [transport_failure], evaluators: [llm, code], action: degrade}
  - {name: slow, type: slow_ratio, over: 2s, threshold: 0.25, minimum_throughput: 1}
  - {name: waste, type: sum, of: tokens, only: rejected, threshold: 1000.5, window: 90m}
  - {name: moved, type: sum, of: cost_usd, only: fallback, threshold: 0.000001}
  - {name: codes, type: count, kinds: [Missing_Evidence, invalidContract], severity: high, reason_codes: [x, c],
     threshold: 3, last: 9}
- {name: off, match: ["*"], enabled: false, rules: [{name: r, type: ratio, threshold: 0.5}]}
routes:
- {use_case: u, chain: ["a:1", "b:1"]}
`

func TestExplain(t *testing.T) {
	var b strings.Builder
	b.WriteString(read(t, spec).Explain("submission-extraction:gpt-primary:v4"))
	b.WriteString("\n====\n" + read(t, spec).Explain("another"))
	b.WriteString("\n====\n" + read(t, varied).Explain("b:1"))
	b.WriteString("\n====\n" + read(t, varied).Explain("c:1"))
	b.WriteString("\n====\n" + breaker.Builtin().Explain("any"))
	golden(t, "testdata/explain.txt", b.String())
}
