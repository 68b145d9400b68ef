package main

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// expression is what somebody asks of Prometheus, where that stands, and what came of it.
type expression struct {
	place, text string
	series      int
	most        float64
}

// expressions returns those of all panels, with variables replaced as Grafana does it on the demo.
func expressions() (all []expression) {
	for _, d := range dashboards {
		chosen := ".*"
		if d.circuits == oneCircuit {
			chosen = "submission-extraction:gpt-primary:v4"
		}
		values := strings.NewReplacer("$job", "fusebox", "$circuit", chosen,
			"$__rate_interval", "10s", "$__range", "1m")
		for _, r := range d.rows {
			for _, p := range r.panels {
				for _, t := range p.targets {
					all = append(all, expression{
						place: d.title + ": " + p.title + ": " + t.legend, text: values.Replace(t.expr),
					})
				}
			}
		}
	}
	return all
}

var promql = parser.NewParser(parser.Options{})

// rules returns the expressions of the rules beside the dashboards, and the names that they record.
func rules(t *testing.T) (all []expression, recorded map[string]bool) {
	t.Helper()
	recorded = map[string]bool{}
	for _, file := range []string{"recording.yaml", "alerts.yaml"} {
		groups, faults := rulefmt.ParseFile("../prometheus/"+file, false, model.UTF8Validation, promql, slog.Default())
		for _, err := range faults {
			t.Error(err)
		}
		for _, group := range groups.Groups {
			for _, r := range group.Rules {
				if r.Record != "" {
					recorded[r.Record] = true
				}
				all = append(all, expression{place: file + ": " + cmp.Or(r.Record, r.Alert), text: r.Expr})
			}
		}
	}
	return all, recorded
}

// checkNames wants every metric, label and value of an expression among the series that are served.
func checkNames(t *testing.T, e expression, served series, recorded map[string]bool) {
	t.Helper()
	root, err := promql.ParseExpr(e.text)
	if err != nil {
		t.Errorf("%s: %v", e.place, err)
		return
	}
	known := map[string]bool{"job": true, "instance": true} // Prometheus adds these.
	var grouped []string
	parser.Inspect(root, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			if recorded[n.Name] {
				known["circuit"], known["partition"] = true, true
				break
			}
			for _, problem := range missing(n, served) {
				t.Errorf("%s: %s", e.place, problem)
			}
			for _, s := range served[n.Name] {
				for label := range s {
					known[label] = true
				}
			}
		case *parser.AggregateExpr:
			grouped = append(grouped, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				grouped = append(grouped, n.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	for _, label := range grouped {
		if !known[label] {
			t.Errorf("%s: no series of it has the label %s", e.place, label)
		}
	}
}

// missing says what a selector names and nobody serves.
func missing(n *parser.VectorSelector, served series) (problems []string) {
	all := served[n.Name]
	if len(all) == 0 {
		return []string{"nobody serves " + n.Name}
	}
	for _, m := range n.LabelMatchers {
		if slices.Contains([]string{"__name__", "job", "instance"}, m.Name) {
			continue
		}
		fits := func(s map[string]string) bool {
			value, has := s[m.Name]
			anyValue := m.Type != labels.MatchEqual || m.Name == "kind" // The demo has few kinds.
			return has && (anyValue || m.Value == value)
		}
		if !slices.ContainsFunc(all, fits) {
			problems = append(problems, n.Name+" is never served with "+m.String())
		}
	}
	return problems
}
