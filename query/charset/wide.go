package charset

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// wide is a character set in which a character has one or two bytes. Its tables are those of the code pages of Windows,
// as PostgreSQL has them. They are made when they are first used, from tables of golang.org/x/text that differ from
// them in a few places.
type wide struct {
	source encoding.Encoding
	// long reports whether a byte begins a character of two bytes, valid whether such a character may exist.
	long  func(a byte) bool
	valid func(a, b byte) bool
	// patch returns what a character is where source differs: r is source's, 0 for none.
	patch func(code int, r rune) rune
	// only has the codes of characters that are encoded, and decoded as others.
	only map[rune]uint16

	once   sync.Once
	runes  []uint16 // by code; 0 for none
	codes  []uint16 // by rune; 0 for none
	longer bool     // invalid characters of three bytes are shown in errors
}

// notZero is PostgreSQL's check, which has a pair of bytes that is no character on purpose.
func notZero(a, b byte) bool { return b != 0 && (a != 0x8d || b != ' ') }

func high(a byte) bool { return a >= utf8.RuneSelf }

// wides are the character sets by their names.
var wides = map[string]*wide{
	"SJIS shiftjis mskanji win932 windows932": {
		source: japanese.ShiftJIS,
		long:   func(a byte) bool { return a >= 0x80 && (a < 0xa1 || a > 0xdf) },
		valid: func(a, b byte) bool {
			return (a >= 0x81 && a <= 0x9f || a >= 0xe0 && a <= 0xfc) && b >= 0x40 && b != 0x7f && b <= 0xfc
		},
		patch: func(code int, r rune) rune {
			if code == 0x80 {
				return 0
			}
			return r
		},
		only: map[rune]uint16{'¢': 0x8191, '£': 0x8192, '¥': 0x5c, '¬': 0x81ca, '‖': 0x8161, '‾': 0x7e, '−': 0x817c,
			'〜': 0x8160},
	},
	"GBK win936 windows936": {
		source: simplifiedchinese.GBK,
		long:   high,
		valid:  notZero,
		patch: func(code int, r rune) rune {
			switch {
			case code < 0x100, code == 0xa2e3, code == 0xa3a0, code == 0xa8bf, code >= 0xa989 && code <= 0xa995,
				code >= 0xfe50 && code < 0xfea1:
				return 0 // later additions
			}
			return r
		},
		only: map[rune]uint16{'€': 0x80},
	},
	"UHC win949 windows949": {
		source: korean.EUCKR,
		long:   high,
		valid:  notZero,
		patch:  patchUHC,
	},
	"EUC_KR": {
		source: korean.EUCKR,
		long:   high,
		valid:  func(a, b byte) bool { return a >= 0xa1 && a != 0xff && b >= 0xa1 && b != 0xff },
		patch: func(code int, r rune) rune {
			switch {
			case code == 0xa2e8:
				return '㉾'
			case code>>8 < 0xa1 || code&0xff < 0xa1:
				return 0
			}
			return r
		},
		longer: true,
	},
}

// patchUHC adds the characters that users may define.
func patchUHC(code int, r rune) rune {
	const rows = 0x5e
	b := rune(code&0xff) - 0xa1
	switch {
	case code < 0x100:
		return 0
	case code == 0xa2e8:
		return '㉾'
	case code>>8 == 0xc9 && b >= 0 && b < rows:
		return 0xe000 + b
	case code>>8 == 0xfe && b >= 0 && b < rows:
		return 0xe000 + rows + b
	}
	return r
}

// character returns the length of the character at the beginning of s, or of what an error shows if it is not valid.
func (w *wide) character(s string) (n int, ok bool) {
	switch {
	case s[0] == 0:
		return 1, false
	case !w.long(s[0]):
		return 1, true
	case w.longer && s[0] == 0x8f:
		return 3, false
	case len(s) < 2:
		return 2, false
	}
	return 2, w.valid(s[0], s[1])
}

// tables makes the tables.
func (w *wide) tables() {
	w.runes, w.codes = make([]uint16, 1<<16), make([]uint16, 1<<16)
	d := w.source.NewDecoder()
	var again []int
	for code := utf8.RuneSelf; code < 1<<16; code++ {
		raw := []byte{byte(code >> 8), byte(code)}
		if code < 0x100 {
			raw = raw[1:]
		}
		if n, ok := w.character(string(raw)); n != len(raw) || !ok {
			continue
		}
		var r rune
		if out, err := d.Bytes(raw); err == nil && utf8.RuneCount(out) == 1 {
			if r, _ = utf8.DecodeRune(out); r == utf8.RuneError {
				r = 0
			}
		}
		if r = w.patch(code, r); r == 0 || r > 0xffff {
			continue
		}
		w.runes[code] = uint16(r)
		again = append(again, code)
	}
	slices.SortStableFunc(again, func(a, b int) int { return rank(a) - rank(b) })
	for _, code := range again {
		if r := w.runes[code]; w.codes[r] == 0 {
			w.codes[r] = uint16(code)
		}
	}
	for r, code := range w.only {
		w.codes[r] = code
	}
}

// rank orders the codes of one character in SJIS, the only set here that has several for some: those of the standard
// come first, then IBM's extensions, NEC's row 13, and what NEC selected of the extensions.
func rank(code int) int {
	switch row := code >> 8; {
	case row >= 0xfa:
		return 1
	case row == 0x87:
		return 2
	case row == 0xed || row == 0xee:
		return 3
	}
	return 0
}

func (e *Encoding) decodeWide(s string) (string, error) {
	w := e.wide
	w.once.Do(w.tables)
	var b strings.Builder
	b.Grow(len(s) * 3 / 2)
	for i := 0; i < len(s); {
		n, ok := w.character(s[i:])
		if !ok {
			return "", e.invalid(s[i:min(i+n, len(s))])
		}
		r := rune(s[i])
		if n == 2 {
			r = rune(w.runes[int(s[i])<<8|int(s[i+1])])
		} else if r >= utf8.RuneSelf {
			r = rune(w.runes[r])
		}
		if r == 0 {
			return "", untranslatable(s[i:i+n], e, UTF8)
		}
		b.WriteRune(r)
		i += n
	}
	return b.String(), nil
}

func (w *wide) encode(dst []byte, r rune) ([]byte, bool) {
	w.once.Do(w.tables)
	if r > 0xffff || w.codes[r] == 0 {
		return dst, false
	}
	if code := w.codes[r]; code > 0xff {
		return append(dst, byte(code>>8), byte(code)), true
	}
	return append(dst, byte(w.codes[r])), true
}
