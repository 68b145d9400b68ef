package breaker_test

import (
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

const ownKinds = `version: 1
kinds: [tool_misuse, HTTPError, _odd__Name2_, a]
policies:
- {name: p, match: ["*"], kinds: {Tool_Misuse: 2, httpError: success, PolicyRejection: 1, cancelled: failure}, rules: [
  {name: r, type: ratio, threshold: 0.5}]}
`

func TestKindLabel(t *testing.T) {
	p := read(t, ownKinds)
	tests := []struct{ kind, want string }{
		{"tool_misuse", "tool_misuse"},
		{"ToolMisuse", "tool_misuse"},
		{"TOOL__MISUSE_", "tool_misuse"},
		{"toolmisuse", "tool_misuse"},
		{"http_error", "http_error"},
		{"HTTPError", "http_error"},
		{"OddName2", "odd_name2"},
		{"A", "a"},
		{"MissingEvidence", "missing_evidence"},
		{"missing-evidence", "unknown"},
		{"missing_evidencex", "unknown"},
		{"missing_evidenc", "unknown"},
		{"unknown", "unknown"},
		{"", "unknown"},
		{"___", "unknown"},
		{"made_up", "unknown"},
		{strings.Repeat("tool_misuse", 100), "unknown"},
		{strings.Repeat("_", 1000) + "cancelled", "cancelled"},
	}
	for _, kind := range schemas.Kinds {
		tests = append(tests, struct{ kind, want string }{kind, kind})
		tests = append(tests, struct{ kind, want string }{strings.ToUpper(kind), kind})
	}
	for _, tt := range tests {
		if got := p.KindLabel(tt.kind); got != tt.want {
			t.Errorf("KindLabel(%q) = %q, want %q", tt.kind, got, tt.want)
		}
	}
}

func TestRoleOf(t *testing.T) {
	p := read(t, ownKinds)
	tests := []struct {
		kind         string
		set, builtIn breaker.Role
	}{
		{"accepted", breaker.Success, breaker.Success},
		{"transport_failure", breaker.Failure, breaker.Failure},
		{"invalid_contract", breaker.Failure, breaker.Failure},
		{"business_rule_failure", breaker.Failure, breaker.Failure},
		{"missing_evidence", breaker.Failure, breaker.Failure},
		{"contradictory_evidence", breaker.Failure, breaker.Failure},
		{"policy_rejection", breaker.Failure, breaker.Neutral},
		{"evaluator_error", breaker.Neutral, breaker.Neutral},
		{"cancelled", breaker.Failure, breaker.Neutral},
		{"tool_misuse", breaker.Failure, breaker.Neutral},
		{"http_error", breaker.Success, breaker.Neutral},
		{"odd_name2", breaker.Neutral, breaker.Neutral},
		{"made_up", breaker.Neutral, breaker.Neutral},
	}
	builtin := breaker.Builtin()
	for _, tt := range tests {
		if got := p.RoleOf(p.For("c"), tt.kind); got != tt.set {
			t.Errorf("RoleOf(%q) = %v, want %v", tt.kind, got, tt.set)
		}
		if got := builtin.RoleOf(builtin.For("c"), tt.kind); got != tt.builtIn {
			t.Errorf("built-in RoleOf(%q) = %v, want %v", tt.kind, got, tt.builtIn)
		}
	}
}

func TestKindLabelDoesNotAllocate(t *testing.T) {
	p := read(t, ownKinds)
	for _, kind := range []string{"accepted", "MissingEvidence", "tool_misuse", "ToolMisuse", "made_up"} {
		if n := testing.AllocsPerRun(100, func() { p.KindLabel(kind) }); n != 0 {
			t.Errorf("KindLabel(%q) allocates %v times, want 0", kind, n)
		}
	}
}

func BenchmarkKindLabel(b *testing.B) {
	p, err := breaker.Read("p.yaml", []byte(ownKinds))
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{"accepted", "contradictory_evidence", "tool_misuse", "ToolMisuse", "made_up"} {
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.KindLabel(kind)
			}
		})
	}
}
