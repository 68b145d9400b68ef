package schemas_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

func TestCauseWords(t *testing.T) {
	tests := []struct {
		cause schemas.Cause
		want  string
	}{
		{
			schemas.Cause{
				Rule: "failure-ratio", Type: "ratio", Kind: "missing_evidence", Window: time.Minute, Throughput: 50,
				Observed: 0.62, Threshold: 0.5, ByKind: map[string]int64{"missing_evidence": 27, "invalid_contract": 4},
				Weights: map[string]float64{"missing_evidence": 27, "invalid_contract": 4},
			},
			"failure-ratio: 31 of 50 outcomes in 1m failed (0.62, threshold 0.5), mostly missing_evidence (27)",
		},
		{
			schemas.Cause{
				Rule: "lately", Type: "ratio", Kind: "missing_evidence", Last: 30, Throughput: 30, Observed: 0.6,
				Threshold: 0.6, ByKind: map[string]int64{"missing_evidence": 18, "accepted": 12},
				Weights: map[string]float64{"missing_evidence": 18}, BySuccess: true,
			},
			"lately: 18 of the last 30 outcomes failed (0.6, threshold 0.6), all missing_evidence (18)",
		},
		{
			schemas.Cause{Rule: "surge", Type: "count", Kind: "policy_rejection", Window: 5 * time.Minute,
				Throughput: 64, Observed: 10,
				Threshold: 10, ByKind: map[string]int64{"policy_rejection": 10},
				Weights: map[string]float64{"policy_rejection": 10}},
			"surge: 10 of 64 outcomes in 5m matched (threshold 10), all policy_rejection (10)",
		},
		{
			schemas.Cause{Rule: "down", Type: "consecutive", Kind: "transport_failure", Observed: 5, Threshold: 5,
				ByKind: map[string]int64{"transport_failure": 5}, Weights: map[string]float64{"transport_failure": 5}},
			"down: 5 outcomes in a row failed (threshold 5), all transport_failure (5)",
		},
		{
			schemas.Cause{Rule: "invented", Type: "immediate", Kind: "contradictory_evidence",
				Observed: 1, Threshold: 1, Evidence: []schemas.Evidence{{Severity: schemas.Critical}}},
			"invented: one critical contradictory_evidence is enough",
		},
		{
			schemas.Cause{Rule: "slow", Type: "slow_ratio", Kind: "accepted", Window: 90 * time.Second, Throughput: 24,
				Observed: 2.0 / 3, Threshold: 0.5},
			"slow: 16 of 24 outcomes in 1m30s were too slow (0.667, threshold 0.5)",
		},
		{
			schemas.Cause{Rule: "spend", Type: "sum", Kind: "accepted", Window: time.Hour,
				Observed: 25.130001, Threshold: 25},
			"spend: 25.130001 in 1h added up (threshold 25)",
		},
		{
			schemas.Cause{Rule: "probe_failed", Type: "probe_failed", Kind: "invalid_contract"},
			"the probe failed: invalid_contract",
		},
		{
			schemas.Cause{Rule: "probes_inconclusive", Type: "probes_inconclusive"},
			"three probes in a row ended without a verdict",
		},
	}
	for _, tt := range tests {
		if got := tt.cause.Words(); got != tt.want {
			t.Errorf("Words() = %q\nwant      %q", got, tt.want)
		}
	}
}

// TestCauseWordsOfARatio tells matching outcomes where each weighs 1, and else what they weigh.
func TestCauseWordsOfARatio(t *testing.T) {
	tests := []struct {
		cause schemas.Cause
		want  string
	}{
		{
			schemas.Cause{
				Rule: "weighty", Type: "ratio", Kind: "missing_evidence", Window: time.Minute, Throughput: 20,
				Observed: 1.25, Threshold: 0.5, ByKind: map[string]int64{"missing_evidence": 5, "accepted": 15},
				Weights: map[string]float64{"missing_evidence": 25},
			},
			"weighty: weight 1.25 of 20 outcomes in 1m failed (threshold 0.5), all missing_evidence (5)",
		},
		{
			schemas.Cause{
				Rule: "grave", Type: "ratio", Kind: "missing_evidence", Window: time.Minute, Throughput: 20,
				Observed: 0.15, Threshold: 0.1, ByKind: map[string]int64{"missing_evidence": 5, "accepted": 15},
				Weights: map[string]float64{"missing_evidence": 3},
			},
			"grave: weight 0.15 of 20 outcomes in 1m failed (threshold 0.1), all missing_evidence (5)",
		},
		{
			schemas.Cause{
				Rule: "one", Type: "ratio", Kind: "missing_evidence", Window: time.Minute, Throughput: 1,
				Observed: 1, Threshold: 0.5, ByKind: map[string]int64{"missing_evidence": 1},
				Weights: map[string]float64{"missing_evidence": 1},
			},
			"one: 1 of 1 outcome in 1m failed (1, threshold 0.5), all missing_evidence (1)",
		},
	}
	for _, tt := range tests {
		if got := tt.cause.Words(); got != tt.want {
			t.Errorf("Words() = %q\nwant      %q", got, tt.want)
		}
	}
}

func TestCauseKinds(t *testing.T) {
	c := schemas.Cause{
		ByKind:  map[string]int64{"accepted": 90, "b": 3, "a": 3, "heavy": 1},
		Weights: map[string]float64{"heavy": 10, "a": 3, "b": 3},
	}
	if got, want := c.Kinds(), []string{"heavy", "a", "b", "accepted"}; !slices.Equal(got, want) {
		t.Errorf("Kinds() = %v, want %v", got, want)
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s", 20 * time.Second: "20s",
		250 * time.Millisecond: "250ms", time.Hour + 5*time.Minute: "1h5m", 10 * time.Minute: "10m",
		1234567 * time.Microsecond: "1.235s", 0: "0s",
	} {
		if got := schemas.Brief(d); got != want {
			t.Errorf("Brief(%d) = %q, want %q", d, got, want)
		}
	}
}
