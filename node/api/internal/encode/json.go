package encode

import (
	"strconv"
	"unicode/utf8"

	"github.com/divandb/divan/layer"
)

const hexDigits = "0123456789abcdef"

// String appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func String(dst []byte, s string) []byte {
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

// Member appends `,"name":` or, right after an opening brace, `"name":`.
func Member(dst []byte, name string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	dst = String(dst, name)
	return append(dst, ':')
}

func StringMember(dst []byte, name, value string) []byte {
	return String(Member(dst, name), value)
}

func IntMember(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(Member(dst, name), n, 10)
}

func BoolMember(dst []byte, name string, b bool) []byte {
	return strconv.AppendBool(Member(dst, name), b)
}

// Rev appends a revision as a JSON string.
func Rev(dst []byte, rev layer.Rev) []byte {
	if !plainID(rev.ID) {
		return String(dst, rev.String())
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

func Revs(dst []byte, revs []layer.Rev) []byte {
	dst = append(dst, '[')
	for i, r := range revs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = Rev(dst, r)
	}
	return append(dst, ']')
}

func Strings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(dst, s)
	}
	return append(dst, ']')
}
