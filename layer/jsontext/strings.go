package jsontext

import (
	"unicode/utf16"
	"unicode/utf8"
)

// HexDigits are the digits used in escapes, digests and revisions.
const HexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string, as JSON.stringify and CouchDB write it. Invalid UTF-8 becomes U+FFFD: one
// for each byte, or one for the three bytes of half a surrogate pair, which JavaScript's strings can have.
func AppendQuoted[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			dst = append(append(dst, s[from:i]...), "\uFFFD"...)
			if c == 0xED && i+2 < len(s) && s[i+1]&0xE0 == 0xA0 && s[i+2]&0xC0 == 0x80 {
				n = 3
			}
			i += n
			from = i
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', HexDigits[c>>4], HexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// AppendStrings appends list as a JSON array of strings.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendQuoted(dst, s)
	}
	return append(dst, ']')
}

// Half selects how an escaped half of a surrogate pair is decoded.
type Half byte

const (
	// ReplaceHalf decodes it to U+FFFD.
	ReplaceHalf Half = iota
	// KeepHalf keeps it, as three bytes that are not UTF-8: JavaScript has such strings.
	KeepHalf
)

// AppendUnescaped appends the decoded text of a string, given without its quotes. ok is false if an escape is
// invalid; dst then has the text before it.
func AppendUnescaped[T ~string | ~[]byte](dst []byte, s T, half Half) (_ []byte, ok bool) {
	from := 0
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		r, n := unescape(s[i:])
		if n == 0 {
			return dst, false
		}
		if isHalf(r) && half == KeepHalf {
			dst = append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		} else {
			dst = utf8.AppendRune(dst, r) // U+FFFD for a half
		}
		i += n
		from = i
	}
	return append(dst, s[from:]...), true
}

// Unquote decodes a valid JSON string. ok is false if b is not a string.
func Unquote(b []byte) (s string, ok bool) {
	if len(b) < 2 || b[0] != '"' {
		return "", false
	}
	inside := b[1 : len(b)-1]
	for _, c := range inside {
		if c == '\\' {
			out, ok := AppendUnescaped(make([]byte, 0, len(inside)), inside, ReplaceHalf)
			return string(out), ok
		}
	}
	return string(inside), true
}

// unescape decodes the escape at the start of s. n is the number of bytes consumed: 0 for an invalid escape, and
// those of both halves of a surrogate pair. A single half is decoded to itself.
func unescape[T ~string | ~[]byte](s T) (r rune, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch c := s[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return 0, 0
	}
	if r = hex4(s, 2); r < 0 {
		return 0, 0
	}
	if isHalf(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s, 8)); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

func isHalf(r rune) bool { return utf16.IsSurrogate(r) }

// hex4 parses the four digits at i, -1 if there are none.
func hex4[T ~string | ~[]byte](s T, i int) (r rune) {
	if i+4 > len(s) {
		return -1
	}
	for k := i; k < i+4; k++ {
		c := s[k]
		switch {
		case c-'0' < 10:
			c -= '0'
		case c|0x20-'a' < 6:
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
