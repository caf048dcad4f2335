package types

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/floats"
	"github.com/divandb/divan/query/jsonpath"
	"github.com/divandb/divan/query/sqlstate"
)

// AppendText appends the text form of a value that is not NULL.
func AppendText(dst []byte, d Datum, typ OID, env *Env) []byte {
	switch d.K {
	case KBool:
		if d.I != 0 {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case KInt:
		if d.S != "" {
			return append(dst, d.S...) // the name of a reg type's value
		}
		switch typ {
		case Xid8:
			return strconv.AppendUint(dst, d.Unsigned(), 10)
		case Tid:
			block, item := d.tidOf()
			return fmt.Appendf(dst, "(%d,%d)", block, item)
		case PgLSN:
			return fmt.Appendf(dst, "%X/%X", d.Unsigned()>>32, uint32(d.Unsigned()))
		}
		return strconv.AppendInt(dst, d.I, 10)
	case KFloat:
		bits := 64
		if typ == Float4 {
			bits = 32
		}
		return floats.Append(dst, d.Float(), bits)
	case KNumeric:
		return d.Decimal().append(dst)
	case KText:
		if d.I == 0 && typ != Char && strings.IndexByte(d.S, 0) < 0 {
			return append(dst, d.S...)
		}
		return append(dst, characters(d, typ)...)
	case KJSON:
		return append(dst, jsonText(d, typ)...)
	case KBytes:
		if env != nil && env.ByteaEscape {
			return appendEscaped(dst, d.S)
		}
		dst = append(dst, '\\', 'x')
		return hex.AppendEncode(dst, bytesOf(d.S))
	case KTime:
		return appendTime(dst, d.I, typ, env, ' ')
	case KDate:
		return datetime.AppendDate(dst, d.I)
	case KClock:
		return datetime.AppendClock(dst, d.I)
	case KZonedClock:
		return appendZonedClock(dst, d)
	case KInterval:
		return datetime.AppendInterval(dst, d.Span(), env.intervalStyle())
	case KArray:
		return appendArray(dst, d.Array(), typ, env)
	case KRecord:
		return appendRecord(dst, d.Array(), env)
	}
	return dst
}

// appendEscaped appends bytes as with bytea_output = escape.
func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		switch b := s[i]; {
		case b == '\\':
			dst = append(dst, '\\', '\\')
		case b < 0x20 || b > 0x7e:
			dst = append(dst, '\\', '0'+b>>6, '0'+b>>3&7, '0'+b&7)
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

// TextOf returns AppendText as a string; "" for NULL.
func TextOf(d Datum, typ OID, env *Env) string {
	switch d.K {
	case KText:
		return characters(d, typ)
	case KJSON:
		return jsonText(d, typ)
	}
	return string(AppendText(nil, d, typ, env))
}

// characters returns the text of a KText. A byte of a "char" that is not UTF-8 is written in octal.
func characters(d Datum, typ OID) string {
	if typ == Char && len(d.S) == 1 && d.S[0] >= 0x80 {
		return fmt.Sprintf(`\%03o`, d.S[0])
	}
	return withoutZeros(d.padded())
}

var octal = regexp.MustCompile(`^\\[0-7]{3}$`)

// newChar returns a "char" of a byte. A zero byte is the empty one.
func newChar(b byte) Datum {
	if b == 0 {
		return NewText("")
	}
	return NewText(string([]byte{b}))
}

// jsonText returns a json unchanged, and a jsonb as PostgreSQL prints it.
func jsonText(d Datum, typ OID) string {
	if typ != JSONB {
		return d.S
	}
	s, err := PrintJSONB(d.S, nil)
	if err != nil {
		return d.S // unreachable: without a step nothing fails
	}
	return s
}

func appendArray(dst []byte, a *Array, typ OID, env *Env) []byte {
	if typ == Int2Vector || typ == OidVector {
		for i, it := range a.Items {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = AppendText(dst, it, a.Elem, env)
		}
		return dst
	}
	if n := len(a.Items); a.Lower != 1 && n > 0 {
		dst = fmt.Appendf(dst, "[%d:%d]=", a.Lower, a.Lower+n-1)
	}
	dst = append(dst, '{')
	for i, it := range a.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case it.IsNull():
			dst = append(dst, "NULL"...)
		case it.K == KArray:
			dst = appendArray(dst, it.Array(), typ, env)
		default:
			dst = appendArrayItem(dst, TextOf(it, a.Elem, env))
		}
	}
	return append(dst, '}')
}

