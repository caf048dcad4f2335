package funcs

import (
	mathbits "math/bits"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Parts of binary strings (PostgreSQL 15, section 9.5).
func init() {
	part := func(s string, start, n int64, limited bool) (types.Datum, error) {
		if limited && n < 0 {
			return types.Null, sqlstate.New("22011", "negative substring length not allowed")
		}
		size := int64(len(s))
		end := size + 1
		if limited && n <= size {
			end = min(start+n, end)
		}
		start = min(max(start, 1), size+1)
		return types.NewBytes([]byte(s[start-1 : max(end, start)-1])), nil
	}
	textFamily.operator("||", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if err := fitsText(env, len(a[0].S)+len(a[1].S)); err != nil {
			return types.Null, err
		}
		return types.Datum{K: types.KBytes, S: a[0].S + a[1].S}, nil
	}, types.Bytea, types.Bytea)
	for _, name := range []string{"substr", "substring"} {
		textFamily.function(name, types.Bytea, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return part(a[0].S, a[1].I, 0, false)
		}, types.Bytea, types.Int4)
		textFamily.function(name, types.Bytea, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return part(a[0].S, a[1].I, a[2].I, true)
		}, types.Bytea, types.Int4, types.Int4)
	}
	textFamily.function("position", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(strings.Index(a[0].S, a[1].S)) + 1), nil
	}, types.Bytea, types.Bytea)
	textFamily.function("set_byte", types.Bytea, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[1].I < 0 || a[1].I >= int64(len(a[0].S)) {
			return types.Null, sqlstate.New("2202E", "index %d out of valid range, 0..%d", a[1].I, len(a[0].S)-1)
		}
		if err := fitsText(env, len(a[0].S)); err != nil {
			return types.Null, err
		}
		out := []byte(a[0].S)
		out[a[1].I] = byte(a[2].I)
		return types.NewBytes(out), nil
	}, types.Bytea, types.Int4, types.Int4)
	textFamily.function("bit_count", types.Int8, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n := 0
		for i := range len(a[0].S) {
			n += mathbits.OnesCount8(a[0].S[i])
		}
		return types.NewInt(int64(n)), env.Bytes(len(a[0].S))
	}, types.Bytea)
}
