package main

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// series are the labels of each series that is served, by its name.
type series map[string][]map[string]string

// scrape returns what an address serves, as Prometheus 2 stores it.
func scrape(t *testing.T, addr string) series {
	t.Helper()
	asked, err := http.Get("http://" + addr + "/v1/circuits") // Requests are counted from the first on.
	if err != nil {
		t.Fatal(err)
	}
	asked.Body.Close()
	answer, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	reader := expfmt.NewTextParser(model.UTF8Validation)
	families, err := reader.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := series{}
	for name, family := range families {
		for _, m := range family.Metric {
			own := map[string]string{}
			for _, label := range m.Label {
				own[label.GetName()] = label.GetValue()
			}
			all[name] = append(all[name], own)
			if family.GetType() == dto.MetricType_HISTOGRAM {
				all.addHistogram(name, own, m.Histogram)
			}
		}
	}
	return all
}

func (s series) addHistogram(name string, own map[string]string, h *dto.Histogram) {
	s[name+"_sum"] = append(s[name+"_sum"], own)
	s[name+"_count"] = append(s[name+"_count"], own)
	for _, bucket := range h.Bucket {
		labels := map[string]string{"le": strconv.FormatFloat(bucket.GetUpperBound(), 'g', -1, 64)}
		maps.Copy(labels, own)
		s[name+"_bucket"] = append(s[name+"_bucket"], labels)
	}
}

var (
	tableRow   = regexp.MustCompile("(?m)^\\| (`fusebox_[^|]+) \\|([^|]*)\\|$")
	pageRow    = regexp.MustCompile("(?m)^\\| (`fusebox_[^|]+) \\|([^|]*)\\|[^|]*\\|$")
	metricName = regexp.MustCompile("`(fusebox_[a-z_]+|_[a-z_]+)(?:\\{(\\w+)\\})?`")
	brackets   = regexp.MustCompile(`\([^)]*\)`)
)

// checkPage wants of each metric in the table of operations.md the labels that stand there.
func checkPage(t *testing.T, served series) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := pageRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 30 {
		t.Errorf("operations.md has %d rows of metrics, want 30 or more", len(rows))
	}
	for _, row := range rows {
		labels := strings.Fields(strings.ReplaceAll(row[2], ",", " "))
		for _, name := range metricName.FindAllStringSubmatch(row[1], -1) {
			checkLabels(t, served, name[1], labels)
		}
	}
}

// checkTable wants what INTERFACES.md promises of metrics, with these labels and no others.
func checkTable(t *testing.T, served series) {
	t.Helper()
	text, err := os.ReadFile("../../../shared/INTERFACES.md")
	if err != nil {
		t.Logf("not compared with INTERFACES.md: %v", err)
		return
	}
	rows := tableRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 15 {
		t.Errorf("INTERFACES.md has %d rows of metrics, want 15 or more", len(rows))
	}
	for _, row := range rows {
		words, _, _ := strings.Cut(strings.ReplaceAll(brackets.ReplaceAllString(row[2], ""), ":", ";"), ";")
		var listed []string
		for word := range strings.SplitSeq(words, ",") {
			if label := strings.Fields(word); len(label) > 0 {
				listed = append(listed, label[0])
			}
		}
		for _, name := range metricName.FindAllStringSubmatch(row[1], -1) {
			if name[2] != "" {
				checkLabels(t, served, name[1], []string{name[2]})
			} else {
				checkLabels(t, served, name[1], listed)
			}
		}
		for _, name := range metricName.FindAllStringSubmatch(row[2], -1) { // Of no labels, or those of the row.
			checkLabels(t, served, name[1], nil)
		}
	}
}

// checkLabels wants a metric with these labels. Where none are listed, any will do.
func checkLabels(t *testing.T, served series, name string, want []string) {
	t.Helper()
	if strings.HasPrefix(name, "_") {
		name = "fusebox_partition" + name
	}
	if len(served[name]) == 0 {
		t.Errorf("nobody serves %s, which is documented", name)
		return
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(served[name][0])); len(want) > 0 && !slices.Equal(got, want) {
		t.Errorf("%s has the labels %v, want %v as documented", name, got, want)
	}
}
