package schemas_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// The specification's example, member by member.
func TestDecodeOutcome(t *testing.T) {
	got, err := outcomeFrom(record(t, "outcome/full.json"))
	want := schemas.Outcome{
		ID: "01J7ZK3V9E8N5Q2W6R4T1Y0AXB", Circuit: "submission-extraction:gpt-primary:v4",
		Kind:       schemas.MissingEvidence,
		ReasonCode: "no_citation", Reason: "at most 256 bytes, safe to show",
		Time:      time.Date(2026, 9, 14, 12, 0, 0, 123e6, time.UTC),
		LatencyMS: 1834, InputTokens: 4808, OutputTokens: 212, CostMicros: 15300,
		UseCase: "submission-extraction", Route: "gpt-primary", Version: "v4", Tenant: "acme",
		Provider: "azure.ai.openai", Model: "gpt-4o-2024-08-06",
		Evaluator: schemas.Evaluator{Name: "evidence-verifier", Version: "1.4.0"}, Stage: "retrieval",
		Epoch: 41, HasEpoch: true, Source: "underwriting-7", Count: 1,
		EvidenceRef: "s3://evidence/2026/09/14/01J7ZK3V", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("DecodeOutcome of the example = %+v, %v\nwant %+v", got, err, want)
	}
}

func TestOutcomeIsOverwrittenWhole(t *testing.T) {
	o := schemas.Outcome{ID: "old", HasEpoch: true, Lease: "old", Count: 9}
	err := schemas.DecodeOutcome([]byte("c"), []byte(`{"kind":"accepted"}`), &o)
	want := schemas.Outcome{Circuit: "c", Kind: schemas.Accepted, Count: 1}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("DecodeOutcome into a used outcome = %+v, %v, want %+v", o, err, want)
	}
}

// What is mended on the way in. Each case adds members to an outcome and shows one thing of the result.
func TestOutcomeIsMended(t *testing.T) {
	long := strings.Repeat("é", 200)
	for _, tt := range []struct {
		name, members string
		show          func(schemas.Outcome) any
		want          any
	}{
		{"the value's circuit counts", `"circuit":"value"`, circuit, "value"},
		{"an empty circuit is absent", `"circuit":""`, circuit, "key"},
		{"the last of two counts", `"circuit":"a","circuit":null`, circuit, "key"},
		{"a kind in camel case", `"kind":"MissingEvidence"`, kind, schemas.MissingEvidence},
		{"a kind in capitals", `"kind":"TRANSPORT_FAILURE"`, kind, schemas.TransportFailure},
		{"a kind with odd underscores", `"kind":"_Policy__rejection_"`, kind, schemas.PolicyRejection},
		{"an escaped kind", `"kind":"\u0061ccepted"`, kind, schemas.Accepted},
		{"a prefix of a kind is another", `"kind":"accept"`, kind, "accept"},
		{"a kind of a file stays as it came", `"kind":"Tool_Misuse"`, kind, "Tool_Misuse"},
		{"a control character makes no known kind", `"kind":"accepted\u0000"`, kind, "accepted\uFFFD"},
		{"a long kind is cut", `"kind":"` + long + `"`, kind, long[:200]},
		{"an unknown severity", `"severity":"dire"`, func(o schemas.Outcome) any { return o.Severity }, schemas.Normal},
		{"a severity", `"severity":"critical"`, func(o schemas.Outcome) any { return o.Severity }, schemas.Critical},
		{"an unknown evaluator type", `"evaluator":{"type":"oracle"}`, evaluator, schemas.LLM},
		{"no evaluator type", `"evaluator":{"name":"x"}`, evaluator, schemas.Code},
		{"the last evaluator counts", `"evaluator":{"type":"llm"},"evaluator":null`, evaluator, schemas.Code},
		{"a long reason", `"reason":"a` + long + `"`, reason, "a" + long[:254]},
		{"controls in a reason", `"reason":"a\nb\u0085c\u007fd"`, reason, "abcd"},
		{"controls go before the cut", `"reason":"\n` + long + `"`, reason, long[:256]},
		{"half a surrogate in a reason", `"reason":"a\ud83d"`, reason, "a\uFFFD"},
		{"bytes that are no UTF-8 in a reason", "\"reason\":\"a\xff\"", reason, "a\uFFFD"},
		{"an offset", `"time":"2026-09-14T14:00:00+02:00"`, at, "2026-09-14T12:00:00Z"},
		{"half a millisecond", `"time":"2026-09-14T12:00:00.0005Z"`, at, "2026-09-14T12:00:00.001Z"},
		{"less than half a millisecond", `"time":"2026-09-14T12:00:00.000499999Z"`, at, "2026-09-14T12:00:00Z"},
		{"Go's zero time is absent", `"time":"0001-01-01T00:00:00Z"`, at, "0001-01-01T00:00:00Z"},
		{"t and z in lower case", `"time":"2026-09-14t12:00:00.5z"`, at, "2026-09-14T12:00:00.5Z"},
		{"a leap second", `"time":"2016-12-31T23:59:60Z"`, at, "2016-12-31T23:59:59.999Z"},
		{"a part of a leap second elsewhere", `"time":"2016-12-31t15:59:60.25-08:00"`, at, "2016-12-31T23:59:59.999Z"},
		{"a time before 1970", `"time":"0002-01-01T00:00:00Z"`, at, "0002-01-01T00:00:00Z"},
		{"half a millisecond of latency", `"latency_ms":0.5`, latency, int64(1)},
		{"less than that", `"latency_ms":0.49999999999999999999`, latency, int64(0)},
		{"latency as a power", `"latency_ms":1.8345e3`, latency, int64(1835)},
		{"latency of many digits", `"latency_ms":1.` + strings.Repeat("0", 5000) + "1", latency, int64(1)},
		{"money exact", `"cost_usd":0.000001`, cost, int64(1)},
		{"half a millionth", `"cost_usd":0.0000005`, cost, int64(1)},
		{"what binary fractions would bend", `"cost_usd":1.0000005`, cost, int64(1000001)},
		{"money as a power", `"cost_usd":1.5e-2`, cost, int64(15000)},
		{"money as a great power of little", `"cost_usd":0.00000000000000000002e20`, cost, int64(2000000)},
		{"the most money", `"cost_usd":9007199254.740992`, cost, int64(1) << 53},
		{"nothing to a great power", `"cost_usd":0e999999999999`, cost, int64(0)},
		{"little to a great negative power", `"cost_usd":9e-999999999999`, cost, int64(0)},
		{"a count of 5.0", `"count":5.0`, count, int64(5)},
		{"a count of 50e-1", `"count":50e-1`, count, int64(5)},
		{"a null count", `"count":7,"count":null`, count, int64(1)},
		{"epoch 0", `"epoch":0`, epoch, "0 true"},
		{"epoch -0", `"epoch":-0`, epoch, "0 true"},
		{"no epoch", `"epoch":null`, epoch, "0 false"},
	} {
		members := tt.members
		if !strings.Contains(members, `"kind"`) {
			members += `,"kind":"accepted"`
		}
		got, err := outcomeFrom([]byte("{" + members + "}"))
		if err != nil || tt.show(got) != tt.want {
			t.Errorf("%s: DecodeOutcome({%s}) shows %v, %v, want %v", tt.name, members, tt.show(got), err, tt.want)
		}
	}
}

