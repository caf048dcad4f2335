package types

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// maxArrayItems limits the number of items that the header of a binary array may announce.
const maxArrayItems = 1 << 20

// AppendBinary appends the binary form of a value that is not NULL.
func AppendBinary(dst []byte, d Datum, typ OID, env *Env) ([]byte, error) {
	be := binary.BigEndian
	if IsOid(typ) {
		return be.AppendUint32(dst, uint32(d.I)), nil
	}
	switch typ {
	case Bool:
		return append(dst, byte(d.I)), nil
	case Int2:
		return be.AppendUint16(dst, uint16(d.I)), nil
	case Int4:
		return be.AppendUint32(dst, uint32(d.I)), nil
	case Int8:
		return be.AppendUint64(dst, uint64(d.I)), nil
	case Float4:
		if math.IsNaN(d.Float()) {
			return be.AppendUint32(dst, 0x7fc00000|uint32(uint64(d.I)>>63)<<31), nil
		}
		return be.AppendUint32(dst, math.Float32bits(float32(d.Float()))), nil
	case Float8:
		if math.IsNaN(d.Float()) {
			// The sign is sent as in PostgreSQL. Go's NaN has another bit set.
			return be.AppendUint64(dst, 0x7ff8000000000000|uint64(d.I)&(1<<63)), nil
		}
		return be.AppendUint64(dst, uint64(d.I)), nil
	case Numeric:
		return appendNumericBinary(dst, d.Decimal()), nil
	case Tid:
		block, item := d.tidOf()
		return be.AppendUint16(be.AppendUint32(dst, block), item), nil
	case Xid8, PgLSN:
		return be.AppendUint64(dst, d.Unsigned()), nil
	case Char:
		// One byte, which is zero for the empty one.
		return append(dst, (d.S + "\x00")[0]), nil
	case JSONB, JSONPathType:
		dst = append(dst, 1) // the version of the binary form, the same for both types
		return env.Encode(dst, d.S)
	case Bytea:
		return append(dst, d.S...), nil
	case Timestamp, TimestampTZ, Date, Time, TimeTZ:
		return appendMomentBinary(dst, d), nil
	case Interval:
		s := d.Span()
		dst = be.AppendUint64(dst, uint64(s.Micros))
		dst = be.AppendUint32(dst, uint32(s.Days))
		return be.AppendUint32(dst, uint32(s.Months)), nil
	case UUID:
		b, err := hex.DecodeString(strings.ReplaceAll(d.S, "-", ""))
		return append(dst, b...), err
	}
	switch d.K {
	case KArray:
		return appendArrayBinary(dst, d.Array(), env)
	case KRecord:
		return appendRecordBinary(dst, d.Array(), env)
	}
	at := len(dst)
	if dst = AppendText(dst, d, typ, env); env == nil || env.Charset == nil {
		return dst, nil
	}
	return env.Encode(dst[:at], string(dst[at:]))
}

