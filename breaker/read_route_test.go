package breaker_test

import (
	"testing"

	"github.com/fusebox-project/fusebox/breaker"
)

// route is a file with one route, its keys beside the use case.
func route(keys string) string {
	return "version: 1\npolicies: [{name: p, match: [\"*\"], rules: [{name: r, type: count, threshold: 1}]}]\n" +
		"routes:\n- {use_case: u, " + keys + "}\n"
}

func TestReadFaultOfARoute(t *testing.T) {
	checkFaults(t, []badFile{
		{"a circuit twice in a chain", route(`chain: ["u:a", "u:b", "u:a"]`),
			`4:39: chain names circuit "u:a" twice; leave one of them`},
		{"a pattern in a chain", route(`chain: ["u:*"]`),
			`4:25: chain names "u:*", and a route takes no patterns; write the name of one circuit`},
		{"a cause with nothing", route("chain: [a], by_cause: {missing_evidence: }"),
			"4:58: by_cause of missing_evidence is empty; write [] to go straight to otherwise, or name circuits"},
		{"a circuit twice for a cause", route("chain: [a], by_cause: {missing_evidence: [b, b]}"),
			`4:62: by_cause of missing_evidence names circuit "b" twice; leave one of them`},
	})
}

func TestReadRouteStraightToOtherwise(t *testing.T) {
	text := route("chain: [a], by_cause: {missing_evidence: [], invalid_contract: [a]}")
	p, err := breaker.Read("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if list, ok := p.Routes[0].ByCause["missing_evidence"]; !ok || list == nil || len(list) != 0 {
		t.Errorf("ByCause of [] = %v, %v, want an empty list", list, ok)
	}
}

func TestReadYAMLDirective(t *testing.T) {
	body := "---\nversion: 1\npolicies: [{name: p, match: [\"*\"], rules: [{name: r, type: count, threshold: 1}]}]\n"
	for _, head := range []string{
		"%YAML 1.2\n", "# ours\n\n%YAML  1.2 # so\r\n", "%TAG ! !a\n%YAML 1.2\n", "%YAML 1.1\n",
	} {
		p, err := breaker.Read("p.yaml", []byte(head+body))
		if err != nil {
			t.Errorf("Read of %q: %v", head, err)
			continue
		}
		if p.Text != head+body {
			t.Errorf("Text of %q = %q, want it as it came", head, p.Text)
		}
	}
	checkFaults(t, []badFile{{"another YAML", "%YAML 2.0\n" + body, "1:1: the file is not YAML: " +
		"found incompatible YAML document; write %YAML 1.2, or take the line out"}})
}
