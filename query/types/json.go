package types

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/divandb/divan/layer/jsontext"
)

// The functions below read JSON text in place. The texts are known to be valid, because they were checked when they
// arrived (a document when it was written, a literal when it was cast), so the scanner does not check them again.

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

// JSONKindOf returns the type of a JSON text.
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

// JSONCursor iterates over the members of an object or the elements of an array. The zero value is at the end.
type JSONCursor struct {
	s      string
	at     int
	sorted []rawMember // the remaining members, if they are not in the order of the text
}

type rawMember struct{ key, value string }

// NewJSONCursor returns a cursor at the first member or element. s must be an object or an array.
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

// value reads a value and the comma after it.
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

// JSONMembers calls f with the raw key (a JSON string) and the raw value of every member until f returns false.
func JSONMembers(s string, f func(key, value string) bool) {
	if JSONKindOf(s) != JSONObject {
		return
	}
	c := NewJSONCursor(s)
	for k, v, ok := c.Member(); ok && f(k, v); k, v, ok = c.Member() {
	}
}

// JSONElements calls f with every raw element of an array until f returns false.
func JSONElements(s string, f func(value string) bool) {
	if JSONKindOf(s) != JSONList {
		return
	}
	c := NewJSONCursor(s)
	for v, ok := c.Element(); ok && f(v); v, ok = c.Element() {
	}
}

// JSONField is the operator -> with a text. It returns the member of that name; of several the last, as in jsonb.
func JSONField(s, name string) (value string, found bool) {
	JSONMembers(s, func(k, v string) bool {
		if jsonStringIs(k, name) {
			value, found = v, true
		}
		return true
	})
	return value, found
}

// JSONIndex is the operator -> with an integer. It returns an element of an array; a negative n counts from the end.
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

// JSONLen returns the number of elements of an array.
func JSONLen(s string) int {
	n := 0
	JSONElements(s, func(string) bool { n++; return true })
	return n
}

// JSONPath is the operator #>. Each step is the name of a member or the index of an element.
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

// JSONText is ->> for the value itself: strings without quotes, other values as their text. null returns false.
func JSONText(s string) (string, bool) {
	if n := len(s); n > 1 && s[0] == '"' && s[n-1] == '"' {
		return JSONStringText(s), true
	}
	switch JSONKindOf(s) {
	case JSONNull:
		return "", false
	case JSONString:
		return JSONStringText(strings.TrimSpace(s)), true
	}
	return strings.TrimSpace(s), true
}

// JSONStringText returns the SQL text of a raw JSON string.
func JSONStringText(raw string) string { return withoutZeros(JSONUnquote(raw)) }

// withoutZeros replaces U+0000 by U+FFFD. JSON strings and document ids may contain U+0000, but clients read it as the
// end of a text.
func withoutZeros(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", string(utf8.RuneError))
}

// jsonStringIs reports whether a raw JSON string has the given text. It decodes the string only if it has escapes.
func jsonStringIs(raw, text string) bool {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1:len(raw)-1] == text
	}
	return JSONUnquote(raw) == text
}

// JSONUnquote decodes a raw JSON string. The result may contain zero bytes. Lone surrogates become U+FFFD.
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

// SameText reports whether two texts are the same memory, and not empty.
func SameText(a, b string) bool {
	return unsafe.StringData(a) == unsafe.StringData(b) && len(a) == len(b) && len(a) > 0
}

// OffsetIn returns where part, a slice of whole, begins in it; 0 if it is not a slice of it.
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
