package kafka

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestMetricsBegin: the first dead letter or abort shows as an increase only if there was a 0 before it.
func TestMetricsBegin(t *testing.T) {
	registry := prometheus.NewRegistry()
	_, err := New(Config{
		Group: "g", Instance: "i", Topics: topics, DataDir: t.TempDir(), Metrics: registry,
		Client: []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, family := range families {
		got[family.GetName()] = len(family.Metric)
	}
	for name, want := range map[string]int{
		"fusebox_records_total": 12, "fusebox_transactions_total": 3, "fusebox_policy_reloads_total": 2,
		"fusebox_policy_last_reload_successful": 1, "fusebox_partitions": 1,
	} {
		if got[name] != want {
			t.Errorf("%s has %d series before anything happened, want %d", name, got[name], want)
		}
	}
}

// value returns what a counter or gauge stands at.
func value(t testing.TB, m prometheus.Metric) float64 {
	t.Helper()
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatalf("Write: %v", err)
	}
	if out.Counter != nil {
		return out.Counter.GetValue()
	}
	return out.Gauge.GetValue()
}
