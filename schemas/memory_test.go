package schemas_test

import (
	"bytes"
	"runtime"
	"testing"
	"weak"

	"github.com/fusebox-project/fusebox/schemas"
)

// pins tells whether what decode returns keeps a record's text in memory, as it does where a string lies in it.
func pins(t *testing.T, text []byte, decode func(key, value []byte) (any, error)) bool {
	t.Helper()
	buffer := bytes.Clone(text)
	alive := weak.Make(&buffer[0])
	key := buffer[:1:1]
	kept, err := decode(key, buffer)
	if err != nil {
		t.Fatalf("decoding %s: %v", text, err)
	}
	buffer, key = nil, nil
	runtime.GC()
	pinned := alive.Value() != nil
	runtime.KeepAlive(kept)
	return pinned
}

// A record's text is a piece of a fetch of megabytes: what lives on must not keep it.
func TestWhatLivesOnPinsNothing(t *testing.T) {
	escaped := []byte(`{"circuit":"c","state":"open","policy":"caf\u00e9","cause":{"by_kind":{"a\tb":1}}}`)
	for _, tt := range []struct {
		name   string
		text   []byte
		decode func(key, value []byte) (any, error)
		want   bool
	}{
		{"a claim", record(t, "signal/claim.json"), anySignal, false},
		{"an override", record(t, "signal/override.json"), anySignal, false},
		{"an open state", record(t, "state/open.json"), anyState, false},
		{"a half-open state", record(t, "state/half-open.json"), anyState, false},
		{"a state with escapes", escaped, anyState, false},
		{"policies", record(t, "policies/routes.json"), anyPolicies, false},
		{"an outcome, which says so", record(t, "outcome/full.json"), anyOutcome, true},
		{"an outcome's fault", []byte(`{"kind":"accepted","circuit":"c","latency_ms":"a long time"}`), anyFault, false},
	} {
		if got := pins(t, tt.text, tt.decode); got != tt.want {
			t.Errorf("%s: what was decoded pins the record: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func anySignal(key, value []byte) (any, error) { return schemas.DecodeSignal(key, value) }
func anyState(_, value []byte) (any, error)    { return schemas.DecodeState(value) }

func anyPolicies(_, value []byte) (any, error) { return schemas.DecodePolicies(value) }

func anyOutcome(key, value []byte) (any, error) {
	var o schemas.Outcome
	err := schemas.DecodeOutcome(key, value, &o)
	return &o, err
}

func anyFault(key, value []byte) (any, error) {
	var o schemas.Outcome
	return schemas.DecodeOutcome(key, value, &o), nil
}

func TestAllocations(t *testing.T) {
	text := record(t, "outcome/full.json")
	var o schemas.Outcome
	if n := testing.AllocsPerRun(100, func() { _ = schemas.DecodeOutcome(nil, text, &o) }); n > 6 {
		t.Errorf("DecodeOutcome of the example allocates %v times, want at most 6", n)
	}
	buffer := make([]byte, 0, 2048)
	if n := testing.AllocsPerRun(100, func() { buffer = schemas.AppendOutcome(buffer[:0], &o) }); n > 0 {
		t.Errorf("AppendOutcome allocates %v times, want none", n)
	}
}