func circuit(o schemas.Outcome) any   { return o.Circuit }
func kind(o schemas.Outcome) any      { return o.Kind }
func evaluator(o schemas.Outcome) any { return o.Evaluator.Type }
func reason(o schemas.Outcome) any    { return o.Reason }
func at(o schemas.Outcome) any        { return o.Time.Format(time.RFC3339Nano) }
func latency(o schemas.Outcome) any   { return o.LatencyMS }
func cost(o schemas.Outcome) any      { return o.CostMicros }
func count(o schemas.Outcome) any     { return o.Count }
func epoch(o schemas.Outcome) any     { return fmt.Sprint(o.Epoch, o.HasEpoch) }

func TestOutcomeOverTheLimit(t *testing.T) {
	const begin, end = `{"kind":"accepted","pad":"`, `"}`
	pad := strings.Repeat("x", schemas.MaxRecord-len(begin)-len(end))
	if _, err := outcomeFrom([]byte(begin + pad + end)); err != nil {
		t.Errorf("DecodeOutcome of 65536 bytes: %v, want none", err)
	}
	_, err := outcomeFrom([]byte(begin + pad + "x" + end))
	if want := "outcome: has 65537 bytes, must have at most 65536"; fmt.Sprint(err) != want {
		t.Errorf("DecodeOutcome of 65537 bytes: %v, want %s", err, want)
	}
}

func TestKeyAgainstTheRules(t *testing.T) {
	var o schemas.Outcome
	for key, want := range map[string]string{
		"a\x00b": "outcome: key: has control characters",
		"\xff":   "outcome: key: is not valid UTF-8",
		"":       "outcome: circuit: is missing",
	} {
		if err := schemas.DecodeOutcome([]byte(key), []byte(`{"kind":"accepted"}`), &o); fmt.Sprint(err) != want {
			t.Errorf("DecodeOutcome with the key %q: %v, want %s", key, err, want)
		}
	}
	if err := schemas.DecodeOutcome([]byte("\xff"), []byte(`{"kind":"accepted","circuit":"c"}`), &o); err != nil {
		t.Errorf("DecodeOutcome with a key that does not count: %v, want none", err)
	}
}

