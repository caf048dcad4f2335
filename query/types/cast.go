package types

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/sqlstate"
)

// Context says where a cast is applied implicitly (pg_cast.castcontext).
type Context uint8

// The contexts, from the narrowest to the widest.
const (
	Implicit Context = iota
	Assignment
	Explicit
	NoCast
)

// CastContext returns the context in which a value of one type is cast to another: that of pg_cast, of arrays by their
// items, and otherwise through the text form, to texts in assignments and from texts only explicitly.
func CastContext(from, to OID) Context {
	if from == to || from == Unknown {
		return Implicit
	}
	if c, ok := castTable()[[2]OID{from, to}]; ok {
		return c
	}
	a, b := isObject(from), isObject(to)
	switch {
	case to == AnyArray && KindOf(from) == KArray:
		return Implicit
	case (a || IsInteger(from)) && to == Oid, (from == Oid || IsInteger(from)) && b:
		return Implicit
	case a && (to == Int8 || to == Int4):
		return Assignment
	}
	if x, y := ElemOf(from), ElemOf(to); x != 0 && y != 0 && to != Int2Vector && to != OidVector {
		if c := CastContext(x, y); c != NoCast {
			return c
		}
	}
	switch {
	case isText(to):
		return Assignment
	case isText(from):
		return Explicit
	}
	return NoCast
}

// isText reports whether a type is of the category of strings, which "char" is not.
func isText(t OID) bool { return IsString(t) && t != Char && t != Unknown }

// isObject reports whether a type is oid or one of the reg types.
func isObject(t OID) bool { return t == Oid || IsReg(t) }

// castsText lists casts, a line for each type and context.
//
//go:embed casts.txt
var castsText string

var castTable = sync.OnceValue(func() map[[2]OID]Context {
	out := map[[2]OID]Context{}
	contexts := map[string]Context{"implicit": Implicit, "assignment": Assignment, "explicit": Explicit}
	oids := map[string]OID{} // by the names in pg_type
	for _, t := range infos {
		oids[t.Name] = t.OID
	}
	for _, line := range strings.Split(strings.TrimSpace(castsText), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		head, to, _ := strings.Cut(line, ": ")
		from, context, _ := strings.Cut(head, " ")
		for _, name := range strings.Fields(to) {
			out[[2]OID{oids[from], oids[name]}] = contexts[context]
		}
	}
	return out
})

// CannotCast returns the error for a cast that does not exist.
func CannotCast(from, to OID) *sqlstate.Error {
	return sqlstate.New(sqlstate.CannotCoerce, "cannot cast type %s to %s", NameOf(from), NameOf(to))
}

// Cast converts a value from one type to another. mod is the type modifier, -1 for none. NULL stays NULL.
func Cast(d Datum, from, to OID, mod int32, env *Env) (Datum, error) {
	if d.IsNull() {
		return d, nil
	}
	if from != to {
		if to == Interval && from == Unknown {
			return parseInterval(d.S, mod, env)
		}
		var err error
		if d, err = convert(d, from, to, env); err != nil || d.IsNull() {
			return Null, err
		}
	}
	if mod >= 0 {
		return applyMod(d, to, mod)
	}
	return d, nil
}