func appendArrayItem(dst []byte, s string) []byte {
	if s != "" && !strings.ContainsAny(s, "{},\"\\ \t\n\r\v\f") && !strings.EqualFold(s, "null") {
		return append(dst, s...)
	}
	return appendQuoted(dst, s, '\\')
}

func appendQuoted(dst []byte, s string, escape byte) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch s[i] {
		case '"':
			dst = append(dst, escape)
		case '\\':
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

func appendRecord(dst []byte, a *Array, env *Env) []byte {
	dst = append(dst, '(')
	for i, it := range a.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if it.IsNull() {
			continue
		}
		s := TextOf(it, a.Types[i], env)
		if s != "" && !strings.ContainsAny(s, "(),\"\\ \t\n\r\v\f") {
			dst = append(dst, s...)
		} else {
			dst = appendQuoted(dst, s, '"')
		}
	}
	return append(dst, ')')
}

func badText(typ OID, text string) error {
	return sqlstate.New(sqlstate.InvalidTextRepresentation, `invalid input syntax for type %s: "%s"`, NameOf(typ),
		sqlstate.Excerpt(text))
}

func outOfRange(typ OID, text string) error {
	return sqlstate.New(sqlstate.NumericOutOfRange, `value "%s" is out of range for type %s`, sqlstate.Excerpt(text),
		NameOf(typ))
}

// ParseText reads the text form of a type. Of the types that are shown by name (regclass and the other reg types) it
// reads only numbers: names need the catalogue.
func ParseText(text string, typ OID, env *Env) (Datum, error) {
	switch typ {
	case BPChar:
		d, err := ParseText(text, Text, env)
		return NewPadded(d.S), err
	case Text, VarChar, Unknown, PgNodeTree, AclItem, Void:
		if err := sqlstate.CheckUTF8(text); err != nil {
			return Null, err
		}
		return NewText(text), nil
	case Name:
		return NewText(Truncate(text, 63)), nil
	case Char:
		if octal.MatchString(text) {
			return newChar((text[1]-'0')<<6 | (text[2]-'0')<<3 | (text[3] - '0')), nil
		}
		return NewText(text[:min(1, len(text))]), nil
	case Bool:
		return parseBool(text)
	case Int2, Int4, Int8:
		return parseInt(text, typ)
	case Float4, Float8:
		return parseFloat(text, typ)
	case Numeric:
		d, err := ParseDecimal(text)
		if err != nil {
			return Null, err
		}
		return NewNumeric(d), nil
	case JSON, JSONB:
		d, err := ParseJSON(text)
		switch {
		case err == nil && typ == JSON:
			return NewJSONText(text), nil // with the blanks around it
		case err == nil:
			return NewJSONText(jsonText(d, typ)), nil
		case env == nil || !env.LooseJSON:
			return d, err
		}
		return NewJSON(jsontext.AppendQuoted(nil, text)), nil
	case Timestamp, TimestampTZ, Date, Time, TimeTZ:
		return parseMoment(text, typ, env)
	case JSONPathType:
		p, err := jsonpath.Parse(text)
		if err != nil {
			return Null, err
		}
		return NewText(p.Text()), nil
	case Interval:
		return parseInterval(text, -1, env)
	case UUID:
		return parseUUID(text)
	case Bytea:
		return parseBytea(text)
	case Xid8, PgLSN:
		return parseUnsigned(text, typ)
	case Tid:
		return parseTid(text)
	}
	if IsOid(typ) {
		return parseOID(text, typ)
	}
	if typ == Record {
		return Null, sqlstate.New(sqlstate.FeatureNotSupported, "input of anonymous composite types is not implemented")
	}
	if elem := ElemOf(typ); elem != 0 {
		return parseArray(text, typ, elem, env)
	}
	return Null, sqlstate.New(sqlstate.FeatureNotSupported, "input of type %s is not supported", NameOf(typ))
}

// Truncate cuts a text to at most n bytes at a character boundary, as PostgreSQL cuts names.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func parseBool(text string) (Datum, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	if s != "" {
		for _, word := range []string{"true", "yes", "on", "1"} {
			if strings.HasPrefix(word, s) && s != "o" {
				return NewBool(true), nil
			}
		}
		for _, word := range []string{"false", "no", "off", "0"} {
			if strings.HasPrefix(word, s) && s != "o" {
				return NewBool(false), nil
			}
		}
	}
	return Null, badText(Bool, text)
}

