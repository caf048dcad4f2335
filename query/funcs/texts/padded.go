package texts

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// Padded converts a char(n) to a text and keeps its trailing blanks, which a cast removes.
var Padded = &exec.Func{Name: "text", Args: []types.OID{types.BPChar}, Ret: types.Text,
	Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewText(types.TextOf(a[0], types.BPChar, nil)), nil
	}}

func init() {
	funcs.TextFamily.Function("octet_length", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(len(a[0].S)) + a[0].I), nil
	}, types.BPChar)
}
