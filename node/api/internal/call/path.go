package call

import "strings"

// SplitPath splits an escaped path into its decoded segments. It drops empty segments, so doubled and trailing slashes
// are harmless. A plus sign is a space if plusIsSpace (CouchDB's option chttpd/decode_plus_to_space). A slash in a
// document id or database name arrives as %2F. For design and local documents, %2F after the prefix is equivalent to a
// slash. ok is false for an invalid escape.
func SplitPath(escaped string, plusIsSpace bool) (segments []string, ok bool) {
	for len(escaped) > 0 {
		var part string
		part, escaped, _ = strings.Cut(escaped, "/")
		if part == "" {
			continue
		}
		if !plusIsSpace {
			part = strings.ReplaceAll(part, "+", "%2B")
		}
		if part, ok = Unescape(part); !ok {
			return nil, false
		}
		segments = append(segments, part)
	}
	if len(segments) < 2 {
		return segments, true
	}
	for _, prefix := range []string{"_design/", "_local/"} {
		if name, found := strings.CutPrefix(segments[1], prefix); found {
			rest := append([]string{prefix[:len(prefix)-1]}, nonEmpty(name)...)
			segments = append(segments[:1:1], append(rest, segments[2:]...)...)
		}
	}
	return segments, true
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// Unescape decodes %XX and plus signs.
func Unescape(s string) (string, bool) { return unescape(s, true) }

// unescape decodes %XX and plus signs. If it is not strict, other percent signs stand for themselves.
func unescape(s string, strict bool) (string, bool) {
	if !strings.ContainsAny(s, "%+") {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch isEscape := i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]); {
		case s[i] == '+':
			b = append(b, ' ')
		case s[i] == '%' && !isEscape && strict:
			return "", false
		case s[i] == '%' && isEscape:
			b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		default:
			b = append(b, s[i])
		}
	}
	return string(b), true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	}
	return c - 'A' + 10
}

// Escape escapes s for a URL as CouchDB does: a space is %20, which every client decodes.
func Escape(s string) string { return string(appendEscaped(nil, s)) }

// appendEscaped appends s as one path segment, as CouchDB writes Location headers: everything but letters, digits and
// "-_.:" is escaped.
func appendEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' ||
			c == ':' {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', upperHex(c>>4), upperHex(c&15))
	}
	return dst
}

func upperHex(n byte) byte { return "0123456789ABCDEF"[n] }
