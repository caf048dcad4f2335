package decode

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/fault"
)

// maxDepth bounds the nesting of JSON from outside: validators recurse, and a body of brackets must not exhaust the
// stack.
const maxDepth = 1000

// Bytes validates text from outside and parses it lazily. The result refers to a copy of text.
func Bytes(text []byte) (gjson.Result, error) {
	if !depthWithin(text, maxDepth) || !utf8.Valid(text) || !gjson.ValidBytes(text) {
		return gjson.Result{}, fault.InvalidJSON
	}
	return gjson.ParseBytes(text), nil
}

// depthWithin reports whether brackets nest at most limit deep. It does not recurse, and judges nothing else.
func depthWithin(text []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = SkipString(text, i) - 1
		case '{', '[':
			if depth++; depth > limit {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}

// SkipString returns the index after the string that starts at text[i], or len(text) where it does not end.
func SkipString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// SkipValue returns the index after the value that starts at text[i]: brackets and strings are matched, nothing is
// validated. ok is false where the value does not end or nests deeper than maxDepth.
func SkipValue(text []byte, i int) (end int, ok bool) {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i = SkipString(text, i); depth == 0 {
				return i, text[i-1] == '"'
			}
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return i, false
			}
		case '}', ']':
			if depth == 0 {
				return i, true
			}
			if depth--; depth == 0 {
				return i + 1, true
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i, true
			}
		}
		i++
	}
	return i, depth == 0
}

// SkipSpace returns the index after the white space at text[i].
func SkipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// Text is Bytes for a string.
func Text(text string) (gjson.Result, error) {
	if !depthWithin([]byte(text), maxDepth) || !utf8.ValidString(text) || !gjson.Valid(text) {
		return gjson.Result{}, fault.InvalidJSON
	}
	return gjson.Parse(text), nil
}

// Member returns the member of an object with that name, the last one where there are several, as CouchDB does; the
// zero Result where there is none. gjson's Get takes paths, and keys may look like one.
func Member(object gjson.Result, name string) (found gjson.Result) {
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found = value
		}
		return true
	})
	return found
}

// Elements is how many elements an array has, or a little more: memory for them is asked for before they are parsed.
func Elements(array gjson.Result) int { return strings.Count(array.Raw, ",") + 1 }
