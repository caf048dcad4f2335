package encode

import (
	"strconv"
	"unicode/utf8"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
)

// Member appends `,"name":` or, right after an opening brace, `"name":`.
func Member(dst []byte, name string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	dst = jsontext.AppendQuoted(dst, name)
	return append(dst, ':')
}

// StringMember appends a member whose value is a string.
func StringMember(dst []byte, name, value string) []byte {
	return jsontext.AppendQuoted(Member(dst, name), value)
}

// IntMember appends a member whose value is a number.
func IntMember(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(Member(dst, name), n, 10)
}

// BoolMember appends a member whose value is true or false.
func BoolMember(dst []byte, name string, b bool) []byte {
	return strconv.AppendBool(Member(dst, name), b)
}

// Rev appends a revision as a JSON string.
func Rev(dst []byte, rev layer.Rev) []byte {
	if !plainID(rev.ID) {
		return jsontext.AppendQuoted(dst, rev.String())
	}
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, rev.Pos, 10)
	dst = append(dst, '-')
	dst = append(dst, rev.ID...)
	return append(dst, '"')
}

// plainID reports whether a revision's id needs no escaping. Nearly all ids are 32 hex digits.
func plainID(id string) bool {
	for i := 0; i < len(id); i++ {
		if c := id[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Revs appends an array of revisions.
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