func convert(d Datum, from, to OID, env *Env) (Datum, error) {
	switch {
	case to == Char && from == Int4:
		if d.I < math.MinInt8 || d.I > math.MaxInt8 {
			return Null, sqlstate.New(sqlstate.NumericOutOfRange, "\"char\" out of range")
		}
		return newChar(byte(d.I)), nil
	case to == Int4 && from == Char:
		if d.S == "" {
			return NewInt(0), nil
		}
		return NewInt(int64(int8(d.S[0]))), nil
	case IsString(to):
		if d.K == KBool && to != Name {
			return NewText(strconv.FormatBool(d.I != 0)), nil
		}
		if from == BPChar && d.K == KText {
			d.I = 0
		}
		return ParseText(TextOf(d, from, env), to, env)
	case d.K == KText && to != PgNodeTree:
		return ParseText(d.padded(), to, env)
	case from == Xid8 && to == Xid:
		return NewInt(int64(uint32(d.Unsigned()))), nil
	case IsOid(to):
		if d.K == KInt {
			if d.I < 0 || d.I > math.MaxUint32 {
				if from != Int4 && from != Int2 {
					return Null, sqlstate.New(sqlstate.NumericOutOfRange, "OID out of range")
				}
				d.I = int64(uint32(d.I))
			}
			return NewInt(d.I), nil
		}
	case IsOid(from) && to == Int4:
		return NewInt(int64(int32(uint32(d.I)))), nil // the same 32 bits
	case IsNumber(to):
		return toNumber(d, from, to)
	case to == Bool:
		switch {
		case d.K == KInt:
			return NewBool(d.I != 0), nil
		case d.K == KJSON:
			return jsonToBool(d.S)
		}
	case IsJSON(to) && d.K == KJSON:
		return NewJSONText(jsonText(d, JSONB)), nil // to jsonb, or the text of a jsonb
	case to == Time || to == TimeTZ:
		return toClock(d, from, to, env)
	case to == Interval && d.K == KClock:
		return NewInterval(Span{Micros: d.I}), nil
	case to == Timestamp || to == TimestampTZ || to == Date:
		return toTime(d, from, to, env)
	case d.K == KArray:
		return castArray(d, to, env)
	}
	return Null, CannotCast(from, to)
}

func castArray(d Datum, to OID, env *Env) (Datum, error) {
	elem := ElemOf(to)
	a := d.Array()
	if elem == 0 || elem == a.Elem {
		return d, nil // an int2vector keeps its lower bound 0
	}
	items := make([]Datum, len(a.Items))
	for i, it := range a.Items {
		var err error
		if items[i], err = Cast(it, a.Elem, elem, -1, env); err != nil {
			return Null, err
		}
	}
	out := NewArray(elem, items)
	out.Array().Lower = a.Lower
	return out, nil
}

// toNumber converts numbers, booleans and jsonb to a numeric type.
func toNumber(d Datum, from, to OID) (Datum, error) {
	if d.K == KJSON {
		if JSONKindOf(d.S) != JSONNumber {
			return Null, sqlstate.New(sqlstate.InvalidParameterValue, "cannot cast jsonb %s to type %s",
				castKind(d.S), NameOf(to))
		}
		n, err := ParseDecimal(d.S)
		if err != nil {
			return Null, err
		}
		d, from = NewNumeric(n), Numeric
	}
	switch to {
	case Int2, Int4, Int8:
		return toInt(d, to)
	case Float8, Float4:
		var f float64
		switch d.K {
		case KFloat:
			f = d.Float()
		case KInt:
			f = float64(d.I)
		case KNumeric:
			f = d.Decimal().Float64()
			narrow := float64(float32(f))
			if to == Float8 {
				narrow = f
			}
			if d.Decimal().special == finite && (math.IsInf(narrow, 0) || narrow == 0 && d.Decimal().coef.Sign() != 0) {
				return Null, sqlstate.New(sqlstate.NumericOutOfRange, "\"%s\" is out of range for type %s",
					d.Decimal().String(), NameOf(to))
			}
		default:
			return Null, CannotCast(from, to)
		}
		if to == Float4 {
			narrow := float64(float32(f))
			if math.IsInf(narrow, 0) && !math.IsInf(f, 0) {
				return Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: overflow")
			}
			if narrow == 0 && f != 0 {
				return Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: underflow")
			}
			f = narrow
		}
		return NewFloat(f), nil
	case Numeric:
		switch d.K {
		case KNumeric:
			return d, nil
		case KInt:
			return NewNumeric(DecimalFromInt(d.I)), nil
		case KFloat:
			digits := 15
			if from == Float4 {
				digits = 6
			}
			return NewNumeric(DecimalFromFloat(d.Float(), digits)), nil
		}
	}
	return Null, CannotCast(from, to)
}

