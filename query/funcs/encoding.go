package funcs

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// encoding is a character set by PostgreSQL's name. A nil table means UTF8, or SQL_ASCII, which is not converted.
type encoding struct {
	name  string
	table *charmap.Charmap
}

// encodings maps the names of the single-byte character sets, in lower case and without punctuation.
var encodings = map[string]encoding{}

func init() {
	for names, table := range map[string]*charmap.Charmap{
		"UTF8 unicode": nil, "SQL_ASCII": nil, "LATIN1 iso88591": charmap.ISO8859_1,
		"LATIN2 iso88592": charmap.ISO8859_2,
		"LATIN3 iso88593": charmap.ISO8859_3, "LATIN4 iso88594": charmap.ISO8859_4,
		"LATIN5 iso88599":  charmap.ISO8859_9,
		"LATIN6 iso885910": charmap.ISO8859_10, "LATIN7 iso885913": charmap.ISO8859_13,
		"LATIN8 iso885914": charmap.ISO8859_14, "LATIN9 iso885915": charmap.ISO8859_15,
		"LATIN10 iso885916":   charmap.ISO8859_16,
		"ISO_8859_5 iso88595": charmap.ISO8859_5, "ISO_8859_6": charmap.ISO8859_6,
		"ISO_8859_7": charmap.ISO8859_7, "ISO_8859_8": charmap.ISO8859_8, "WIN866 alt windows866": charmap.CodePage866,
		"WIN874 windows874": charmap.Windows874, "WIN1250 windows1250": charmap.Windows1250,
		"WIN1251 windows1251 win": charmap.Windows1251, "WIN1252 windows1252": charmap.Windows1252,
		"WIN1253 windows1253": charmap.Windows1253, "WIN1254 windows1254": charmap.Windows1254,
		"WIN1255 windows1255": charmap.Windows1255, "WIN1256 windows1256": charmap.Windows1256,
		"WIN1257 windows1257":                         charmap.Windows1257,
		"WIN1258 abc tcvn tcvn5712 vscii windows1258": charmap.Windows1258,
		"KOI8R koi8": charmap.KOI8R, "KOI8U": charmap.KOI8U,
	} {
		list := strings.Fields(names)
		for _, name := range list {
			encodings[encodingKey(name)] = encoding{list[0], table}
		}
	}
	convert := func(env *exec.CallEnv, s, src, dst string) (string, error) {
		from, err := findEncoding(src, "source")
		if err != nil {
			return "", err
		}
		to, err := findEncoding(dst, "destination")
		if err != nil {
			return "", err
		}
		if err := env.Bytes(len(s)); err != nil {
			return "", err
		}
		return recode(env, s, from, to)
	}
	TextFamily.Function("convert_from", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		s, err := convert(env, a[0].S, a[1].S, "UTF8")
		return types.NewText(s), err
	}, types.Bytea, types.Name)
	bytesOf := func(s string, err error) (types.Datum, error) { return types.Datum{K: types.KBytes, S: s}, err }
	TextFamily.Function("convert_to", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return bytesOf(convert(env, a[0].S, "UTF8", a[1].S))
	}, types.Text, types.Name)
	TextFamily.Function("length", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		e, err := findEncoding(a[1].S, "")
		if err != nil {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "invalid encoding name \"%s\"", a[1].S)
		}
		if err := checkEncoding(a[0].S, e); err != nil {
			return types.Null, err
		}
		if e.name == "UTF8" {
			return types.NewInt(int64(utf8.RuneCountInString(a[0].S))), nil
		}
		return types.NewInt(int64(len(a[0].S))), nil
	}, types.Bytea, types.Name)
	TextFamily.Function("convert", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return bytesOf(convert(env, a[0].S, a[1].S, a[2].S))
	}, types.Bytea, types.Name, types.Name)
}

func encodingKey(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// wideEncodings are PostgreSQL's character sets of several bytes, which Divan does not convert, by their keys.
var wideEncodings = strings.Fields(`big5 euccn eucjis2004 eucjp euckr euctw gb18030 gbk johab mskanji muleinternal
	shiftjis shiftjis2004 sjis uhc win932 win936 win949 win950 windows932 windows936 windows949 windows950`)

func findEncoding(name, what string) (encoding, error) {
	if e, ok := encodings[encodingKey(name)]; ok {
		return e, nil
	}
	if slices.Contains(wideEncodings, encodingKey(name)) {
		return encoding{}, sqlstate.New(sqlstate.FeatureNotSupported, "encoding \"%s\" is not supported", name).
			WithHint("UTF8 and the sets of one byte for each character are supported.")
	}
	return encoding{}, sqlstate.New(sqlstate.InvalidParameterValue, "invalid %s encoding name \"%s\"", what, name)
}

// recode converts a text from one character set to another. One of them must be UTF8, or both the same.
func recode(env *exec.CallEnv, s string, from, to encoding) (string, error) {
	const ascii = "SQL_ASCII"
	switch {
	case from.name == ascii:
		return s, checkEncoding(s, to)
	case from == to, to.name == ascii:
		return s, checkEncoding(s, from)
	case from.table != nil && to.table != nil:
		return "", sqlstate.New(sqlstate.UndefinedFunction,
			"default conversion function for encoding \"%s\" to \"%s\" does not exist", from.name, to.name)
	}
	if err := checkEncoding(s, from); err != nil {
		return "", err
	}
	if err := env.Room(3 * int64(len(s))); err != nil {
		return "", err
	}
	var b strings.Builder
	if to.table == nil {
		for i := range len(s) {
			r := from.table.DecodeByte(s[i])
			if r == utf8.RuneError {
				return "", untranslatable(s[i:i+1], from, to)
			}
			b.WriteRune(r)
		}
		return b.String(), nil
	}
	for i, r := range s {
		c, ok := to.table.EncodeRune(r)
		if !ok {
			return "", untranslatable(s[i:i+utf8.RuneLen(r)], from, to)
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

func untranslatable(char string, from, to encoding) error {
	return sqlstate.New("22P05",
		"character with byte sequence %s in encoding \"%s\" has no equivalent in encoding \"%s\"",
		hexBytes(char), from.name, to.name)
}

// hexBytes formats bytes as 0xc3 0xa9.
func hexBytes(s string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(s) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("0x")
		b.WriteByte(digits[s[i]>>4])
		b.WriteByte(digits[s[i]&15])
	}
	return b.String()
}

// checkEncoding returns an error if s is not valid in an encoding.
func checkEncoding(s string, e encoding) error {
	bad := func(seq string) error {
		return sqlstate.New(sqlstate.CharacterNotInRepertoire, "invalid byte sequence for encoding \"%s\": %s", e.name,
			hexBytes(seq))
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return bad(s[i : i+1])
	}
	if e.name != "UTF8" || utf8.ValidString(s) {
		return nil
	}
	for i, r := range s {
		if _, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
			continue
		}
		// As many bytes as the first one announces, or as exist.
		n := 1
		switch c := s[i]; {
		case c >= 0xc0 && c < 0xe0:
			n = 2
		case c >= 0xe0 && c < 0xf0:
			n = 3
		case c >= 0xf0 && c < 0xf8:
			n = 4
		}
		return bad(s[i:min(len(s), i+n)])
	}
	return nil
}