func appendArrayBinary(dst []byte, a *Array, env *Env) ([]byte, error) {
	be := binary.BigEndian
	nulls, dims := uint32(0), uint32(1)
	for _, it := range a.Items {
		if it.IsNull() {
			nulls = 1
		}
	}
	if len(a.Items) == 0 {
		dims = 0
	}
	dst = be.AppendUint32(dst, dims)
	dst = be.AppendUint32(dst, nulls)
	dst = be.AppendUint32(dst, uint32(a.Elem))
	if dims > 0 {
		dst = be.AppendUint32(dst, uint32(len(a.Items)))
		dst = be.AppendUint32(dst, uint32(a.Lower))
	}
	var err error
	for _, it := range a.Items {
		if dst, err = appendSized(dst, it, a.Elem, env); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendRecordBinary(dst []byte, a *Array, env *Env) ([]byte, error) {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(a.Items)))
	var err error
	for i, it := range a.Items {
		dst = binary.BigEndian.AppendUint32(dst, uint32(a.Types[i]))
		if dst, err = appendSized(dst, it, a.Types[i], env); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendSized(dst []byte, d Datum, typ OID, env *Env) ([]byte, error) {
	at := len(dst)
	dst = append(dst, 0xff, 0xff, 0xff, 0xff)
	if d.IsNull() {
		return dst, nil
	}
	dst, err := AppendBinary(dst, d, typ, env)
	if err == nil {
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, err
}

// Sign words of a binary numeric.
const (
	numericNeg    = 0x4000
	numericNaN    = 0xC000
	numericPosInf = 0xD000
	numericNegInf = 0xF000
	numericSigns  = "\x00\u4000\uC000\uD000\uF000" // all of them
)

// infinityScale is what PostgreSQL sends as the scale of infinity: a bit of its sign word.
const infinityScale = 0x20

// appendNumericBinary writes digits in base 10000 (numeric_send).
func appendNumericBinary(dst []byte, d *Decimal) []byte {
	be := binary.BigEndian
	head := func(ndigits, weight int, sign uint16, dscale int32) {
		dst = be.AppendUint16(dst, uint16(ndigits))
		dst = be.AppendUint16(dst, uint16(int16(weight)))
		dst = be.AppendUint16(dst, sign)
		dst = be.AppendUint16(dst, uint16(dscale))
	}
	switch d.special {
	case nan:
		head(0, 0, numericNaN, 0)
		return dst
	case posInf:
		head(0, 0, numericPosInf, infinityScale)
		return dst
	case negInf:
		head(0, 0, numericNegInf, infinityScale)
		return dst
	}
	sign := uint16(0)
	if d.coef.Sign() < 0 {
		sign = numericNeg
	}
	text := new(big.Int).Abs(&d.coef).String()
	if pad := int(d.scale) - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	whole, frac := text[:len(text)-int(d.scale)], text[len(text)-int(d.scale):]
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	frac += strings.Repeat("0", (4-len(frac)%4)%4)
	weight := len(whole)/4 - 1
	all := whole + frac
	for strings.HasPrefix(all, "0000") {
		all = all[4:]
		weight--
	}
	for strings.HasSuffix(all, "0000") && len(all)%4 == 0 {
		all = all[:len(all)-4]
	}
	if all == "" {
		weight = 0
	}
	head(len(all)/4, weight, sign, d.scale)
	for i := 0; i < len(all); i += 4 {
		dst = be.AppendUint16(dst,
			uint16(all[i]-'0')*1000+uint16(all[i+1]-'0')*100+uint16(all[i+2]-'0')*10+uint16(all[i+3]-'0'))
	}
	return dst
}

// WrongBinary is the message of a binary value that is too long for its type.
const WrongBinary = "incorrect binary data format"

var (
	errBinary = sqlstate.New(sqlstate.InvalidBinaryFormat, WrongBinary)
	tooShort  = sqlstate.New(sqlstate.ProtocolViolation, "insufficient data left in message")
)

// badNumeric returns the error of a part of a numeric.
func badNumeric(part string) error {
	return sqlstate.New(sqlstate.InvalidBinaryFormat, `invalid %s in external "numeric" value`, part)
}

// ParseBinary reads the binary form of a value of a type.
func ParseBinary(b []byte, typ OID, env *Env) (Datum, error) {
	be := binary.BigEndian
	size := func(n int) bool { return len(b) == n }
	if IsOid(typ) {
		typ = Oid
	}
	switch typ {
	case Bool:
		if size(1) {
			return NewBool(b[0] != 0), nil
		}
	case Int2:
		if size(2) {
			return NewInt(int64(int16(be.Uint16(b)))), nil
		}
	case Int4:
		if size(4) {
			return NewInt(int64(int32(be.Uint32(b)))), nil
		}
	case Oid:
		if size(4) {
			return NewInt(int64(be.Uint32(b))), nil
		}
	case Int8:
		if size(8) {
			return NewInt(int64(be.Uint64(b))), nil
		}
	case Float4:
		if size(4) {
			return NewFloat(float64(math.Float32frombits(be.Uint32(b)))), nil
		}
	case Float8:
		if size(8) {
			return NewFloat(math.Float64frombits(be.Uint64(b))), nil
		}
	case Timestamp, TimestampTZ, Date, Time, TimeTZ:
		if size(int(Lookup(typ).Len)) {
			return parseMomentBinary(b, typ)
		} else if typ == TimeTZ && len(b) >= 8 && len(b) < 12 { // the time is checked before the zone is read
			if d, err := parseMomentBinary(b[:8], Time); err != nil {
				return d, err
			}
		}
	case Interval:
		if size(16) {
			return NewInterval(Span{Micros: int64(be.Uint64(b)), Days: int32(be.Uint32(b[8:])),
				Months: int32(be.Uint32(b[12:]))}), nil
		}
	case Tid:
		if size(6) {
			return NewTid(be.Uint32(b), be.Uint16(b[4:])), nil
		}
	case Xid8, PgLSN:
		if size(8) {
			return NewUnsigned(be.Uint64(b)), nil
		}
	case JSONB, JSONPathType:
		if len(b) > 0 && b[0] == 1 {
			return parseTextBinary(b[1:], typ, env)
		}
	case Char:
		if size(1) {
			return newChar(b[0]), nil
		}
	case Numeric:
		return parseNumericBinary(b)
	case Bytea:
		return NewBytes(b), nil
	case UUID:
		if size(16) {
			return parseUUID(hex.EncodeToString(b))
		}
	default:
		if KindOf(typ) == KArray {
			return parseArrayBinary(b, typ, env)
		}
		return parseTextBinary(b, typ, env)
	}
	switch n := int(Lookup(typ).Len); {
	case n == 1 && len(b) == 0:
		return Null, sqlstate.New(sqlstate.ProtocolViolation, "no data left in message")
	case len(b) < n:
		return Null, tooShort
	}
	return Null, errBinary
}

// parseTextBinary reads a value of a type whose binary form is its text.
func parseTextBinary(b []byte, typ OID, env *Env) (Datum, error) {
	text, err := env.Decode(string(b))
	if err != nil {
		return Null, err
	}
	return ParseText(text, typ, env)
}

func parseNumericBinary(b []byte) (Datum, error) {
	be := binary.BigEndian
	if len(b) >= 6 && !strings.ContainsRune(numericSigns, rune(be.Uint16(b[4:]))) { // before the scale is read
		return Null, badNumeric("sign")
	} else if len(b) < 8 {
		return Null, tooShort
	}
	n, weight, sign, dscale := int(be.Uint16(b)), int(int16(be.Uint16(b[2:]))), be.Uint16(b[4:]),
		int32(be.Uint16(b[6:]))
	switch sign {
	case numericNaN:
		return NewNumeric(&Decimal{special: nan}), nil
	case numericPosInf:
		return NewNumeric(&Decimal{special: posInf}), nil
	case numericNegInf:
		return NewNumeric(&Decimal{special: negInf}), nil
	}
	if dscale > maxNumericScale {
		return Null, badNumeric("scale")
	}
	d := &Decimal{}
	base := big.NewInt(10000)
	for i := range n {
		if len(b) < 10+2*i {
			return Null, tooShort
		}
		digit := be.Uint16(b[8+2*i:])
		if digit > 9999 {
			return Null, badNumeric("digit")
		}
		d.coef.Mul(&d.coef, base)
		d.coef.Add(&d.coef, big.NewInt(int64(digit)))
	}
	if len(b) > 8+2*n {
		return Null, errBinary
	}
	// The last digit is worth 10000^(weight-n+1).
	exp := 4 * (weight - n + 1)
	if exp >= 0 {
		if exp > maxNumericDigits {
			return Null, errNumericOverflow
		}
		d.coef.Mul(&d.coef, pow10(int32(exp)))
	} else {
		d.scale = int32(-exp)
	}
	if sign == numericNeg {
		d.coef.Neg(&d.coef)
	}
	d, err := d.Round(dscale).InRange()
	return NewNumeric(d), err
}

func parseArrayBinary(b []byte, typ OID, env *Env) (Datum, error) {
	be := binary.BigEndian
	bad := func() (Datum, error) { return Null, errBinary }
	if len(b) < 12 {
		return bad()
	}
	dims, elem := be.Uint32(b), OID(be.Uint32(b[8:]))
	if want := ElemOf(typ); want != 0 && elem != want {
		return bad()
	}
	if dims == 0 {
		return NewArray(elem, nil), nil
	}
	if dims != 1 {
		return Null, sqlstate.Unsupported(-1, "Use arrays of one dimension.",
			"arrays of %d dimensions are not supported", dims)
	}
	if len(b) < 20 {
		return bad()
	}
	n := be.Uint32(b[12:])
	rest := b[20:]
	if n > maxArrayItems || uint64(n)*4 > uint64(len(rest)) {
		return bad()
	}
	items := make([]Datum, n)
	for i := range items {
		if len(rest) < 4 {
			return bad()
		}
		size := int32(be.Uint32(rest))
		rest = rest[4:]
		if size == -1 {
			continue
		}
		if size < 0 || int(size) > len(rest) {
			return bad()
		}
		d, err := ParseBinary(rest[:size], elem, env)
		if err != nil {
			return Null, err
		}
		items[i], rest = d, rest[size:]
	}
	return NewArray(elem, items), nil
}
