package schemas

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// writer appends JSON. What is not UTF-8 in a string is replaced, so the text is valid whatever it is given.
type writer struct{ b []byte }

// begin begins an object or an array.
func (w *writer) begin(c byte) { w.b = append(w.b, c) }

func (w *writer) end(c byte) { w.b = append(w.b, c) }

// comma separates from what stands before, if anything does: no value ends in an opening bracket.
func (w *writer) comma() {
	if last := w.b[len(w.b)-1]; last != '{' && last != '[' {
		w.b = append(w.b, ',')
	}
}

// name begins a member. Names of our own need no escaping.
func (w *writer) name(name string) {
	w.comma()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *writer) quote(s string) {
	w.b, _ = jsontext.AppendQuote(w.b, s)
}

func (w *writer) string(name, s string) {
	w.name(name)
	w.quote(s)
}

func (w *writer) int(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) bool(name string, v bool) {
	w.name(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *writer) null(name string) {
	w.name(name)
	w.b = append(w.b, "null"...)
}

// number appends the shortest decimal that reads as f again, and null where f is not finite.
func (w *writer) number(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = strconv.AppendFloat(w.b, f, 'f', -1, 64)
}

func (w *writer) float(name string, f float64) {
	w.name(name)
	w.number(f)
}

// time appends null for the zero time.
func (w *writer) time(name string, t time.Time) {
	if t.IsZero() {
		w.null(name)
		return
	}
	w.name(name)
	w.b = append(w.b, '"')
	w.b = t.UTC().AppendFormat(w.b, timeLayout)
	w.b = append(w.b, '"')
}

// micros appends millionths as a decimal fraction.
func (w *writer) micros(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n/1e6, 10)
	fraction := n % 1e6
	if fraction == 0 {
		return
	}
	w.b = append(w.b, '.')
	for digit := int64(1e5); fraction > 0; digit /= 10 {
		w.b = append(w.b, byte('0'+fraction/digit))
		fraction %= digit
	}
}

func (w *writer) plainInt(n int64) { w.b = strconv.AppendInt(w.b, n, 10) }

// intOrNull appends null for 0, where that means that there is none.
func (w *writer) intOrNull(name string, n int64) {
	if n == 0 {
		w.null(name)
		return
	}
	w.int(name, n)
}

func (w *writer) strings(name string, list []string) {
	w.name(name)
	w.stringList(list)
}

func (w *writer) stringList(list []string) {
	w.begin('[')
	for _, s := range list {
		w.comma()
		w.quote(s)
	}
	w.end(']')
}

// key begins a member whose name may need escaping.
func (w *writer) key(name string) {
	w.comma()
	w.quote(name)
	w.b = append(w.b, ':')
}

// object appends a map in the order of its keys: the same map gives the same bytes.
func object[V any](w *writer, name string, m map[string]V, item func(V)) {
	w.name(name)
	w.begin('{')
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.key(key)
		item(m[key])
	}
	w.end('}')
}

// The optional members of records that others write too: what has its zero value is left out.

func (w *writer) optional(name, s string) {
	if s != "" {
		w.string(name, s)
	}
}

func (w *writer) optionalInt(name string, n int64) {
	if n != 0 {
		w.int(name, n)
	}
}
