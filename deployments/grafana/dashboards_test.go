package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommitted: what is committed is what the code writes, and nothing else lies there.
func TestCommitted(t *testing.T) {
	var want []string
	for _, d := range dashboards {
		want = append(want, d.file())
		text, err := d.json()
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(d.file())
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(text, committed) {
			t.Errorf("%s is not what the code writes: go -C deployments/grafana run .", d.file())
		}
	}
	found, err := filepath.Glob("dashboards/*")
	slices.Sort(want)
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("dashboards/ holds %v, %v; want %v", found, err, want)
	}
}

// panels returns all panels by the place where they are.
func panels() map[string]panel {
	all := map[string]panel{}
	for _, d := range dashboards {
		for _, r := range d.rows {
			for _, p := range r.panels {
				all[d.uid+": "+r.title+": "+p.title] = p
			}
		}
	}
	return all
}

// TestPanels wants of each panel what a reader needs, and that it links to sections of the runbook that are there.
func TestPanels(t *testing.T) {
	page, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for place, p := range panels() {
		if p.about == "" || p.unit == "" || p.width == 0 || len(p.targets) == 0 {
			t.Errorf("%s: %d wide, unit %q, %d targets, described as %q; want some of each",
				place, p.width, p.unit, len(p.targets), p.about)
		}
		for _, target := range p.targets {
			if target.legend == "" {
				t.Errorf("%s: a target has no legend", place)
			}
		}
		for _, alert := range p.alerts {
			linked[alert] = true
			if !bytes.Contains(page, []byte("\n## "+alert+"\n")) {
				t.Errorf("%s: the runbook has no section %s", place, alert)
			}
		}
	}
	for _, section := range regexp.MustCompile(`(?m)^## (Fusebox\w+)$`).FindAllStringSubmatch(string(page), -1) {
		if !linked[section[1]] {
			t.Errorf("no panel shows what %s watches", section[1])
		}
	}
}

// TestLines: panels fill whole lines, as a line that is not full leaves the next panel beside it.
func TestLines(t *testing.T) {
	for _, d := range dashboards {
		for _, r := range d.rows {
			line := uint32(0)
			for _, p := range r.panels {
				if line += p.width; line > 24 {
					t.Errorf("%s: %s: %s does not fit into its line", d.uid, r.title, p.title)
				}
				line %= 24
			}
			if line != 0 {
				t.Errorf("%s: %s: the last line is %d wide, want 24", d.uid, r.title, line)
			}
		}
	}
}

// TestVariables: expressions use the variables that their dashboard has, and all of them.
func TestVariables(t *testing.T) {
	for _, d := range dashboards {
		text, err := d.json()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{
			"datasource": true, "job": true, "console": true, "circuit": d.circuits != noCircuit,
		} {
			declared := strings.Contains(string(text), `"name": "`+name+`"`)
			used := regexp.MustCompile(`\$\{?` + name + `\b`).Match(text)
			if declared != want || used != want {
				t.Errorf("%s: $%s is declared: %t, used: %t; want %t", d.uid, name, declared, used, want)
			}
		}
	}
}
