//go:build synctests

package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/console"
)

func withLevel(c *console.Config) { c.Level = new(slog.LevelVar) }

// oddNames are circuits' names that are legal and that something on the way may stumble over.
var oddNames = []string{
	"case:a/b:v1", "case:%2F:v1", "case:50%:v1", "case:?q=1#f:v1", "case:über:日本:v1", "case: :v1",
	"..", ".", "a//b", "*",
	"case:\"quoted\":v1", "case:</script>:v1", "{name}", "case:a+b&c;d:v1", `case:\:v1`,
}

// TestOddNames: a circuit is found by its own name whatever stands in it, over the whole way.
func TestOddNames(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		for _, name := range oddNames {
			w.report(name, "accepted", 1)
			path := "/v1/circuits/" + url.PathEscape(name)
			if name == "." || name == ".." {
				path = "/v1/circuits/" + strings.ReplaceAll(name, ".", "%2E")
			}
			w.until(name+" is known", func() bool { return w.get(path).status == 200 })
			if got := w.get(path).at(t, "circuit"); got != name {
				t.Errorf("GET %s is of %v, want %s", path, got, name)
			}
			a := w.get("/v1/circuits?match=" + url.QueryEscape(name))
			if a.status != 200 || !strings.Contains(a.body, `"circuits":[{"circuit":`) {
				t.Errorf("match=%s finds %s", name, a.body)
			}
			a = w.post(path+"/override", adminToken, `{"mode":"disable","actor":"ann","reason":"x"}`)
			if a.status != 200 || a.at(t, "circuits.0.circuit") != name {
				t.Errorf("POST %s/override = %d %s", path, a.status, a.body)
			}
		}
	})
}

