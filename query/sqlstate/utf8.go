package sqlstate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckUTF8 returns an error if text is not UTF-8 or contains a zero byte. The error shows the bytes as PostgreSQL's
// does.
func CheckUTF8(text string) error {
	if strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
		return nil
	}
	at := strings.IndexByte(text, 0)
	if i := firstInvalid(text); i >= 0 && (at < 0 || i < at) {
		at = i
	}
	// Show all bytes that the first byte says belong to the character, as far as they exist.
	n := 1
	switch c := text[at]; {
	case c >= 0xf0 && c < 0xf8:
		n = 4
	case c >= 0xe0 && c < 0xf0:
		n = 3
	case c >= 0xc0 && c < 0xe0:
		n = 2
	}
	return New(CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": %s`,
		Bytes(text[at:min(at+n, len(text))]))
}

// Bytes returns bytes as errors show them: 0xc3 0xa9.
func Bytes(s string) string {
	var shown []string
	for _, c := range []byte(s) {
		shown = append(shown, fmt.Sprintf("0x%02x", c))
	}
	return strings.Join(shown, " ")
}

// Excerpt returns a text as errors quote it: whole, as in PostgreSQL, unless it is very long. It ends before a
// character.
func Excerpt(s string) string {
	const most = 8 << 10
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// firstInvalid returns the index of the first byte that does not begin a UTF-8 character, or -1.
func firstInvalid(text string) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
