package texts

import (
	"math"
	mathbits "math/bits"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Parts of binary strings (PostgreSQL 15, section 9.5).
func init() {
	part := func(s string, start, n int64, limited bool) (types.Datum, error) {
		if limited && n < 0 {
			return types.Null, sqlstate.New(sqlstate.SubstringError, "negative substring length not allowed")
		}
		size := int64(len(s))
		end := size + 1
		if limited && n <= size {
			end = min(start+n, end)
		}
		start = min(max(start, 1), size+1)
		return types.NewBytes([]byte(s[start-1 : max(end, start)-1])), nil
	}
	funcs.TextFamily.Operator("||", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if err := funcs.FitsText(env, len(a[0].S)+len(a[1].S)); err != nil {
			return types.Null, err
		}
		return types.Datum{K: types.KBytes, S: a[0].S + a[1].S}, nil
	}, types.Bytea, types.Bytea)
	for _, name := range []string{"substr", "substring"} {
		funcs.TextFamily.Function(name, types.Bytea, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return part(a[0].S, a[1].I, 0, false)
		}, types.Bytea, types.Int4)
		funcs.TextFamily.Function(name, types.Bytea, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return part(a[0].S, a[1].I, a[2].I, true)
		}, types.Bytea, types.Int4, types.Int4)
	}
	funcs.TextFamily.Function("position", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(strings.Index(a[0].S, a[1].S)) + 1), nil
	}, types.Bytea, types.Bytea)
	singleBytes()
	funcs.TextFamily.Function("overlay", types.Bytea, overlayBytes, types.Bytea, types.Bytea, types.Int4)
	funcs.TextFamily.Function("overlay", types.Bytea, overlayBytes, types.Bytea, types.Bytea, types.Int4, types.Int4)
	for name, sides := range map[string][2]bool{"btrim": {true, true}, "ltrim": {true, false}, "rtrim": {false, true}} {
		funcs.TextFamily.Function(name, types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			var set [256]bool
			for i := range len(a[1].S) {
				set[a[1].S[i]] = true
			}
			s := a[0].S
			for sides[0] && s != "" && set[s[0]] {
				s = s[1:]
			}
			for sides[1] && s != "" && set[s[len(s)-1]] {
				s = s[:len(s)-1]
			}
			return types.Datum{K: types.KBytes, S: s}, env.Bytes(len(a[0].S))
		}, types.Bytea, types.Bytea)
	}
	for _, op := range []string{"~~", "!~~"} {
		funcs.TextFamily.Operator(op, types.Bool, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			ok, err := likeBytes(env, a[0].S, a[1].S)
			return types.NewBool(ok == (op == "~~")), err
		}, types.Bytea, types.Bytea)
	}
	funcs.TextFamily.Function("bit_count", types.Int8, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n := 0
		for i := range len(a[0].S) {
			n += mathbits.OnesCount8(a[0].S[i])
		}
		return types.NewInt(int64(n)), env.Bytes(len(a[0].S))
	}, types.Bytea)
}

// singleBytes adds the functions of single bytes and bits, which are numbered from 0. Bit 0 is the lowest bit of the
// first byte.
func singleBytes() {
	at := func(i, n int64) error {
		if i < 0 || i >= n {
			return sqlstate.New(sqlstate.ArraySubscriptError, "index %d out of valid range, 0..%d", i, n-1)
		}
		return nil
	}
	changed := func(env *exec.CallEnv, s string, i int64, change func(byte) byte) (types.Datum, error) {
		if err := funcs.FitsText(env, len(s)); err != nil {
			return types.Null, err
		}
		out := []byte(s)
		out[i] = change(out[i])
		return types.NewBytes(out), nil
	}
	funcs.TextFamily.Function("get_byte", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if err := at(a[1].I, int64(len(a[0].S))); err != nil {
			return types.Null, err
		}
		return types.NewInt(int64(a[0].S[a[1].I])), nil
	}, types.Bytea, types.Int4)
	funcs.TextFamily.Function("set_byte", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if err := at(a[1].I, int64(len(a[0].S))); err != nil {
			return types.Null, err
		}
		return changed(env, a[0].S, a[1].I, func(byte) byte { return byte(a[2].I) })
	}, types.Bytea, types.Int4, types.Int4)
	funcs.TextFamily.Function("get_bit", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if err := at(a[1].I, 8*int64(len(a[0].S))); err != nil {
			return types.Null, err
		}
		return types.NewInt(int64(a[0].S[a[1].I/8] >> (a[1].I % 8) & 1)), nil
	}, types.Bytea, types.Int8)
	funcs.TextFamily.Function("set_bit", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if err := at(a[1].I, 8*int64(len(a[0].S))); err != nil {
			return types.Null, err
		}
		if a[2].I != 0 && a[2].I != 1 {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "new bit must be 0 or 1")
		}
		return changed(env, a[0].S, a[1].I/8, func(c byte) byte {
			return c&^(1<<(a[1].I%8)) | byte(a[2].I)<<(a[1].I%8)
		})
	}, types.Bytea, types.Int8, types.Int4)
}

// overlayBytes replaces bytes, by default as many as the new bytes are.
func overlayBytes(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	s, with, from := a[0].S, a[1].S, a[2].I
	n := int64(len(with))
	if len(a) > 3 {
		n = a[3].I
	}
	switch {
	case from <= 0:
		return types.Null, sqlstate.New(sqlstate.SubstringError, "negative substring length not allowed")
	case from+n > math.MaxInt32:
		return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "integer out of range")
	}
	if err := funcs.FitsText(env, 2*len(s)+len(with)); err != nil {
		return types.Null, err
	}
	cut := func(i int64) int64 { return min(max(i, 0), int64(len(s))) }
	return types.Datum{K: types.KBytes, S: s[:cut(from-1)] + with + s[cut(from+n-1):]}, nil
}

// likeBytes is LIKE of bytes. Each byte is taken as the character of that number.
func likeBytes(env *exec.CallEnv, s, pattern string) (bool, error) {
	wide := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			b.WriteRune(rune(s[i]))
		}
		return b.String()
	}
	if err := env.Room(2 * int64(len(s)+len(pattern))); err != nil {
		return false, err
	}
	return like(env.State, wide(s), wide(pattern), '\\')
}
