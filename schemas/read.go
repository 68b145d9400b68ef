package schemas

import (
	"errors"
	"fmt"
	"strconv"
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
	member func(value) error

	tokens *jsontext.Decoder
	end    int // Of the newest token, in text.
}

// read hands every member of the record to the function. It returns a *Fault, which may come from there.
func (r *reader) read(limit int, member func(value) error) error {
	if len(r.text) > limit {
		return &Fault{Record: r.record, Problem: fmt.Sprintf("has %d bytes, must have at most %d", len(r.text), limit)}
	}
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
	r.tokens = tokens
	v, err := r.next()
	if err != nil {
		return err
	}
	if v.kind != '{' {
		return v.wrongType("an object")
	}
	return r.members(r.member)
}

// members hands every member of the object that has just begun to the function, which may leave out what it does not
// know.
func (r *reader) members(member func(value) error) error {
	depth := r.tokens.StackDepth()
	for {
		key, err := r.next()
		if err != nil {
			return err
		}
		if key.kind == '}' {
			return nil
		}
		name, _ := key.decoded(true)
		v, err := r.next()
		if err != nil {
			return err
		}
		v.name = name
		if err := r.visit(v, depth, member); err != nil {
			return err
		}
	}
}

// elements hands every element of the array that has just begun to the function.
func (r *reader) elements(element func(value) error) error {
	depth := r.tokens.StackDepth()
	for i := 0; ; i++ {
		v, err := r.next()
		if err != nil {
			return err
		}
		if v.kind == ']' {
			return nil
		}
		if err := r.visit(v, depth, element); err != nil {
			return within("["+strconv.Itoa(i)+"]", err)
		}
	}
}

// visit calls f and reads over what it left of v.
func (r *reader) visit(v value, depth int, f func(value) error) error {
	if err := f(v); err != nil {
		return err
	}
	for r.tokens.StackDepth() > depth {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) next() (value, error) {
	token, err := r.tokens.ReadToken()
	if err != nil {
		return value{}, err
	}
	begin := r.end
	r.end = int(r.tokens.InputOffset())
	for begin < r.end && separates(r.text[begin]) {
		begin++
	}
	return value{reader: r, kind: token.Kind(), text: r.text[begin:r.end]}, nil
}

func separates(c byte) bool {
	return c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

// view returns the bytes as a string without a copy: they must never change while it is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