func parseInt(text string, typ OID) (Datum, error) {
	bits := map[OID]int{Int2: 16, Int4: 32, Int8: 64}[typ]
	v, err := strconv.ParseInt(strings.TrimSpace(text), 10, bits)
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return Null, outOfRange(typ, text)
		}
		return Null, badText(typ, text)
	}
	return NewInt(v), nil
}

// parseOID reads an OID. As in PostgreSQL, a negative number of 32 bits is the OID with the same bits.
func parseOID(text string, typ OID) (Datum, error) {
	if typ == Xid || typ == Cid {
		wide, err := parseUnsigned(text, Xid8)
		return NewInt(int64(uint32(wide.Unsigned()))), err
	}
	v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return Null, badText(typ, text)
	case err != nil || v < math.MinInt32 || v > math.MaxUint32:
		return Null, outOfRange(typ, text)
	}
	return NewInt(int64(uint32(v))), nil
}

func parseFloat(text string, typ OID) (Datum, error) {
	s := strings.TrimSpace(text)
	bits := 64
	if typ == Float4 {
		bits = 32
	}
	if strings.Contains(s, "_") {
		return Null, badText(typ, text)
	}
	// In Go, hexadecimal floats need an exponent.
	if strings.ContainsAny(s, "xX") && !strings.ContainsAny(s, "pP") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, bits)
	if strings.EqualFold(s, "-nan") || strings.EqualFold(s, "+nan") {
		// The sign is kept, as in PostgreSQL, where it can only be seen in the binary form.
		f, err = math.NaN(), nil
		if s[0] == '-' {
			f = math.Copysign(f, -1)
		}
	}
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return Null, sqlstate.New(sqlstate.NumericOutOfRange, `"%s" is out of range for type %s`,
				sqlstate.Excerpt(text),
				NameOf(typ))
		}
		return Null, badText(typ, text)
	}
	if f == 0 && strings.Trim(strings.TrimLeft(strings.SplitN(strings.ToLower(s), "e", 2)[0], "+-0.x"), "0.") != "" {
		return Null, sqlstate.New(sqlstate.NumericOutOfRange, `"%s" is out of range for type %s`,
			sqlstate.Excerpt(text),
			NameOf(typ))
	}
	return NewFloat(f), nil
}

func parseUUID(text string) (Datum, error) {
	s := strings.ToLower(strings.ReplaceAll(strings.Trim(strings.TrimSpace(text), "{}"), "-", ""))
	if _, err := hex.DecodeString(s); err != nil || len(s) != 32 {
		return Null, badText(UUID, text)
	}
	return NewText(s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]), nil
}