func toInt(d Datum, to OID) (Datum, error) {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch to {
	case Int2:
		low, high = math.MinInt16, math.MaxInt16
	case Int4:
		low, high = math.MinInt32, math.MaxInt32
	}
	var v int64
	ok := true
	switch d.K {
	case KBool, KInt:
		v = d.I
	case KNumeric:
		if !d.Decimal().IsFinite() {
			what := "infinity"
			if d.Decimal().special == nan {
				what = "NaN"
			}
			return Null, sqlstate.New(sqlstate.FeatureNotSupported, "cannot convert %s to %s", what, NameOf(to))
		}
		v, ok = d.Decimal().Int64()
	case KFloat:
		f := math.RoundToEven(d.Float())
		ok = f >= -9223372036854775808.0 && f < 9223372036854775808.0
		v = int64(f)
	default:
		return Null, CannotCast(Unknown, to)
	}
	if !ok || v < low || v > high {
		return Null, sqlstate.New(sqlstate.NumericOutOfRange, "%s out of range", NameOf(to))
	}
	return NewInt(v), nil
}

func jsonToBool(s string) (Datum, error) {
	switch strings.TrimSpace(s) {
	case "true":
		return NewBool(true), nil
	case "false":
		return NewBool(false), nil
	}
	return Null, sqlstate.New(sqlstate.InvalidParameterValue, "cannot cast jsonb %s to type boolean", castKind(s))
}

// castKind names the type of a JSON value as PostgreSQL's errors of casts do.
func castKind(s string) string {
	if k := JSONKindOf(s); k != JSONNumber {
		return k.String()
	}
	return "numeric"
}

// cutRunes returns the first n characters of a text.
func cutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// applyMod cuts strings and rounds numbers to a type modifier.
func applyMod(d Datum, typ OID, mod int32) (Datum, error) {
	if elem := ElemOf(typ); elem != 0 && d.K == KArray {
		a := *d.Array()
		a.Items = slices.Clone(a.Items)
		for i, it := range a.Items {
			if it.IsNull() {
				continue
			}
			var err error
			if a.Items[i], err = applyMod(it, elem, mod); err != nil {
				return Null, err
			}
		}
		return Datum{K: KArray, p: unsafe.Pointer(&a)}, nil
	}
	switch typ {
	case VarChar, BPChar:
		n := int(mod) - 4
		if typ == BPChar {
			// A longer text is cut; a shorter one is padded with blanks.
			d = NewPadded(cutRunes(d.padded(), n))
			d.I = int64(n - utf8.RuneCountInString(d.S))
			return d, nil
		}
		d.S = cutRunes(d.S, n)
	case Numeric:
		r, err := d.Decimal().fits((mod-4)>>16&0xffff, scaleOf(mod))
		if err != nil {
			return Null, err
		}
		return NewNumeric(r), nil
	case Interval:
		return NewInterval(d.Span().Cut(mod)), nil
	case Time:
		return NewClock(roundMicros(d.I, mod)), nil
	case TimeTZ:
		us, offset := d.ZonedClock()
		return NewZonedClock(roundMicros(us, mod), offset), nil
	case Timestamp, TimestampTZ:
		if !datetime.IsInfinite(d.I) {
			return NewTime(roundMicros(d.I, mod)), nil
		}
	}
	return d, nil
}

// scaleOf returns the scale of numeric with a modifier.
func scaleOf(mod int32) int32 {
	scale := (mod - 4) & 0x7ff
	if scale >= 1024 {
		scale -= 2048
	}
	return scale
}

// NumericStep returns the difference between neighbouring values of numeric with a modifier, to the precision of a
// double.
func NumericStep(mod int32) float64 { return math.Pow10(int(-scaleOf(mod))) }
