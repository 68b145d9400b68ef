package schemas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fusebox-project/fusebox/schemas"
)

// Whatever the strings and numbers, what is written is JSON.
func TestAppendWritesJSONWhateverItIsGiven(t *testing.T) {
	bad := "a\xff\x00\"\\\n\u2028</script>\xed\xa0\x80"
	moment := time.Date(2026, 9, 14, 14, 0, 0, 123456789, time.FixedZone("", 7200))
	cause := &schemas.Cause{
		Rule: bad, Kind: bad, Observed: math.NaN(), Threshold: math.Inf(1), ByKind: map[string]int64{bad: 1},
		Weights: map[string]float64{bad: 0.75}, AlsoFired: []string{bad}, At: moment,
		Evidence: []schemas.Evidence{{ID: bad}},
	}
	state := schemas.State{
		Circuit: bad, Cause: cause, Degraded: cause, Leases: []schemas.Lease{{ID: bad}},
		Ramp: []schemas.RampStep{{Share: 0.1}}, Override: &schemas.OverrideInForce{Reason: bad},
	}
	route := schemas.Route{Chain: []string{bad}, ByCause: map[string][]string{bad: {bad}}}
	policies := schemas.PoliciesInForce{Text: bad, Routes: []schemas.Route{route}}
	outcome := schemas.Outcome{ID: bad, Kind: bad, Time: moment, Evaluator: schemas.Evaluator{Name: bad}}
	for name, text := range map[string][]byte{
		"AppendOutcome":   schemas.AppendOutcome(nil, &outcome),
		"AppendClaim":     schemas.AppendSignal(nil, &schemas.Signal{Type: schemas.Claim, Holder: bad}),
		"AppendRelease":   schemas.AppendSignal(nil, &schemas.Signal{Type: schemas.Release, Lease: bad}),
		"AppendOverride":  schemas.AppendSignal(nil, &schemas.Signal{Type: schemas.Override, Reason: bad}),
		"AppendState":     schemas.AppendState(nil, &state),
		"AppendCause":     schemas.AppendCause(nil, cause),
		"AppendHeartbeat": schemas.AppendHeartbeat(nil, &schemas.Heartbeat{Instance: bad, At: moment}),
		"AppendPolicies":  schemas.AppendPolicies(nil, &policies),
		"AppendSwitch":    schemas.AppendSwitch(nil, &schemas.PolicySwitch{Policies: policies}),
	} {
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Errorf("%s writes what is not JSON: %q", name, text)
		}
	}
	if text := schemas.AppendCause([]byte("x"), nil); string(text) != "xnull" {
		t.Errorf("AppendCause(x, nil) = %s, want xnull", text)
	}
}

func TestAppendOutcome(t *testing.T) {
	moment := time.Date(2026, 9, 14, 14, 0, 0, 123500000, time.FixedZone("", 7200))
	for _, tt := range []struct {
		outcome schemas.Outcome
		want    string
	}{
		{schemas.Outcome{Kind: "accepted"}, `{"kind":"accepted"}`},
		{schemas.Outcome{Kind: "accepted", Count: 1, HasEpoch: true}, `{"kind":"accepted","epoch":0}`},
		{schemas.Outcome{Kind: "x", Circuit: "c", Count: 3, CostMicros: 1},
			`{"circuit":"c","kind":"x","cost_usd":0.000001,"count":3}`},
		{schemas.Outcome{Kind: "x", CostMicros: 12_300_000}, `{"kind":"x","cost_usd":12.3}`},
		{schemas.Outcome{Kind: "x", CostMicros: 5_000_000}, `{"kind":"x","cost_usd":5}`},
		{schemas.Outcome{Kind: "x", Time: moment}, `{"kind":"x","time":"2026-09-14T12:00:00.124Z"}`},
		{schemas.Outcome{Kind: "x", Severity: schemas.High, Evaluator: schemas.Evaluator{Type: schemas.LLM}},
			`{"kind":"x","severity":"high","evaluator":{"type":"llm"}}`},
	} {
		if got := string(schemas.AppendOutcome(nil, &tt.outcome)); got != tt.want {
			t.Errorf("AppendOutcome(%+v) = %s, want %s", tt.outcome, got, tt.want)
		}
	}
}

func TestAppendSignalWithoutType(t *testing.T) {
	defer func() {
		if got, want := fmt.Sprint(recover()), `signal for "c" has no type: 0`; got != want {
			t.Errorf("AppendSignal panics with %s, want %s", got, want)
		}
	}()
	schemas.AppendSignal(nil, &schemas.Signal{Circuit: "c"})
}

func TestDeadLetter(t *testing.T) {
	payload := bytes.Repeat([]byte("x"), schemas.MaxRecord+1)
	d := schemas.DeadLetter{Topic: "in", Partition: 3, Offset: 1204, Problem: "no kind", Size: 70000, Payload: payload}
	got, err := schemas.DecodeDeadLetter(d.Headers(), d.Value())
	d.Payload = payload[:schemas.MaxRecord]
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("DecodeDeadLetter of its own headers = %+v, %v, want %+v", got, err, d)
	}
	if v := (&schemas.DeadLetter{}).Value(); v != nil {
		t.Errorf("Value without a payload = %q, want nil: a tombstone holds nothing", v)
	}
}

func TestCheckCircuit(t *testing.T) {
	for _, name := range []string{"a", "a b:c/d", "é★", strings.Repeat("x", 200), "\u00a0"} {
		if err := schemas.CheckCircuit(name); err != nil {
			t.Errorf("CheckCircuit(%q) = %v, want none", name, err)
		}
	}
	for name, want := range map[string]string{
		"":                       "circuit: is missing",
		strings.Repeat("x", 201): "circuit: has 201 bytes, must have at most 200",
		"\xc3":                   "circuit: is not valid UTF-8",
		"\u0000policies":         "circuit: has control characters",
		"a\x7f":                  "circuit: has control characters",
		"a\u009f":                "circuit: has control characters",
	} {
		if err := schemas.CheckCircuit(name); fmt.Sprint(err) != want {
			t.Errorf("CheckCircuit(%q) = %v, want %s", name, err, want)
		}
	}
}
