package funcs

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The hash functions of types whose values have parts. Each has a form of 32 bits and one of 64 bits with a seed, which
// is not always an extension of the other.

func init() {
	for _, f := range []struct {
		name string
		arg  types.OID
	}{
		{"hash_numeric", types.Numeric}, {"jsonb_hash", types.JSONB}, {"uuid_hash", types.UUID},
		{"time_hash", types.Time}, {"timetz_hash", types.TimeTZ}, {"timestamp_hash", types.Timestamp},
		{"interval_hash", types.Interval}, {"hash_array", types.AnyArray}, {"hash_record", types.Record},
	} {
		hashFamily.Function(f.name, types.Int4, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			h, err := hashValue(env, a[0], env.ArgType(0), 0, false)
			return types.NewInt(int64(int32(uint32(h)))), err
		}, f.arg)
		hashFamily.Function(f.name+"_extended", types.Int8,
			func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				h, err := hashValue(env, a[0], env.ArgType(0), uint64(a[1].I), true)
				return types.NewInt(int64(h)), err
			}, f.arg, types.Int8)
	}
}

// hashValue returns the hash of a value of any type that has one: 64 bits if long, otherwise 32 bits without a seed.
func hashValue(env *exec.CallEnv, d types.Datum, typ types.OID, seed uint64, long bool) (h uint64, err error) {
	if err := env.Bytes(len(d.S)); err != nil {
		return 0, err
	}
	switch d.K {
	case types.KNull:
		return 0, nil
	case types.KBool:
		h = hashInt(uint32(d.I), seed)
	case types.KInt:
		if h = hashInt(uint32(d.I), seed); typ == types.Int8 {
			h = hashLarge(d.I, seed)
		}
	case types.KDate:
		h = hashInt(uint32(d.I), seed)
	case types.KFloat:
		h = hashFloat(d.Float(), seed)
	case types.KNumeric:
		return hashNumeric(d.Decimal(), seed, long)
	case types.KText:
		switch {
		case typ == types.Char:
			h = hashChar(d.S, seed)
		case typ == types.UUID:
			raw, err := types.AppendBinary(nil, d, typ, nil)
			return hashBytes(string(raw), seed), err
		case types.IsString(typ) && typ != types.Unknown:
			h = hashBytes(d.S, seed)
		default:
			return 0, noHash(typ, long)
		}
	case types.KBytes:
		h = hashBytes(d.S, seed)
	case types.KTime, types.KClock:
		h = hashLarge(d.I, seed)
	case types.KZonedClock:
		micros, east := d.ZonedClock()
		h = hashLarge(micros, seed) ^ hashInt(uint32(-east), seed)
	case types.KInterval:
		s := d.Span()
		h = hashLarge((int64(s.Months)*30+int64(s.Days))*86_400_000_000+s.Micros, seed)
	case types.KJSON:
		if typ == types.JSON {
			return 0, noHash(typ, long)
		}
		return hashJSON(env, d.S, seed, long)
	case types.KArray, types.KRecord:
		return hashItems(env, d, seed, long)
	}
	return h, nil
}

func noHash(typ types.OID, long bool) error {
	what := "a hash function"
	if long {
		what = "an extended hash function"
	}
	return sqlstate.New(sqlstate.UndefinedFunction, "could not identify %s for type %s", what, types.NameOf(typ))
}

// hashItems combines the hashes of the elements of an array or the fields of a record.
func hashItems(env *exec.CallEnv, d types.Datum, seed uint64, long bool) (uint64, error) {
	a := d.Array()
	sum := uint64(1)
	if d.K == types.KRecord {
		sum = 0
	}
	for i, it := range a.Items {
		typ := a.Elem
		if d.K == types.KRecord {
			typ = a.Types[i]
		}
		h, err := hashValue(env, it, typ, seed, long)
		if err != nil {
			return 0, err
		}
		if !long {
			h = uint64(uint32(h))
		}
		sum = sum<<5 - sum + h
	}
	return sum, nil
}

// hashNumeric hashes the digits in base 10000 without zeros at the ends, and their weight, so that equal numbers of
// different scales have one hash. The sign does not count.
func hashNumeric(n *types.Decimal, seed uint64, long bool) (uint64, error) {
	if !n.IsFinite() {
		return seed, nil
	}
	raw, err := types.AppendBinary(nil, types.NewNumeric(n), types.Numeric, nil)
	if err != nil {
		return 0, err
	}
	weight := int64(int16(binary.BigEndian.Uint16(raw[2:])))
	digits := raw[8:]
	for len(digits) > 0 && digits[0] == 0 && digits[1] == 0 {
		digits, weight = digits[2:], weight-1
	}
	for len(digits) > 0 && digits[len(digits)-1] == 0 && digits[len(digits)-2] == 0 {
		digits = digits[:len(digits)-2]
	}
	if len(digits) == 0 {
		return seed - 1, nil
	}
	for i := 0; i < len(digits); i += 2 {
		digits[i], digits[i+1] = digits[i+1], digits[i]
	}
	h := hashBytes(string(digits), seed)
	if !long {
		h = uint64(uint32(h))
	}
	return h ^ uint64(weight), nil
}

// Marks of the containers and values that have no bytes to hash.
const (
	hashedArray  = 0x40000000
	hashedObject = 0x20000000
	hashedNull   = 1
	hashedTrue   = 2
	hashedFalse  = 4
)

// hashJSON combines the marks of the containers and the hashes of the names and scalars in the order of a jsonb. A
// scalar alone is hashed like an array.
func hashJSON(env *exec.CallEnv, s string, seed uint64, long bool) (sum uint64, err error) {
	if s, err = types.PrintJSONB(s, env.Bytes); err != nil {
		return 0, err
	}
	switch {
	case s == "[]", s == "{}":
		return seed, nil
	case s[0] != '[' && s[0] != '{':
		s = "[" + s + "]"
	}
	for i := 0; i < len(s); {
		end := i + 1
		switch s[i] {
		case '[':
			sum ^= hashedArray<<32 | hashedArray
		case '{':
			sum ^= hashedObject<<32 | hashedObject
		case ']', '}', ',', ':', ' ':
		default:
			end = scalarEnd(s, i)
			h, err := hashScalar(s[i:end], seed, long)
			if err != nil {
				return 0, err
			}
			// Each half of the sum rotates by itself.
			high, low := bits.RotateLeft32(uint32(sum>>32), 1), bits.RotateLeft32(uint32(sum), 1)
			sum = (uint64(high)<<32 | uint64(low)) ^ h
		}
		i = end
	}
	return sum, nil
}

// scalarEnd returns the end of the string, number or word at i.
func scalarEnd(s string, i int) int {
	if s[i] != '"' {
		return i + strings.IndexAny(s[i:], ",]} ")
	}
	for i++; s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func hashScalar(s string, seed uint64, long bool) (uint64, error) {
	switch s[0] {
	case 'n':
		return seed + hashedNull, nil
	case 't', 'f':
		switch {
		case seed != 0 && s[0] == 't':
			return hashInt(1, seed), nil
		case seed != 0:
			return hashInt(0, seed), nil
		case s[0] == 't':
			return hashedTrue, nil
		}
		return hashedFalse, nil
	case '"':
		return hashBytes(types.JSONUnquote(s), seed), nil
	}
	n, err := types.ParseDecimal(s)
	if err != nil {
		return hashBytes(s, seed), nil //nolint:nilerr // a number out of the range of numeric keeps its spelling
	}
	return hashNumeric(n, seed, long)
}
