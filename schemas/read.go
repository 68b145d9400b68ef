package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Of two members with one name the last counts. Text that is not UTF-8 is dealt with field by field.
var readOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// reader hands out the members of one record's JSON objects, one after the other, and builds nothing itself.
type reader struct {
	record string // For faults.
	text   []byte
	alias  bool // Strings lie in text instead of being copied.
	plain  bool // All strings are valid UTF-8 and none is escaped, as nearly always.
	member func(*value) error

	tokens *jsontext.Decoder
	end    int // Of the newest token, in text.
	value  value
}

// read hands every member of the record to the function. It returns a *Fault, which may come from there.
func (r *reader) read(limit int, member func(*value) error) error {
	if len(r.text) > limit {
		return &Fault{Record: r.record, Problem: fmt.Sprintf("has %d bytes, must have at most %d", len(r.text), limit)}
	}
	r.plain = utf8.Valid(r.text) && bytes.IndexByte(r.text, '\\') < 0
	r.member = member
	err := json.Unmarshal(r.text, r, readOptions)
	if err == nil {
		return nil
	}
	fault := &Fault{}
	if errors.As(err, &fault) {
		return &Fault{Record: r.record, Field: fault.Field, Problem: fault.Problem}
	}
	problem := "is not JSON"
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		problem = fmt.Sprintf("is not JSON: at byte %d %v", syntax.ByteOffset, syntax.Err)
	}
	return &Fault{Record: r.record, Problem: problem}
}

// UnmarshalJSONFrom makes a reader what package json reads into.
func (r *reader) UnmarshalJSONFrom(tokens *jsontext.Decoder) error {
	r.tokens, r.value.reader = tokens, r
	if err := r.next(); err != nil {
		return err
	}
	if r.value.kind != '{' {
		return r.value.wrongType("an object")
	}
	return r.members(r.member)
}

// members hands every member of the object that has just begun to the function, which may leave out what it does not
// know.
func (r *reader) members(member func(*value) error) error {
	v := &r.value
	for {
		if err := r.next(); err != nil {
			return err
		}
		if v.kind == '}' {
			return nil
		}
		name, _ := v.decoded(true)
		if err := r.next(); err != nil {
			return err
		}
		v.name = name
		if err := r.visit(member); err != nil {
			return err
		}
	}
}

// elements hands every element of the array that has just begun to the function.
func (r *reader) elements(element func(*value) error) error {
	for i := 0; ; i++ {
		if err := r.next(); err != nil {
			return err
		}
		if r.value.kind == ']' {
			return nil
		}
		r.value.name = ""
		if err := r.visit(element); err != nil {
			return within("["+strconv.Itoa(i)+"]", err)
		}
	}
}

// visit hands the value to f and reads over what it left of it.
func (r *reader) visit(f func(*value) error) error {
	v := &r.value
	if v.kind != '{' && v.kind != '[' {
		return f(v)
	}
	depth := r.tokens.StackDepth() - 1
	if err := f(v); err != nil {
		return err
	}
	for r.tokens.StackDepth() > depth {
		if err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

// next makes the next token the value.
func (r *reader) next() error {
	token, err := r.tokens.ReadToken()
	if err != nil {
		return err
	}
	begin := r.end
	r.end = int(r.tokens.InputOffset())
	for begin < r.end && separates(r.text[begin]) {
		begin++
	}
	r.value.kind, r.value.text = token.Kind(), r.text[begin:r.end]
	return nil
}

func separates(c byte) bool {
	return c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

// view returns the bytes as a string without a copy: they must never change while it is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
