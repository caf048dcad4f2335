package api

import (
	"strconv"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// maxDepth bounds the nesting of JSON from outside: validators recurse, and a body of brackets must not exhaust the stack.
const maxDepth = 1000

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
			start = i + 1
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendMember appends `,"name":` or, right after an opening brace, `"name":`.
func appendMember(dst []byte, name string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	dst = appendString(dst, name)
	return append(dst, ':')
}

func appendStringMember(dst []byte, name, value string) []byte {
	return appendString(appendMember(dst, name), value)
}

func appendIntMember(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendMember(dst, name), n, 10)
}

func appendBoolMember(dst []byte, name string, b bool) []byte {
	return strconv.AppendBool(appendMember(dst, name), b)
}

// appendRev appends a revision as a JSON string.
func appendRev(dst []byte, rev layer.Rev) []byte {
	if !plainID(rev.ID) {
		return appendString(dst, rev.String())
	}
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, rev.Pos, 10)
	dst = append(dst, '-')
	dst = append(dst, rev.ID...)
	return append(dst, '"')
}

// plainID reports whether a revision's id needs no escaping: nearly all are 32 hex digits.
func plainID(id string) bool {
	for i := 0; i < len(id); i++ {
		if c := id[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func appendRevs(dst []byte, revs []layer.Rev) []byte {
	dst = append(dst, '[')
	for i, r := range revs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendRev(dst, r)
	}
	return append(dst, ']')
}

// parseJSON validates text from outside and parses it lazily. The result refers to a copy of text.
func parseJSON(text []byte) (gjson.Result, error) {
	if !depthWithin(text, maxDepth) || !utf8.Valid(text) || !gjson.ValidBytes(text) {
		return gjson.Result{}, errInvalidJSON
	}
	return gjson.ParseBytes(text), nil
}

// depthWithin reports whether brackets nest at most limit deep. It does not recurse, and judges nothing else.
func depthWithin(text []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = skipString(text, i) - 1
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

// skipString returns the index after the string that starts at text[i], or len(text) where it does not end.
func skipString(text []byte, i int) int {
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

// skipValue returns the index after the value that starts at text[i]: brackets and strings are matched, nothing is validated. ok is false where
// the value does not end or nests deeper than maxDepth.
func skipValue(text []byte, i int) (end int, ok bool) {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i = skipString(text, i); depth == 0 {
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

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}