// TestOddRequests asks for everything in the description in thousands of odd ways, and holds the answers against it.
func TestOddRequests(t *testing.T) {
	const n = 4000
	inWorld(t, withLevel, func(w *world) {
		w.report(circuit, "missing_evidence", 4)
		w.await(circuit, "open")
		d := w.description()
		operations := d.operations()
		seen := map[string]int{}
		for seed := range uint64(n) {
			o := &odd{rand.New(rand.NewPCG(seed, 7)), d}
			op := operations[o.IntN(len(operations))]
			r, wellKnown := o.request(op)
			if t.Failed() {
				return // One is enough to look at.
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			rec := httptest.NewRecorder()
			w.consoles[0].Handler().ServeHTTP(rec, r.WithContext(ctx))
			cancel()
			a := answer{rec.Code, rec.Header(), rec.Body.String()}
			if err := d.judge(t, op, wellKnown, a); err != nil {
				t.Errorf("seed %d: %s %q %v = %d %v %.300s\n%v", seed, r.Method, r.URL, r.Header, a.status, a.header,
					a.body, err)
			}
			seen[strconv.Itoa(a.status)]++
		}
		for _, status := range []string{"200", "202", "400", "401", "404", "405", "409", "415", "422"} {
			if seen[status] < n/1000 {
				t.Errorf("answers by status %v: hardly any %s, so that little was tried", seen, status)
			}
		}
	})
}

// judge says what is wrong with an answer.
func (d *description) judge(t *testing.T, op operation, wellKnown bool, a answer) error {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	switch {
	case a.status >= 500 && (a.status != 503 || a.header.Get("Retry-After") == ""):
		return fmt.Errorf("want nothing over 500 but 503 with Retry-After")
	case a.status >= 400 && kind != "application/problem+json":
		return fmt.Errorf("want a problem")
	case a.status >= 400:
		if err := d.check(t, a.body, "components", "schemas", "ErrorModel"); err != nil {
			return err
		}
	}
	if !wellKnown {
		if a.status != 405 && a.status != 204 || a.header.Get("Allow") == "" {
			return fmt.Errorf("want 405, or 204 for OPTIONS, and Allow")
		}
		return nil
	}
	place := []string{"paths", op.path, op.method, "responses", strconv.Itoa(a.status)}
	described := d.find(place...)
	if described == nil {
		return fmt.Errorf("the status is not described")
	}
	if a.body == "" {
		return nil
	}
	if _, is := described["content"].(map[string]any)[kind]; !is {
		return fmt.Errorf("the content type is not described")
	}
	if !strings.HasSuffix(kind, "json") {
		return nil
	}
	return d.check(t, a.body, append(place, "content", kind, "schema")...)
}

// odd makes requests by a description.
type odd struct {
	*rand.Rand
	d *description
}

func (o *odd) oneOf(words ...string) string { return words[o.IntN(len(words))] }

// rarely is so once in so many times.
func (o *odd) rarely(n int) bool { return o.IntN(n) == 0 }

// text returns a string that somebody may send.
func (o *odd) text() string {
	return o.oneOf("", " ", "a", "*", "?", "0", "-1", "1e400", "9223372036854775808", "null", "true", "{}", "[]",
		"\x00", "\xff\xfe", "é", "日本", "../..", "%00", "%", "a/b", "a\nb", "'; DROP TABLE circuits; --",
		"<script>",
		strings.Repeat("x", 300), strings.Repeat("é", 450), strings.Repeat("x", 3000), "2026-01-01T00:00:00Z",
		"2026-13-01", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1h", "-1h", "Z2", circuit, "case:other:v1",
		"1-2-3", "1-2", "9223372036854775807-0-0")
}

// request makes one, and tells whether its path and method are those of the operation.
func (o *odd) request(op operation) (*http.Request, bool) {
	path, query := op.path, url.Values{}
	token := apiToken
	if strings.Contains(fmt.Sprint(o.d.find("paths", op.path, op.method)["security"]), "admin") {
		token = adminToken
	}
	header := http.Header{"Authorization": {"Bearer " + o.oneOf(token, token, token, token, apiToken, adminToken, "x")}}
	described, _ := o.d.find("paths", op.path, op.method)["parameters"].([]any)
	for _, p := range described {
		p := p.(map[string]any)
		name, value := p["name"].(string), fmt.Sprint(o.value(p["schema"].(map[string]any), 3))
		switch {
		case p["in"] == "path":
			value = o.oneOf(circuit, circuit, value, o.text())
			if value == "" {
				value = circuit
			}
			path = strings.ReplaceAll(path, "{"+name+"}", strings.ReplaceAll(url.PathEscape(value), ".", "%2E"))
		case o.rarely(2):
		case p["in"] == "header":
			header.Set(name, strings.Trim(strings.Map(func(r rune) rune { return max(r, ' ') }, value), " "))
		default:
			query.Add(name, value)
		}
	}
	if o.rarely(15) {
		query.Set(o.text(), o.text())
	}
	method, wellKnown := strings.ToUpper(op.method), true
	if o.rarely(10) {
		method, wellKnown = o.oneOf("DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "PROPFIND", "CONNECT"), false
	}
	r := httptest.NewRequest(method, "/", strings.NewReader(o.body(op)))
	r.URL = &url.URL{RawQuery: query.Encode()}
	if o.rarely(20) {
		r.URL.RawQuery = o.oneOf("%", "&&&", "a=%zz", ";", "limit=1&limit=2", "state", "=")
	}
	r.URL.RawPath = path
	r.URL.Path, _ = url.PathUnescape(path) // It was escaped just now.
	r.Header = header
	if o.rarely(10) {
		header.Set("Content-Type", o.oneOf("text/plain", "application/xml", "x", "application/json;", "a/b;=;",
			"multipart/form-data"))
	} else if o.rarely(2) {
		header.Set("Content-Type", o.oneOf("application/json", "application/json; charset=utf-8"))
	}
	if o.rarely(5) {
		header.Set("Accept", o.oneOf("*/*", "text/html", "application/cbor", "application/json;q=0", "x", ";;", ""))
	}
	return r, wellKnown
}

// body makes a body: as it should be, nearly so, or not at all.
func (o *odd) body(op operation) string {
	schema := o.d.find("paths", op.path, op.method, "requestBody", "content", "application/json", "schema")
	if schema == nil || o.rarely(12) {
		return o.oneOf("", "", "{", "[", "null", "0", `"x"`, "[]", "{}", "\xff",
			strings.Repeat("[", 10_000), "[[]]", "[null]", "{} {}")
	}
	text, err := json.Marshal(o.value(schema, 5))
	if err != nil {
		panic(err)
	}
	if o.rarely(20) {
		at := o.IntN(len(text) + 1)
		return string(text[:at]) + o.text() + string(text[at:])
	}
	return string(text)
}

// value makes a value by a schema, and now and then one that is not.
func (o *odd) value(schema map[string]any, depth int) any {
	if ref, is := schema["$ref"].(string); is {
		schema = o.d.find(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	if o.rarely(30) || depth == 0 {
		return []any{nil, true, -1, 0, 1e300, o.text(), []any{}, map[string]any{"a": o.text()}}[o.IntN(8)]
	}
	if choices, is := schema["oneOf"].([]any); is {
		return o.value(choices[o.IntN(len(choices))].(map[string]any), depth)
	}
	if words, is := schema["enum"].([]any); is {
		return words[o.IntN(len(words))]
	}
	kind, _ := schema["type"].(string)
	if kinds, is := schema["type"].([]any); is {
		kind = kinds[o.IntN(len(kinds))].(string)
	}
	switch kind {
	case "object":
		return o.object(schema, depth)
	case "array":
		items, _ := schema["items"].(map[string]any)
		all := []any{}
		for range o.IntN(4) {
			all = append(all, o.value(items, depth-1))
		}
		return all
	case "integer", "number":
		return []any{0, 1, 2, 100, 1000, 1001, -1, 1 << 40}[o.IntN(8)]
	case "boolean":
		return o.rarely(2)
	}
	if o.rarely(8) {
		return o.text()
	}
	return o.oneOf("ann", circuit, "30m", "accepted", "2026-01-01T00:00:00Z")
}

func (o *odd) object(schema map[string]any, depth int) map[string]any {
	required := fmt.Sprint(schema["required"])
	made := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		of := properties[name]
		wanted := strings.Contains(required, name)
		if of, is := of.(map[string]any); is && (wanted && !o.rarely(20) || !wanted && o.rarely(3+len(properties)/4)) {
			made[name] = o.value(of, depth-1)
		}
	}
	if o.rarely(15) {
		made[o.text()] = o.text()
	}
	return made
}
