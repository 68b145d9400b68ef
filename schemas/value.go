package schemas

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// value is the value of a record that its reader is at, as it stands there; of an object or an array only its
// beginning. What it is read into gets its zero value where it is null: null is absent.
type value struct {
	reader *reader
	name   string // Of the member; empty for an element.
	kind   jsontext.Kind
	text   []byte
}

// string reads text in which every byte counts: an id, a name. It must be valid UTF-8.
func (v *value) string(s *string) error {
	valid, err := v.anyString(s)
	if err == nil && !valid {
		return v.fault("is not valid UTF-8")
	}
	return err
}

// cut reads text that is there to be shown: what is not UTF-8 is replaced, control characters are removed and what is
// beyond MaxText bytes is cut.
func (v *value) cut(s *string) error {
	_, err := v.anyString(s)
	*s = Cut(*s, MaxText)
	return err
}

// anyString reads text and replaces what is not UTF-8, and says whether all was.
func (v *value) anyString(s *string) (valid bool, err error) {
	switch v.kind {
	case 'n':
		*s = ""
		return true, nil
	case '"':
		*s, valid = v.decoded(v.reader.alias)
		return valid, nil
	}
	return false, v.wrongType("a string")
}

// decoded returns what the quotes enclose, and whether it was valid UTF-8. With alias it may lie in the record's text.
func (v *value) decoded(alias bool) (s string, valid bool) {
	inner := v.text[1 : len(v.text)-1]
	if !v.reader.plain && (bytes.IndexByte(inner, '\\') >= 0 || !utf8.Valid(inner)) {
		b, err := jsontext.AppendUnquote(nil, v.text)
		return view(b), err == nil
	}
	if alias {
		return view(inner), true
	}
	return string(inner), true
}

func (v *value) bool(b *bool) error {
	switch v.kind {
	case 'n', 'f', 't':
		*b = v.kind == 't'
		return nil
	}
	return v.wrongType("true or false")
}

// whole reads a number that has no fraction; 5.0 has none.
func (v *value) whole(n *int64) error {
	exact, err := v.scaled(n, 0, "a whole number")
	if err == nil && !exact {
		return v.wrong("must be a whole number")
	}
	return err
}

// rounded reads a number of units, such as "milliseconds", and rounds to the nearest, halves up.
func (v *value) rounded(n *int64, units string) error {
	_, err := v.scaled(n, 0, "a number of "+units)
	return err
}

// micros reads a number in millionths, rounded to the nearest, halves up.
func (v *value) micros(n *int64) error {
	_, err := v.scaled(n, 6, "a number")
	return err
}

func (v *value) scaled(n *int64, places int, what string) (exact bool, err error) {
	*n = 0
	if v.kind == 'n' {
		return true, nil
	}
	if v.kind != '0' {
		return false, v.wrong("must be " + what)
	}
	if places == 0 && digits(v.text, n) {
		return true, nil
	}
	text := v.text
	if text[0] == '-' {
		text = text[1:]
	}
	var small bool
	*n, exact, small = scale(text, places)
	switch negative := len(text) < len(v.text); {
	case !small:
		return false, v.wrong("is out of range")
	case negative && (*n != 0 || !exact):
		return false, v.wrong("must not be negative")
	}
	return exact, nil
}

// offset reads a position in a topic: a whole number of any sign, as Kafka has -1 for none.
func (v *value) offset(n *int64) error {
	*n = 0
	if v.kind == 'n' {
		return nil
	}
	parsed, err := strconv.ParseInt(view(v.text), 10, 64)
	if v.kind != '0' || err != nil {
		return v.wrong("must be a whole number")
	}
	*n = parsed
	return nil
}

func (v *value) partition(n *int32) error {
	var small int
	err := v.small(&small)
	*n = int32(small)
	return err
}

func (v *value) small(n *int) error {
	var wide int64
	if err := v.whole(&wide); err != nil {
		return err
	}
	if wide > math.MaxInt32 {
		return v.wrong("is out of range")
	}
	*n = int(wide)
	return nil
}

func (v *value) float(f *float64) error {
	*f = 0
	if v.kind == 'n' {
		return nil
	}
	parsed, err := strconv.ParseFloat(view(v.text), 64)
	if v.kind != '0' || err != nil {
		return v.wrong("must be a number")
	}
	*f = parsed
	return nil
}

// duration reads a Go duration, such as "1m30s", that is not negative.
func (v *value) duration(d *time.Duration) error {
	*d = 0
	var text string
	if err := v.string(&text); err != nil {
		return v.wrong(`must be a duration, as "30m"`)
	}
	if text == "" {
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return v.wrong(`must be a duration, as "30m"`)
	}
	if parsed < 0 {
		return v.wrong("must not be negative")
	}
	*d = parsed
	return nil
}

// object hands the members on, with their faults placed in this value. A null has none.
func (v *value) object(member func(*value) error) error {
	switch v.kind {
	case 'n':
		return nil
	case '{':
		name := v.name
		if err := v.reader.members(member); err != nil {
			return within(name, err)
		}
		return nil
	}
	return v.wrongType("an object")
}

// array hands the elements on, with their faults placed in this value. A null has none.
func (v *value) array(element func(*value) error) error {
	switch v.kind {
	case 'n':
		return nil
	case '[':
		name := v.name
		if err := v.reader.elements(element); err != nil {
			return within(name, err)
		}
		return nil
	}
	return v.wrongType("an array")
}

// strings reads an array of strings.
func (v *value) strings(list *[]string) error {
	*list = nil
	return v.array(func(element *value) error {
		var s string
		if err := element.string(&s); err != nil {
			return err
		}
		*list = append(*list, s)
		return nil
	})
}

// key returns the member's name where that is data: a copy, with what is not UTF-8 replaced.
func (v *value) key() string { return strings.ToValidUTF8(strings.Clone(v.name), replacement) }

func (v *value) fault(problem string) error {
	return &Fault{Field: strings.Clone(v.name), Problem: problem}
}

// wrongType tells the type and never the content.
func (v *value) wrongType(want string) error {
	return v.fault(fmt.Sprintf("is %s, must be %s", v.typeName(), want))
}

// wrong shows a number, cut short, and of text only its length: it may be a prompt in the wrong place.
func (v *value) wrong(problem string) error {
	is := v.typeName()
	switch v.kind {
	case '"':
		text, _ := v.decoded(true)
		is = fmt.Sprintf("a string of %d %s", len(text), plural(int64(len(text)), "byte", "bytes"))
	case '0':
		is = shorten(string(v.text))
	}
	return v.fault("is " + is + ", " + problem)
}

func shorten(number string) string {
	const shown = 64
	if len(number) <= shown {
		return number
	}
	return number[:shown] + "…"
}

func (v *value) typeName() string {
	switch v.kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	}
	return "an object"
}
