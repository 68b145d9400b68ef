package schemas

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// plainCases are texts, and whether each is plain.
var plainCases = map[string]bool{
	`{}`: true, ` { } `: true, `[]`: true, `{"a":1}`: true, `{"a" : [1 , 2.5, -0, 0.1e+9, 1E3, 2e-7] }`: true,
	`{"a":{"b":[true,false,null,""]},"c":"~ "}`: true, "\t\r\n{\"a\":\n1}\n": true, `"x"`: true, `0`: true,
	`{"a":1,"a":2}`: true, strings.Repeat("[", 16) + strings.Repeat("]", 16): true,

	``: false, ` `: false, `{`: false, `}`: false, `{"a"}`: false, `{"a":}`: false, `{"a":1,}`: false, `{,}`: false,
	`[1,]`: false, `[,1]`: false, `[1 2]`: false, `[1`: false, `[1}`: false, `{"a":1]`: false, `{a:1}`: false,
	`{"a":01}`: false, `{"a":.5}`: false, `{"a":5.}`: false, `{"a":-}`: false, `{"a":+1}`: false, `{"a":1e}`: false,
	`{"a":1e+}`: false, `{"a":tru}`: false, `{"a":True}`: false, `{"a":nul`: false, `{"a":truex}`: false,
	`{} {}`: false, `{}x`: false, `{"a":"b`: false, `{"a`: false, `{"a":1`: false, `{"a":1,`: false, `--1`: false,
	"{\"a\":\"\x00\"}": false, "{\"a\":\"\n\"}": false, "{\"a\":\"\x7f\"}": false, "\ufeff{}": false,

	// JSON, and left to the library.
	`{"a":"\n"}`: false, `{"a":"ü"}`: false, strings.Repeat("[", 17) + strings.Repeat("]", 17): false,
}

// TestPlain tells plain JSON from other, and never calls plain what the library does not take for JSON.
func TestPlain(t *testing.T) {
	for text, want := range plainCases {
		if got := new(plain).is([]byte(text)); got != want {
			t.Errorf("is(%q) = %v, want %v", text, got, want)
		}
		if want && !jsontext.Value(text).IsValid(utf8Options) {
			t.Errorf("the library does not take %q for JSON", text)
		}
	}
}

// TestPlainRecords checks that records as they are recommended take the short way.
func TestPlainRecords(t *testing.T) {
	for _, name := range []string{"full.json", "least.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "outcome", name))
		if err != nil {
			t.Fatal(err)
		}
		if !new(plain).is(text) {
			t.Errorf("%s is not plain", name)
		}
	}
}

// FuzzPlain looks for text that is called plain and is no JSON, or would be read otherwise than the library reads it.
func FuzzPlain(f *testing.F) {
	for text := range plainCases {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !new(plain).is(text) {
			return
		}
		if !jsontext.Value(text).IsValid(utf8Options) {
			t.Errorf("%q is called plain, and is no JSON", text)
		}
		for _, c := range text {
			if c == '\\' || c >= 0x7f {
				t.Errorf("%q is called plain, and has %q", text, c)
			}
		}
	})
}

// TestManyTokens reads records with more members, and longer ones, than the look takes notes of.
func TestManyTokens(t *testing.T) {
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, `"unknown %d": [%d, {"a": null}], `, i, i)
	}
	for name, begin := range map[string]string{
		"none": "", "many": many.String(), "long": `"reason": "` + strings.Repeat("x", 65_300) + `", `,
	} {
		text := `{"circuit": "a:b:c", ` + begin + `"kind": "accepted", "latency_ms": -0,
			"evaluator": {"name": "e", "x": {}}, "cost_usd": 0.25, "count": 7, "epoch": 3}`
		var o Outcome
		if err := DecodeOutcome(nil, []byte(text), &o); err != nil {
			t.Errorf("%s: DecodeOutcome: %v", name, err)
		}
		if o.Circuit != "a:b:c" || o.Kind != Accepted || o.Evaluator.Name != "e" || o.CostMicros != 250_000 ||
			o.Count != 7 || !o.HasEpoch || o.Epoch != 3 {
			t.Errorf("%s: read %+v", name, o)
		}
	}
}
