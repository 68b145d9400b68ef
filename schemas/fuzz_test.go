package schemas_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fusebox-project/fusebox/schemas"
)

// seeds are the golden records, good and bad, and what has broken decoders before.
func seeds(f *testing.F, name string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", name, "*.json"))
	if err != nil || len(files) == 0 {
		f.Fatalf("golden records of %s: %v, %v", name, files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".bad.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, section := range archive.Files {
		_, record, _ := strings.Cut(string(section.Data), "\n")
		f.Add([]byte(record))
	}
	for _, text := range []string{
		"", " ", "{", "{}", "[]", `{"":{"":[[[]]]}}`, "\xff", "{\"kind\":\"\xff\",\"reason\":\"\xf0\x9f\"}", "\ufeff{}",
		`{"kind":"\ud800","circuit":"c","reason":"\ud83d"}`, `{"\u006bind":"accepted","circuit":"c"}`,
		`{"kind":1,"kind":"a"}`,
		`{"circuit":"c","kind":"accepted","cost_usd":0.0000005,"latency_ms":5e-1,"count":10e-1,"epoch":-0}`,
		`{"circuit":"c","state":"open","cause":{"observed":1e308,"threshold":-1e-300,"by_kind":{"\ud800":1}}}`,
		strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000),
	} {
		f.Add([]byte(text))
	}
}

// roundTrip checks what every decoder promises: no panic, a *Fault that is short, and what was read is written so that
// it reads the same. It decodes from a copy that it then overwrites, so nothing read may lie there, unless it aliases.
func roundTrip[T any](
	t *testing.T, text []byte, aliases bool, decode func([]byte) (T, error), encode func([]byte, *T) []byte,
) {
	t.Helper()
	input := bytes.Clone(text)
	first, err := decode(input)
	if !bytes.Equal(input, text) {
		t.Fatalf("decoding %q left %q", text, input)
	}
	if err != nil {
		var fault *schemas.Fault
		if !errors.As(err, &fault) || len(err.Error()) > 1000 {
			t.Fatalf("decoding %q: %T of %d bytes, want a short *Fault", text, err, len(err.Error()))
		}
		return
	}
	if !aliases {
		for i := range input {
			input[i] = '#'
		}
	}
	written := encode(nil, &first)
	second, err := decode(written)
	if err != nil {
		t.Fatalf("decoding %q, written as %q: %v", text, written, err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Fatalf("decoding %q gives\n%+v, written as %q that gives\n%+v", text, first, written, second)
	}
	if again := encode(nil, &second); !bytes.Equal(written, again) {
		t.Fatalf("encoding what %q holds gives %q, and again %q", text, written, again)
	}
}

func outcomeFrom(text []byte) (schemas.Outcome, error) {
	var o schemas.Outcome
	err := schemas.DecodeOutcome([]byte("key"), text, &o)
	return o, err
}

func signalFrom(text []byte) (schemas.Signal, error) {
	return schemas.DecodeSignal([]byte("key"), text)
}

func FuzzDecodeOutcome(f *testing.F) {
	seeds(f, "outcome")
	f.Fuzz(func(t *testing.T, text []byte) { roundTrip(t, text, true, outcomeFrom, schemas.AppendOutcome) })
}

func FuzzDecodeSignal(f *testing.F) {
	seeds(f, "signal")
	f.Fuzz(func(t *testing.T, text []byte) { roundTrip(t, text, false, signalFrom, schemas.AppendSignal) })
}

func FuzzDecodeState(f *testing.F) {
	seeds(f, "state")
	f.Fuzz(func(t *testing.T, text []byte) {
		roundTrip(t, text, false, schemas.DecodeState, schemas.AppendState)
		roundTrip(t, text, false, schemas.DecodeCause, schemas.AppendCause)
	})
}

func FuzzDecodeHeartbeat(f *testing.F) {
	seeds(f, "heartbeat")
	f.Fuzz(func(t *testing.T, text []byte) {
		roundTrip(t, text, false, schemas.DecodeHeartbeat, schemas.AppendHeartbeat)
	})
}

func FuzzDecodePolicies(f *testing.F) {
	seeds(f, "policies")
	f.Fuzz(func(t *testing.T, text []byte) {
		roundTrip(t, text, false, schemas.DecodePolicies, schemas.AppendPolicies)
	})
}

func FuzzDecodeSwitch(f *testing.F) {
	seeds(f, "policy-switch")
	f.Fuzz(func(t *testing.T, text []byte) {
		roundTrip(t, text, false, schemas.DecodeSwitch, schemas.AppendSwitch)
		if _, err := schemas.TransitionKind(text); err == nil && len(text) == 0 {
			t.Fatal("TransitionKind of nothing says no fault")
		}
	})
}

func FuzzDecodeHandled(f *testing.F) {
	seeds(f, "handled")
	f.Fuzz(func(t *testing.T, text []byte) {
		roundTrip(t, text, false, schemas.DecodeHandled, schemas.AppendHandled)
	})
}

func FuzzDecodeDeadLetter(f *testing.F) {
	f.Add("fusebox.outcomes.v1", "3", "1204", "outcome: kind: is missing", "412", []byte("{}"))
	f.Add("", "-1", "9223372036854775808", "", "", []byte(nil))
	f.Fuzz(func(t *testing.T, topic, partition, offset, problem, size string, payload []byte) {
		d, err := schemas.DecodeDeadLetter([]schemas.Header{
			{Key: schemas.DeadLetterTopic, Value: []byte(topic)},
			{Key: schemas.DeadLetterPartition, Value: []byte(partition)},
			{Key: schemas.DeadLetterOffset, Value: []byte(offset)},
			{Key: schemas.DeadLetterProblem, Value: []byte(problem)},
			{Key: schemas.DeadLetterSize, Value: []byte(size)},
		}, payload)
		if err != nil {
			return
		}
		again, err := schemas.DecodeDeadLetter(d.Headers(), d.Value())
		if err != nil || !reflect.DeepEqual(d, again) && len(payload) <= schemas.MaxRecord {
			t.Fatalf("DecodeDeadLetter of %+v gives %+v, %v", d, again, err)
		}
	})
}
