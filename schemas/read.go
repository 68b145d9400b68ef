package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Of two members with one name the last counts. Text that is not UTF-8 is dealt with field by field.
var (
	readOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	utf8Options = jsontext.AllowDuplicateNames(true)
)

// reader hands out the members of one record's JSON objects, one after the other, and builds nothing itself. A look or
// the library says whether the record is JSON; to walk over what was found to be so takes less time than to ask the
// library for each token.
type reader struct {
	record string // For faults.
	text   []byte
	alias  bool // Strings lie in text instead of being copied.
	plain  bool // All strings are valid UTF-8 and none is escaped, as nearly always.

	look  plain
	token int // The next one that the look has noted.
	end   int // Of the newest token, in text.
	depth int // Of the objects and arrays that have begun and not ended.
	value value
}

// read hands every member of the record to the function. It returns a *Fault, which may come from there.
func (r *reader) read(limit int, member func(*value) error) error {
	if len(r.text) > limit {
		return &Fault{Record: r.record, Problem: fmt.Sprintf("has %d bytes, must have at most %d", len(r.text), limit)}
	}
	if r.plain = r.look.is(r.text); !r.plain {
		r.look.n = 0
		utf8 := jsontext.Value(r.text).IsValid(utf8Options)
		if !utf8 && !jsontext.Value(r.text).IsValid(readOptions) {
			return r.syntaxFault()
		}
		r.plain = utf8 && bytes.IndexByte(r.text, '\\') < 0
	}
	r.value.reader = r
	if r.next(); r.value.kind != '{' {
		return r.named(r.value.wrongType("an object"))
	}
	return r.named(r.members(member))
}

// named returns a fault with the record's name in it.
func (r *reader) named(err error) error {
	if err == nil {
		return nil
	}
	fault := &Fault{}
	if errors.As(err, &fault) {
		return &Fault{Record: r.record, Field: fault.Field, Problem: fault.Problem}
	}
	return err
}

// syntaxFault says where the record is not JSON.
func (r *reader) syntaxFault() error {
	problem := "is not JSON"
	var all any
	var syntax *jsontext.SyntacticError
	if errors.As(json.Unmarshal(r.text, &all, readOptions), &syntax) {
		problem = fmt.Sprintf("is not JSON: at byte %d %v", syntax.ByteOffset, syntax.Err)
	}
	return &Fault{Record: r.record, Problem: problem}
}

// members hands every member of the object that has just begun to the function, which may leave out what it does not
// know.
func (r *reader) members(member func(*value) error) error {
	v := &r.value
	for {
		if r.next(); v.kind == '}' {
			return nil
		}
		name, _ := v.decoded(true)
		r.next()
		v.name = name
		if err := r.visit(member); err != nil {
			return err
		}
	}
}

// elements hands every element of the array that has just begun to the function.
func (r *reader) elements(element func(*value) error) error {
	for i := 0; ; i++ {
		if r.next(); r.value.kind == ']' {
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
	if r.value.kind != '{' && r.value.kind != '[' {
		return f(&r.value)
	}
	depth := r.depth - 1
	if err := f(&r.value); err != nil {
		return err
	}
	for r.depth > depth {
		r.next()
	}
	return nil
}

// next makes the next token the value. There is one: the record is JSON, and its outermost object has not ended.
func (r *reader) next() {
	var begin int
	if r.token < r.look.n {
		t := r.look.tokens[r.token]
		r.token++
		begin, r.end = int(t.begin), int(t.end)
	} else {
		begin = r.scan()
	}
	v := &r.value
	v.text = r.text[begin:r.end]
	switch v.kind = jsontext.Kind(v.text[0]); v.kind {
	case '{', '[':
		r.depth++
	case '}', ']':
		r.depth--
	case '-', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		v.kind = '0'
	}
}

// scan finds the next token, which ends at r.end then, and returns where it begins.
func (r *reader) scan() (begin int) {
	text := r.text
	for begin = r.end; separates[text[begin]]; {
		begin++
	}
	end := begin + 1
	switch text[begin] {
	case '"':
		end = r.quoted(end)
	case '{', '[', '}', ']':
	default: // A number, true, false or null.
		for end < len(text) && continues[text[end]] {
			end++
		}
	}
	r.end = end
	return begin
}

// quoted returns the end of the string whose text begins there: the first quote that no backslash escapes.
func (r *reader) quoted(begin int) int {
	for end := begin; ; end++ {
		end += bytes.IndexByte(r.text[end:], '"')
		if r.plain {
			return end + 1
		}
		slashes := 0
		for r.text[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
	}
}

// What stands between tokens, and what a number or a word goes on with.
var (
	separates = bytesOf(",: \n\t\r")
	continues = bytesOf("0123456789+-.Eabcdefghijklmnopqrstuvwxyz")
)

func bytesOf(s string) (set [256]bool) {
	for i := range len(s) {
		set[s[i]] = true
	}
	return set
}

// view returns the bytes as a string without a copy: they must never change while it is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
