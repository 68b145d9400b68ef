package schemas_test

import (
	"testing"

	"github.com/fusebox-project/fusebox/schemas"
)

func TestFallback(t *testing.T) {
	route := schemas.Route{
		Chain: []string{"a", "b"}, Otherwise: "a person",
		ByCause: map[string][]string{"missing_evidence": {"c"}, "invalid_contract": {"d", "e"}},
	}
	short := schemas.Route{Chain: []string{"a", "b"}}
	byCause := schemas.Route{Chain: short.Chain, ByCause: map[string][]string{"cancelled": {"c"}}}
	for _, tt := range []struct {
		name, circuit, kind string
		route               schemas.Route
		want                string
	}{
		{"nothing is wrong", "a", "", route, "b, then a person; " +
			"after invalid_contract d, then e, then a person; after missing_evidence c, then a person"},
		{"a cause with a list of its own", "a", "missing_evidence", route, "c, then a person"},
		{"another cause", "a", "transport_failure", route, "b, then a person"},
		{"the last of a chain", "b", "transport_failure", short, ""},
		{"the last, by cause alone", "b", "", byCause, "after cancelled c"},
	} {
		s := schemas.State{Circuit: tt.circuit}
		if tt.kind != "" {
			s.Cause = &schemas.Cause{Kind: tt.kind}
		}
		if got := tt.route.Fallback(&s); got != tt.want {
			t.Errorf("%s: Fallback = %q, want %q", tt.name, got, tt.want)
		}
	}
}
