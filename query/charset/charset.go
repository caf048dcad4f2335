// Package charset converts texts between UTF-8 and the other character sets that PostgreSQL has, with PostgreSQL's
// tables and errors. Where a text comes from and goes to is decided by those who use it.
package charset

import (
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/sqlstate"
)

// Encoding is a character set. It is immutable.
type Encoding struct {
	name   string
	single *single // of one byte for each character
	wide   *wide   // of up to two bytes
}

// UTF8 and ASCII are not converted. ASCII stands for texts of which nothing is known.
var (
	UTF8  = &Encoding{name: "UTF8"}
	ASCII = &Encoding{name: "SQL_ASCII"}
)

// encodings maps the names of the character sets, in lower case and without punctuation.
var encodings = map[string]*Encoding{"utf8": UTF8, "unicode": UTF8, "sqlascii": ASCII}

func init() {
	for names, t := range singles {
		add(names, func(e *Encoding) { e.single = t })
	}
	for names, w := range wides {
		add(names, func(e *Encoding) { e.wide = w })
	}
}

func add(names string, set func(*Encoding)) {
	list := strings.Fields(names)
	e := &Encoding{name: list[0]}
	set(e)
	for _, name := range list {
		encodings[key(name)] = e
	}
}

// key is a name as PostgreSQL compares it.
func key(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name)
}

// others are the other character sets that PostgreSQL has, by their keys.
var others = map[string]string{"big5": "BIG5", "win950": "BIG5", "windows950": "BIG5", "euccn": "EUC_CN",
	"eucjis2004": "EUC_JIS_2004", "eucjp": "EUC_JP", "euctw": "EUC_TW", "gb18030": "GB18030", "johab": "JOHAB",
	"muleinternal": "MULE_INTERNAL", "shiftjis2004": "SHIFT_JIS_2004"}

// Find returns the character set of a name. ok is false if PostgreSQL has none of that name; the Encoding is nil if it
// has one that is not supported.
func Find(name string) (e *Encoding, ok bool) {
	k := key(name)
	e, ok = encodings[k]
	return e, ok || others[k] != ""
}

// Canonical returns PostgreSQL's name of a set that Find knows, supported or not.
func Canonical(name string) string {
	if e := encodings[key(name)]; e != nil {
		return e.name
	}
	return others[key(name)]
}

// Name returns PostgreSQL's name.
func (e *Encoding) Name() string { return e.name }

// Converts reports whether texts must be converted.
func (e *Encoding) Converts() bool { return e != nil && (e.single != nil || e.wide != nil) }

// Check returns an error if s is not valid in the character set, of which not all characters need to exist in others.
func (e *Encoding) Check(s string) error {
	switch {
	case e == UTF8:
		return sqlstate.CheckUTF8(s)
	case e.wide == nil:
		if i := strings.IndexByte(s, 0); i >= 0 {
			return e.invalid(s[i : i+1])
		}
		return nil
	}
	for i := 0; i < len(s); {
		n, ok := e.wide.character(s[i:])
		if !ok {
			return e.invalid(s[i:min(i+n, len(s))])
		}
		i += n
	}
	return nil
}

// Length returns the number of characters of a text that Check has accepted.
func (e *Encoding) Length(s string) int {
	switch {
	case e == UTF8:
		return utf8.RuneCountInString(s)
	case e.wide == nil:
		return len(s)
	}
	n := 0
	for len(s) > 0 {
		size, _ := e.wide.character(s)
		s = s[size:]
		n++
	}
	return n
}

// Decode returns a text of the character set in UTF-8.
func (e *Encoding) Decode(s string) (string, error) {
	if !e.Converts() {
		return s, sqlstate.CheckUTF8(s)
	}
	if isASCII(s) {
		return s, nil
	}
	if e.wide != nil {
		return e.decodeWide(s)
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	for i := range len(s) {
		if s[i] == 0 {
			return "", e.invalid(s[i : i+1])
		}
		r := e.single.decode(s[i])
		if r == 0 {
			return "", untranslatable(s[i:i+1], e, UTF8)
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

// Encode appends a text in UTF-8, converted to the character set.
func (e *Encoding) Encode(dst []byte, s string) ([]byte, error) {
	if !e.Converts() || isASCII(s) {
		return append(dst, s...), nil
	}
	for i, r := range s {
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
			continue
		}
		var ok bool
		if e.wide != nil {
			dst, ok = e.wide.encode(dst, r)
		} else {
			dst, ok = e.single.encode(dst, r)
		}
		if !ok {
			return dst, untranslatable(s[i:i+utf8.RuneLen(r)], UTF8, e)
		}
	}
	return dst, nil
}

// isASCII reports whether the bytes of s mean the same in all character sets.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || s[i] == 0 {
			return false
		}
	}
	return true
}

func (e *Encoding) invalid(seq string) error {
	return sqlstate.New(sqlstate.CharacterNotInRepertoire, "invalid byte sequence for encoding \"%s\": %s", e.name,
		sqlstate.Bytes(seq))
}

func untranslatable(char string, from, to *Encoding) error {
	return sqlstate.New(sqlstate.UntranslatableCharacter,
		"character with byte sequence %s in encoding \"%s\" has no equivalent in encoding \"%s\"",
		sqlstate.Bytes(char), from.name, to.name)
}
