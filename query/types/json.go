package types

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/divandb/divan/layer/jsontext"
)

// Reading JSON text in place. The texts are valid: they were checked where they came in (a document at its write, a
// literal at its cast), so that the scanner only has to find its way.

// JSONKind is the type of a JSON value.
type JSONKind byte

// The types, by their first character.
const (
	JSONNull   JSONKind = 'n'
	JSONBool   JSONKind = 't'
	JSONNumber JSONKind = '0'
	JSONString JSONKind = '"'
	JSONList   JSONKind = '['
	JSONObject JSONKind = '{'
)

func (k JSONKind) String() string {
	switch k {
	case JSONNull:
		return "null"
	case JSONBool:
		return "boolean"
	case JSONNumber:
		return "number"
	case JSONString:
		return "string"
	case JSONList:
		return "array"
	}
	return "object"
}

// JSONKindOf tells the type of a JSON text.
func JSONKindOf(s string) JSONKind {
	i := jsontext.SkipSpace(s, 0)
	if i >= len(s) {
		return JSONNull
	}
	switch c := s[i]; c {
	case '"', '[', '{', 'n':
		return JSONKind(c)
	case 't', 'f':
		return JSONBool
	}
	return JSONNumber
}

// JSONCursor walks the members of an object or the elements of an array. The zero value is at the end.
type JSONCursor struct {
	s      string
	at     int
	sorted []rawMember // those that are left, where they do not come in the order of the text
}

type rawMember struct{ key, value string }

// NewJSONCursor starts at the first member or element of a value that is an object or an array, as the caller has found
// out.
func NewJSONCursor(s string) JSONCursor {
	return JSONCursor{s: s, at: jsontext.SkipSpace(s, jsontext.SkipSpace(s, 0)+1)}
}

// Member returns the raw key (a JSON string) and the raw value of the next member; ok is false at the end.
func (c *JSONCursor) Member() (key, value string, ok bool) {
	if c.sorted != nil {
		return c.next()
	}
	if c.at >= len(c.s) || c.s[c.at] != '"' {
		return "", "", false
	}
	k := jsontext.SkipString(c.s, c.at)
	v := jsontext.SkipSpace(c.s, k)
	if v >= len(c.s) || c.s[v] != ':' {
		return "", "", false
	}
	key = c.s[c.at:k]
	c.at = jsontext.SkipSpace(c.s, v+1)
	return key, c.value(), true
}

// Element returns the raw next element; ok is false at the end.
func (c *JSONCursor) Element() (value string, ok bool) {
	if c.at >= len(c.s) || c.s[c.at] == ']' {
		return "", false
	}
	return c.value(), true
}

// value takes a value and the comma behind it.
func (c *JSONCursor) value() string {
	end := skipValue(c.s, c.at)
	v := c.s[c.at:end]
	if c.at = jsontext.SkipSpace(c.s, end); c.at < len(c.s) && c.s[c.at] == ',' {
		c.at = jsontext.SkipSpace(c.s, c.at+1)
	} else {
		c.at = len(c.s)
	}
	return v
}

// JSONMembers calls f with the raw key (a JSON string) and the raw value of every member, until f answers false.
func JSONMembers(s string, f func(key, value string) bool) {
	if JSONKindOf(s) != JSONObject {
		return
	}
	c := NewJSONCursor(s)
	for k, v, ok := c.Member(); ok && f(k, v); k, v, ok = c.Member() {
	}
}

// JSONElements calls f with every raw element of an array, until f answers false.
func JSONElements(s string, f func(value string) bool) {
	if JSONKindOf(s) != JSONList {
		return
	}
	c := NewJSONCursor(s)
	for v, ok := c.Element(); ok && f(v); v, ok = c.Element() {
	}
}

// JSONField is the operator -> with a text: the member of an object, the last one of that name as in jsonb.
func JSONField(s, name string) (value string, found bool) {
	JSONMembers(s, func(k, v string) bool {
		if jsonStringIs(k, name) {
			value, found = v, true
		}
		return true
	})
	return value, found
}

// JSONIndex is the operator -> with an integer: the element of an array, from the end when negative.
func JSONIndex(s string, n int64) (value string, found bool) {
	if n < 0 {
		n += int64(JSONLen(s))
		if n < 0 {
			return "", false
		}
	}
	JSONElements(s, func(v string) bool {
		if n == 0 {
			value, found = v, true
		}
		n--
		return n >= 0
	})
	return value, found
}

// JSONLen is the number of elements of an array.
func JSONLen(s string) int {
	n := 0
	JSONElements(s, func(string) bool { n++; return true })
	return n
}

// JSONPath is the operator #>: each step is a member's name or an element's number.
func JSONPath(s string, steps []string) (string, bool) {
	for _, step := range steps {
		var found bool
		switch JSONKindOf(s) {
		case JSONObject:
			s, found = JSONField(s, step)
		case JSONList:
			if n, err := strconv.ParseInt(step, 10, 64); err == nil {
				s, found = JSONIndex(s, n)
			}
		}
		if !found {
			return "", false
		}
	}
	return s, true
}

// JSONText is the operator ->> applied to the value itself: strings without quotes, null as false, anything else as its
// text.
func JSONText(s string) (string, bool) {
	switch JSONKindOf(s) {
	case JSONNull:
		return "", false
	case JSONString:
		return JSONStringText(strings.TrimSpace(s)), true
	}
	return strings.TrimSpace(s), true
}

// JSONStringText is the text that a raw JSON string spells.
func JSONStringText(raw string) string { return withoutZeros(JSONUnquote(raw)) }

// withoutZeros puts U+FFFD in the place of U+0000, which JSON's strings and ids of documents may have, but no text:
// clients take it for the end.
func withoutZeros(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", string(utf8.RuneError))
}

// jsonStringIs compares a raw JSON string with a text without decoding it where there is nothing to decode.
func jsonStringIs(raw, text string) bool {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1:len(raw)-1] == text
	}
	return JSONUnquote(raw) == text
}

// JSONUnquote decodes a raw JSON string, which may have zero bytes then. Lone surrogates become U+FFFD.
func JSONUnquote(raw string) string {
	if len(raw) < 2 {
		return ""
	}
	body := raw[1 : len(raw)-1]
	if strings.IndexByte(body, '\\') < 0 {
		return body
	}
	out, _ := jsontext.AppendUnescaped(make([]byte, 0, len(body)), body, jsontext.ReplaceHalf)
	return string(out)
}

// skipValue returns the index after the value that begins at i.
func skipValue(s string, i int) int {
	end, _ := jsontext.SkipValue(s, i, math.MaxInt)
	return end
}

// OffsetIn is where a text that was cut out of another begins in it; 0 for one that was not.
func OffsetIn(whole, part string) int {
	if whole == "" || part == "" {
		return 0
	}
	n := uintptr(unsafe.Pointer(unsafe.StringData(part))) - uintptr(unsafe.Pointer(unsafe.StringData(whole)))
	if n > uintptr(len(whole)) {
		return 0
	}
	return int(n)
}
