package texts

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Functions of character codes and binary strings (PostgreSQL 15, sections 9.4 and 9.5).
func init() {
	funcs.TextFamily.Function("chr", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		switch n := a[0].I; {
		case n == 0:
			return types.Null, sqlstate.New(sqlstate.ProgramLimitExceeded, "null character not permitted")
		case n < 0:
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "character number must be positive")
		case n > utf8.MaxRune:
			return types.Null, sqlstate.New(
				sqlstate.ProgramLimitExceeded,
				"requested character too large for encoding: %d",
				n,
			)
		case !utf8.ValidRune(rune(n)):
			return types.Null, sqlstate.New(
				sqlstate.ProgramLimitExceeded,
				"requested character not valid for encoding: %d",
				n,
			)
		}
		return types.NewText(string(rune(a[0].I))), nil
	}, types.Int4)
	for t, mask := range map[types.OID]uint64{types.Int4: 1<<32 - 1, types.Int8: 1<<64 - 1} {
		funcs.TextFamily.Function("to_hex", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewText(strconv.FormatUint(uint64(a[0].I)&mask, 16)), nil
		}, t)
	}
	f := funcs.TextFamily.Function("gen_random_uuid", types.UUID,
		func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
			var b [16]byte
			if _, err := rand.Read(b[:]); err != nil {
				return types.Null, err
			}
			b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
			return types.NewText(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])), nil
		})
	f.Volatility = exec.Volatile
	hashes()
	funcs.TextFamily.Function("encode", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return encoded(env, a[0].S, a[1].S)
	}, types.Bytea, types.Text)
	funcs.TextFamily.Function("decode", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		// The result, what is copied to it, and the text without blanks.
		if err := funcs.FitsText(env, 3*len(a[0].S)); err != nil {
			return types.Null, err
		}
		switch strings.ToLower(a[1].S) {
		case "hex":
			return decodeHex(a[0].S)
		case "base64":
			return decodeBase64(a[0].S)
		case "escape":
			return decodeEscape(a[0].S)
		}
		return types.Null, unknownEncoding(a[1].S)
	}, types.Text, types.Text)
	byteFuncs()
}

func unknownEncoding(name string) error {
	return sqlstate.New(sqlstate.InvalidParameterValue, "unrecognized encoding: \"%s\"", name)
}

func hashes() {
	for name, f := range map[string]struct {
		make func() hash.Hash
		typ  types.OID
	}{"sha224": {sha256.New224, types.Bytea}, "sha256": {sha256.New, types.Bytea},
		"sha384": {sha512.New384, types.Bytea}, "sha512": {sha512.New, types.Bytea}, "md5": {md5.New, types.Text}} {
		funcs.TextFamily.Function(name, f.typ, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			h := f.make()
			for rest := range pieces(a[0].S, 32<<10) { // without a copy of the whole
				if err := env.Bytes(len(rest)); err != nil {
					return types.Null, err
				}
				_, _ = h.Write([]byte(rest)) // never fails
			}
			if f.typ == types.Text {
				return types.NewText(hex.EncodeToString(h.Sum(nil))), nil
			}
			return types.NewBytes(h.Sum(nil)), nil
		}, types.Bytea)
	}
}

// pieces yields s in pieces of n bytes.
func pieces(s string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			piece := s[:min(n, len(s))]
			if s = s[len(piece):]; !yield(piece) {
				return
			}
		}
	}
}

// encoded is encode. It makes the result in its final place.
func encoded(env *exec.CallEnv, s, format string) (types.Datum, error) {
	const line = 57 // bytes that become a line of 76 characters
	size := 0
	var add func(dst []byte, piece string) []byte
	switch strings.ToLower(format) {
	case "hex":
		size = 2 * len(s)
		add = func(dst []byte, piece string) []byte { return hex.AppendEncode(dst, []byte(piece)) }
	case "base64":
		// A newline follows each full line.
		size = base64.StdEncoding.EncodedLen(len(s)) + len(s)/line
		add = func(dst []byte, piece string) []byte {
			dst = base64.StdEncoding.AppendEncode(dst, []byte(piece))
			if len(piece) == line {
				dst = append(dst, '\n')
			}
			return dst
		}
	case "escape":
		size, add = escapedSize(s), appendEscaped
	default:
		return types.Null, unknownEncoding(format)
	}
	if err := funcs.FitsText(env, size); err != nil {
		return types.Null, err
	}
	var b strings.Builder
	b.Grow(size)
	var buf []byte
	for piece := range pieces(s, line) {
		if err := env.Bytes(0); err != nil {
			return types.Null, err
		}
		buf = add(buf[:0], piece)
		b.Write(buf)
	}
	return types.NewText(b.String()), nil
}