// No text of a record gets into a fault, whatever field it stands in: it may be a prompt in the wrong place. Pitfall
// 38: nor may a key.
func TestFaultsQuoteNothing(t *testing.T) {
	secret := strings.Repeat("secret ", 100)
	for _, member := range []string{
		`"reason":["` + secret + `"]`, `"reason":{"` + secret + `":1}`, `"kind":["` + secret + `"]`,
		`"circuit":"` + secret + `"`,
		`"evaluator":"` + secret + `"`, `"` + secret + `":tru`, `"id":"` + secret + `\x"`,
		`"stage":"` + secret + "\x01\"", `"time":"secret"`, `"latency_ms":"secret"`, `"count":"secret"`,
		`"cost_usd":"secret"`, `"epoch":"secret"`,
	} {
		_, err := outcomeFrom([]byte(`{"kind":"accepted",` + member + "}"))
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("DecodeOutcome of %.40s…: %v, want a fault without the secret", member, err)
		}
	}
	for _, member := range []string{
		`"type":"secret"`, `"type":"override","mode":"secret"`, `"type":"override","ttl":"secret"`,
		`"type":"override","ttl":"-3h17m"`,
	} {
		_, err := signalFrom([]byte("{" + member + "}"))
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "3h17m") {
			t.Errorf("DecodeSignal of %s: %v, want a fault without the text", member, err)
		}
	}
	_, err := outcomeFrom([]byte(`{"kind":"accepted","latency_ms":-1` + strings.Repeat("0", 100) + `}`))
	want := "outcome: latency_ms: is -1" + strings.Repeat("0", 62) + "…, is out of range"
	if fmt.Sprint(err) != want {
		t.Errorf("DecodeOutcome of a long latency: %v, want %s", err, want)
	}
}

func TestDecodeSignal(t *testing.T) {
	for file, want := range map[string]schemas.Signal{
		"claim": {
			Type: schemas.Claim, Circuit: "c", Holder: "router-7", Lease: "L1", Epoch: 41, HasEpoch: true,
		},
		"claim-without-epoch": {Type: schemas.Claim, Circuit: "key", Holder: "router-7", Lease: "L1"},
		"release":             {Type: schemas.Release, Circuit: "c", Lease: "L1", Unused: true},
		"override": {
			Type: schemas.Override, Circuit: "c", Mode: schemas.ForceOpen, Actor: "ana", Reason: "incident 4711",
			TTL: 90*time.Minute + 500*time.Millisecond,
		},
		"clear": {Type: schemas.Override, Circuit: "c", Mode: schemas.Clear, Actor: "ana", Reason: "over"},
	} {
		if got, err := signalFrom(record(t, "signal/"+file+".json")); err != nil || got != want {
			t.Errorf("DecodeSignal of %s = %+v, %v, want %+v", file, got, err, want)
		}
	}
}

func TestTransitionKind(t *testing.T) {
	for text, want := range map[string]schemas.TransitionType{
		string(record(t, "state/open.json")):              schemas.StateRecord,
		string(record(t, "state/shadowed.json")):          schemas.StateRecord,
		string(record(t, "policy-switch/one.json")):       schemas.SwitchRecord,
		string(record(t, "handled/one.json")):             schemas.HandledRecord,
		`{"shadow":true,"circuit":"c"}`:                   schemas.ShadowRecord,
		`{"circuit":"c","shadow":false}`:                  schemas.StateRecord,
		string(record(t, "state/shadow-transition.json")): schemas.ShadowRecord,
		`{"written_by":"a later version"}`:                schemas.OtherRecord,
	} {
		if got, err := schemas.TransitionKind([]byte(text)); got != want || err != nil {
			t.Errorf("TransitionKind(%s) = %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := schemas.TransitionKind([]byte("{")); err == nil {
		t.Error("TransitionKind of half a record says no fault")
	}
}

// TestRecordsThatAreNoObject reads every other kind of JSON value, with nothing behind it.
func TestRecordsThatAreNoObject(t *testing.T) {
	for _, text := range []string{"5", "-1.5e+3", "true", "false", "null", `"a"`, `"\\"`, "[]", "[1]", " 7 ", ""} {
		if err := schemas.DecodeOutcome([]byte("c"), []byte(text), &schemas.Outcome{}); err == nil {
			t.Errorf("DecodeOutcome(%q) is no error", text)
		}
	}
}
