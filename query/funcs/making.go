package funcs

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// maxText is how long a text may be that a function makes, whatever memory the statement has.
const maxText = 1 << 30

// FitsText takes memory for a text of n bytes, or fails if it must not be made.
func FitsText(env *exec.CallEnv, n int) error {
	if n > maxText {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "requested length too large")
	}
	return env.Making(int64(n))
}

// parts are functions that give a part of their argument, which keeps its text.
var parts = map[string]bool{
	"->": true, "#>": true, "jsonb_extract_path": true, "jsonb_path_query_first": true,
	"jsonb_path_query_first_tz": true,
}

// printing has what makes a jsonb print it as PostgreSQL does.
func printing(fn *exec.Func) {
	if fn.Ret != types.JSONB || parts[fn.Name] {
		return
	}
	eval := fn.Eval
	fn.Eval = func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		d, err := eval(env, a)
		if err != nil || d.IsNull() {
			return d, err
		}
		return PrintJSONB(env, d)
	}
}

func PrintJSONB(env *exec.CallEnv, d types.Datum) (types.Datum, error) {
	// A colon and a comma may get a space each, and a member has five bytes at least.
	if err := FitsText(env, len(d.S)*7/5); err != nil {
		return types.Null, err
	}
	s, err := types.PrintJSONB(d.S, env.Bytes)
	return types.NewJSONText(s), err
}

// Colon is what stands behind the names that functions write.
func Colon(t types.OID) string {
	if t == types.JSON {
		return " : "
	}
	return ": "
}
