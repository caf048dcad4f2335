package texts

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// nameSize is how many bytes a name has in PostgreSQL, behind its text zeros.
const nameSize = 64

// NameByte is n[i] of a name, as pg_dump looks at the first character of a type's name. It counts from 0.
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