func escapedSize(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0 || c >= 0x80:
			n += 3
		case c == '\\':
			n++
		}
	}
	return n
}

func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0 || c >= 0x80:
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		case c == '\\':
			dst = append(dst, c, c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func decodeHex(s string) (types.Datum, error) {
	out := make([]byte, 0, len(s)/2)
	high, half := byte(0), false
	for _, c := range s {
		v, err := strconv.ParseUint(string(c), 16, 8)
		switch {
		case !half && strings.ContainsRune(" \n\t\r", c):
		case err != nil:
			return types.Null, sqlstate.New(
				sqlstate.InvalidParameterValue,
				"invalid hexadecimal digit: \"%s\"",
				string(c),
			)
		case half:
			out, half = append(out, high<<4|byte(v)), false
		default:
			high, half = byte(v), true
		}
	}
	if half {
		return types.Null, sqlstate.New(
			sqlstate.InvalidParameterValue,
			"invalid hexadecimal data: odd number of digits",
		)
	}
	return types.NewBytes(out), nil
}

func decodeBase64(s string) (types.Datum, error) {
	clean := strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \n\t\r", c) {
			return -1
		}
		return c
	}, s)
	for _, c := range clean {
		if c != '=' && !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", c) {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue,
				"invalid symbol \"%s\" found while decoding base64 sequence", string(c))
		}
	}
	if i := strings.IndexByte(clean, '='); i >= 0 && i%4 < 2 {
		return types.Null, sqlstate.New(sqlstate.InvalidParameterValue,
			`unexpected "=" while decoding base64 sequence`)
	}
	out, err := base64.StdEncoding.DecodeString(clean)
	if err != nil {
		return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "invalid base64 end sequence").
			WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.")
	}
	return types.NewBytes(out), nil
}

func decodeEscape(s string) (types.Datum, error) {
	bad := sqlstate.New(sqlstate.InvalidTextRepresentation, "invalid input syntax for type bytea")
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		case i+3 < len(s):
			v, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
			if err != nil {
				return types.Null, bad
			}
			out = append(out, byte(v))
			i += 3
		default:
			return types.Null, bad
		}
	}
	return types.NewBytes(out), nil
}

// byteFuncs adds the functions of binary strings.
func byteFuncs() {
	length := func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(len(a[0].S))), nil
	}
	funcs.TextFamily.Function("length", types.Int4, length, types.Bytea)
	funcs.TextFamily.Function("octet_length", types.Int4, length, types.Bytea)
	for _, t := range []types.OID{types.Text, types.Bytea} {
		funcs.TextFamily.Function("bit_length", types.Int4,
			func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return types.NewInt(8 * int64(len(a[0].S))), nil
			}, t)
	}
	f := funcs.TextFamily.Function(
		"quote_nullable",
		types.Text,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if a[0].IsNull() {
				return types.NewText("NULL"), nil
			}
			s, err := castText(env, a[0])
			if err != nil {
				return types.Null, err
			}
			s, err = quoteLiteralIn(env, s)
			return types.NewText(s), err
		},
		exec.AnyValue,
	)
	f.NullArgs = true
	overlay := func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		from := a[2].I
		count := intAt(a, 3, int64(utf8.RuneCountInString(a[1].S)))
		switch {
		case from <= 0:
			return types.Null, sqlstate.New(sqlstate.SubstringError, "negative substring length not allowed")
		case from+count > math.MaxInt32:
			return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "integer out of range")
		}
		if err := funcs.FitsText(env, 6*len(a[0].S)+len(a[1].S)); err != nil {
			return types.Null, err
		}
		runes := []rune(a[0].S)
		head := runes[:min(from-1, int64(len(runes)))]
		tail := runes[max(min(from-1+count, int64(len(runes))), 0):]
		return types.NewText(string(head) + a[1].S + string(tail)), nil
	}
	funcs.TextFamily.Function("overlay", types.Text, overlay, types.Text, types.Text, types.Int4)
	funcs.TextFamily.Function("overlay", types.Text, overlay, types.Text, types.Text, types.Int4, types.Int4)
}
