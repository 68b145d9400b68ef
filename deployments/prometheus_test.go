package deployments_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// alert is a rule of prometheus/alerts.yaml.
type alert struct {
	Name          string `yaml:"alert"`
	For           string
	KeepFiringFor string `yaml:"keep_firing_for"`
	Labels        map[string]string
	Annotations   map[string]string
}

func readYAML[T any](t *testing.T, file string) (value T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	return value
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	type file struct{ Groups []struct{ Rules []alert } }
	for _, group := range readYAML[file](t, "prometheus/alerts.yaml").Groups {
		all = append(all, group.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("alerts.yaml has %d alerts, want 20 or more", len(all))
	}
	return all
}

// TestPromtool lets Prometheus's own tool check the rules and run their tests.
func TestPromtool(t *testing.T) {
	kafkatest.Require(t, "prometheus")
	for _, line := range []string{
		"check rules recording.yaml alerts.yaml", "check config prometheus.yaml",
		"test rules tests.yaml", "test rules tests_hours.yaml",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "promtool", strings.Fields(line)...)
			cmd.Dir = "prometheus"
			out, err := cmd.CombinedOutput()
			t.Logf("promtool %s\n%s", line, out)
			if err != nil {
				t.Errorf("promtool %s: %v", line, err)
			}
		})
	}
}

// TestAlertsAreTested wants a case where each alert fires and one where it does not.
func TestAlertsAreTested(t *testing.T) {
	fires, quiet := map[string]int{}, map[string]int{}
	type file struct {
		Tests []struct {
			Cases []struct {
				Alert string `yaml:"alertname"`
				Want  []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	tests := append(readYAML[file](t, "prometheus/tests.yaml").Tests,
		readYAML[file](t, "prometheus/tests_hours.yaml").Tests...)
	for _, test := range tests {
		for _, c := range test.Cases {
			if len(c.Want) > 0 {
				fires[c.Alert]++
			} else {
				quiet[c.Alert]++
			}
		}
	}
	for _, a := range alerts(t) {
		if fires[a.Name] == 0 || quiet[a.Name] == 0 {
			t.Errorf("the tests have %d cases where %s fires and %d where it does not, want some of each",
				fires[a.Name], a.Name, quiet[a.Name])
		}
	}
}

const runbook = "https://github.com/fusebox-project/fusebox/blob/main/docs/runbook.md#"

// TestAlertsAreComplete wants of each alert what somebody needs who is called at night.
func TestAlertsAreComplete(t *testing.T) {
	for _, a := range alerts(t) {
		for what, text := range map[string]string{
			"for": a.For, "keep_firing_for": a.KeepFiringFor,
			"summary": a.Annotations["summary"], "description": a.Annotations["description"],
		} {
			if text == "" || text == "0s" {
				t.Errorf("%s has no %s", a.Name, what)
			}
		}
		if severity := a.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s has severity %q, want critical or warning", a.Name, severity)
		}
		if got, want := a.Annotations["runbook_url"], runbook+strings.ToLower(a.Name); got != want {
			t.Errorf("%s has runbook_url %s, want %s", a.Name, got, want)
		}
	}
}

// TestRunbook wants a section for each alert, in their order, with all that it has to say, and no other section.
func TestRunbook(t *testing.T) {
	page, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	var names, want []string
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		names = append(names, name)
		var parts []string
		for _, part := range regexp.MustCompile(`(?m)^\*\*(.+?)\.\*\*`).FindAllStringSubmatch(text, -1) {
			parts = append(parts, part[1])
		}
		if !slices.Equal(parts, []string{"Means", "Confirm", "Do", "Do not"}) {
			t.Errorf("the section %s has the parts %v, want Means, Confirm, Do and Do not", name, parts)
		}
		if !regexp.MustCompile("(?ms)^```sh\n(.*\n)?fusebox [a-z].*?^```$").MatchString(text) {
			t.Errorf("the section %s has no fusebox command that confirms it", name)
		}
	}
	for _, a := range alerts(t) {
		want = append(want, a.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("sections of runbook.md are\n%v, want those of alerts.yaml:\n%v", names, want)
	}
}