func parseBytea(text string) (Datum, error) {
	if h, ok := strings.CutPrefix(text, `\x`); ok {
		b, err := HexBytes(h)
		if err != nil {
			return Null, err
		}
		return NewBytes(b), nil
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '\\' {
			out = append(out, '\\')
			i++
			continue
		}
		if i+3 >= len(text) {
			return Null, sqlstate.New(sqlstate.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
		v, err := strconv.ParseUint(text[i+1:i+4], 8, 8)
		if err != nil {
			return Null, sqlstate.New(sqlstate.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
		out = append(out, byte(v))
		i += 3
	}
	return NewBytes(out), nil
}

// HexBytes decodes hexadecimal digits. Blanks may separate bytes.
func HexBytes(s string) ([]byte, error) {
	out := make([]byte, 0, len(s)/2)
	half := func(i int) (byte, error) {
		c, n := s[i], strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if n < 0 || c < '0' {
			_, size := utf8.DecodeRuneInString(s[i:])
			return 0, sqlstate.New(sqlstate.InvalidParameterValue, `invalid hexadecimal digit: "%s"`, s[i:i+size])
		}
		return byte(n), nil
	}
	for i := 0; i < len(s); {
		if strings.IndexByte(" \n\t\r", s[i]) >= 0 {
			i++
			continue
		}
		high, err := half(i)
		if err != nil {
			return nil, err
		}
		if i+1 >= len(s) {
			return nil, sqlstate.New(sqlstate.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		low, err := half(i + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, high<<4|low)
		i += 2
	}
	return out, nil
}

// parseArray reads the text form of a one-dimensional array.
func parseArray(text string, typ, elem OID, env *Env) (Datum, error) {
	if typ == Int2Vector || typ == OidVector {
		var items []Datum
		for _, w := range strings.Fields(text) {
			d, err := ParseText(w, elem, env)
			if err != nil {
				return Null, err
			}
			items = append(items, d)
		}
		return NewVector(elem, items), nil
	}
	malformed := func(detail string) (Datum, error) {
		e := sqlstate.New(sqlstate.InvalidTextRepresentation, `malformed array literal: "%s"`, sqlstate.Excerpt(text))
		e.Detail = detail
		return Null, e
	}
	bad := func() (Datum, error) { return malformed("") }
	s := strings.TrimSpace(text)
	lower, upper := 1, -1
	if m := arrayBounds.FindStringSubmatch(s); m != nil {
		var low, high error
		lower, low = strconv.Atoi(m[1])
		upper, high = strconv.Atoi(m[2])
		switch {
		case low != nil || high != nil || upper > math.MaxInt32-1 || lower < math.MinInt32:
			return bad()
		case upper < lower:
			return Null, sqlstate.New(sqlstate.ArraySubscriptError, "upper bound cannot be less than lower bound")
		}
		s = s[len(m[0]):]
	}
	switch {
	case s == "" || s[0] != '{':
		return malformed(`Array value must start with "{" or dimension information.`)
	case len(s) < 2 || !strings.Contains(s, "}"):
		return malformed("Unexpected end of input.")
	case s[len(s)-1] != '}':
		return malformed("Junk after closing right brace.")
	}
	s = strings.TrimSpace(s[1 : len(s)-1])
	var items []Datum
	for i := 0; s != "" && i <= len(s); {
		word, quoted, next, ok := arrayWord(s, i)
		if !ok && nestedArray.MatchString(s[i:]) {
			return Null, sqlstate.New(sqlstate.FeatureNotSupported, "multidimensional arrays are not supported").
				WithHint("Use an array of one dimension, or jsonb.")
		}
		if !ok {
			if rest := strings.TrimSpace(s[i:]); rest == "" {
				return malformed(`Unexpected "}" character.`)
			} else if rest[0] == ',' {
				return malformed(`Unexpected "," character.`)
			}
			return bad()
		}
		i = next
		if !quoted && strings.EqualFold(word, "null") {
			items = append(items, Null)
			continue
		}
		d, err := ParseText(word, elem, env)
		if err != nil {
			return Null, err
		}
		items = append(items, d)
	}
	if upper >= lower && len(items) != upper-lower+1 {
		return bad()
	}
	d := NewArray(elem, items)
	d.Array().Lower = lower
	return d, nil
}

// arrayBounds matches the bounds before an array whose lower bound is not 1.
var arrayBounds = regexp.MustCompile(`^\[([+-]?\d{1,10}):([+-]?\d{1,10})\]\s*=\s*`)

// nestedArray matches the beginning of an array inside of an array.
var nestedArray = regexp.MustCompile(`^\s*\{`)

// arrayWord reads the element that begins at i. next is after its comma, or past the end.
func arrayWord(s string, i int) (word string, quoted bool, next int, ok bool) {
	for i < len(s) && strings.IndexByte(" \t\n\r", s[i]) >= 0 {
		i++
	}
	var out []byte
	if i < len(s) && s[i] == '"' {
		for i++; i < len(s) && s[i] != '"'; i++ {
			if s[i] == '\\' && i+1 < len(s) {
				i++
			}
			out = append(out, s[i])
		}
		if i >= len(s) {
			return "", true, 0, false
		}
		rest := strings.TrimLeft(s[i+1:], " \t\n\r")
		if rest == "" {
			return string(out), true, len(s) + 1, true
		}
		return string(out), true, len(s) - len(rest) + 1, rest[0] == ','
	}
	for ; i < len(s) && s[i] != ','; i++ {
		switch s[i] {
		case '{', '}', '"':
			return "", false, 0, false
		case '\\':
			if i+1 < len(s) {
				i++
			}
		}
		out = append(out, s[i])
	}
	word = strings.TrimRight(string(out), " \t\n\r")
	return word, false, i + 1, word != ""
}
