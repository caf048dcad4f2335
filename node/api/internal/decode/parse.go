package decode

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Bytes validates text from a client and parses it lazily. The result refers to a copy of text.
func Bytes(text []byte) (gjson.Result, error) {
	if !jsontext.Within(text, jsontext.MaxDepth) || !utf8.Valid(text) || !gjson.ValidBytes(text) {
		return gjson.Result{}, fault.InvalidJSON
	}
	return gjson.ParseBytes(text), nil
}

// Text is Bytes for a string.
func Text(text string) (gjson.Result, error) {
	if !jsontext.Within(text, jsontext.MaxDepth) || !utf8.ValidString(text) || !gjson.Valid(text) {
		return gjson.Result{}, fault.InvalidJSON
	}
	return gjson.Parse(text), nil
}

// Member returns the member of an object with that name, or the zero Result if there is none. Of several it returns the
// last, as CouchDB does. gjson's Get takes paths, and keys may look like one.
func Member(object gjson.Result, name string) (found gjson.Result) {
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found = value
		}
		return true
	})
	return found
}

// Elements returns how many elements an array has, or slightly more. It is used to reserve memory before they are
// parsed.
func Elements(array gjson.Result) int { return strings.Count(array.Raw, ",") + 1 }
