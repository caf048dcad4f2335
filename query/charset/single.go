package charset

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// single is a character set of one byte for each character. Its tables are made when they are first used, from one of
// golang.org/x/text.
type single struct {
	source *charmap.Charmap
	// controls is set if PostgreSQL has the control characters from 0x80 to 0x9f.
	controls bool
	// patch has the characters in which PostgreSQL differs; 0 for none.
	patch map[byte]rune

	once  sync.Once
	runes [256]rune
	codes map[rune]byte
}

// singles are the character sets by their names.
var singles = map[string]*single{
	"LATIN1 iso88591":         {source: charmap.ISO8859_1},
	"LATIN2 iso88592":         {source: charmap.ISO8859_2, controls: true},
	"LATIN3 iso88593":         {source: charmap.ISO8859_3, controls: true},
	"LATIN4 iso88594":         {source: charmap.ISO8859_4, controls: true},
	"LATIN5 iso88599":         {source: charmap.ISO8859_9, controls: true},
	"LATIN6 iso885910":        {source: charmap.ISO8859_10, controls: true},
	"LATIN7 iso885913":        {source: charmap.ISO8859_13, controls: true},
	"LATIN8 iso885914":        {source: charmap.ISO8859_14, controls: true},
	"LATIN9 iso885915":        {source: charmap.ISO8859_15, controls: true},
	"LATIN10 iso885916":       {source: charmap.ISO8859_16, controls: true},
	"ISO_8859_5":              {source: charmap.ISO8859_5, controls: true},
	"ISO_8859_6":              {source: charmap.ISO8859_6, controls: true},
	"ISO_8859_7":              {source: charmap.ISO8859_7, controls: true},
	"ISO_8859_8":              {source: charmap.ISO8859_8, controls: true},
	"WIN866 alt windows866":   {source: charmap.CodePage866},
	"WIN874 windows874":       {source: charmap.Windows874},
	"WIN1250 windows1250":     {source: charmap.Windows1250},
	"WIN1251 windows1251 win": {source: charmap.Windows1251},
	"WIN1252 windows1252":     {source: charmap.Windows1252},
	"WIN1253 windows1253":     {source: charmap.Windows1253},
	"WIN1254 windows1254":     {source: charmap.Windows1254},
	"WIN1255 windows1255":     {source: charmap.Windows1255, patch: map[byte]rune{0xca: 0}},
	"WIN1256 windows1256":     {source: charmap.Windows1256},
	"WIN1257 windows1257":     {source: charmap.Windows1257},
	"WIN1258 abc tcvn tcvn5712 vscii windows1258": {source: charmap.Windows1258},
	"KOI8R koi8": {source: charmap.KOI8R},
	"KOI8U":      {source: charmap.KOI8U, patch: map[byte]rune{0xae: '╝', 0xbe: '╬'}},
}

func (s *single) tables() {
	s.codes = make(map[rune]byte, 128)
	for i := utf8.RuneSelf; i < len(s.runes); i++ {
		b := byte(i)
		r := s.source.DecodeByte(b)
		if s.controls && b < 0xa0 {
			r = rune(b)
		}
		if p, ok := s.patch[b]; ok {
			r = p
		}
		if r == utf8.RuneError || r == 0 {
			continue
		}
		s.runes[b] = r
		if _, ok := s.codes[r]; !ok {
			s.codes[r] = b
		}
	}
}

func (s *single) decode(b byte) rune {
	if b < utf8.RuneSelf {
		return rune(b)
	}
	s.once.Do(s.tables)
	return s.runes[b]
}

func (s *single) encode(dst []byte, r rune) ([]byte, bool) {
	s.once.Do(s.tables)
	b, ok := s.codes[r]
	return append(dst, b), ok
}
