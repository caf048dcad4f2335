package sqlstate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckUTF8 fails for a text that is not UTF-8, or that has a zero byte, and shows the bytes as PostgreSQL does.
func CheckUTF8(text string) error {
	if strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
		return nil
	}
	at := strings.IndexByte(text, 0)
	if i := firstInvalid(text); i >= 0 && (at < 0 || i < at) {
		at = i
	}
	// All that the first byte says belong to the character, as far as they are there.
	n := 1
	switch c := text[at]; {
	case c >= 0xf0 && c < 0xf8:
		n = 4
	case c >= 0xe0 && c < 0xf0:
		n = 3
	case c >= 0xc0 && c < 0xe0:
		n = 2
	}
	var shown []string
	for _, c := range []byte(text[at:min(at+n, len(text))]) {
		shown = append(shown, fmt.Sprintf("0x%02x", c))
	}
	return New(CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": %s`,
		strings.Join(shown, " "))
}

// firstInvalid is where the first byte stands that begins no character of UTF-8, -1 for nowhere.
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
