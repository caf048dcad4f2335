package texts

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// nameSize is the size of a name in PostgreSQL in bytes; zeros follow its text.
const nameSize = 64

// NameByte is n[i] of a name. pg_dump uses it to read the first character of a type's name. Indexes begin at 0.
var NameByte = &exec.Func{Name: "name_item", Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	i := a[1].I
	switch {
	case i < 0 || i >= nameSize:
		return types.Null, nil
	case i >= int64(len(a[0].S)):
		return types.NewText(""), nil
	}
	return types.NewText(a[0].S[i : i+1]), nil
}}
