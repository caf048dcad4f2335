package funcs

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// maxText is the length limit of a text that a function makes, independent of the statement's memory.
const maxText = 1 << 30

// FitsText reserves memory for a text of n bytes, or returns an error.
func FitsText(env *exec.CallEnv, n int) error {
	if n > maxText {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "requested length too large")
	}
	return env.Making(int64(n))
}

// parts lists the functions that return a part of their argument, whose text must not change.
var parts = map[string]bool{
	"->": true, "#>": true, "jsonb_extract_path": true, "jsonb_path_query_first": true,
	"jsonb_path_query_first_tz": true,
}

// printing makes a function that returns a computed jsonb print it as PostgreSQL does.
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
	// A colon and a comma may each get a space; a member has at least five bytes.
	if err := FitsText(env, len(d.S)*7/5); err != nil {
		return types.Null, err
	}
	s, err := types.PrintJSONB(d.S, env.Bytes)
	return types.NewJSONText(s), err
}

// Colon returns the separator after the names of members.
func Colon(t types.OID) string {
	if t == types.JSON {
		return " : "
	}
	return ": "
}

// JSONKey returns the name of a member, with quotes, for a value that is not NULL. Its text is that of the value as
// JSON.
func JSONKey(env *exec.Env, d types.Datum, typ types.OID) ([]byte, error) {
	switch d.K {
	case types.KArray, types.KRecord, types.KJSON:
		return nil, sqlstate.New(sqlstate.InvalidParameterValue,
			"key value must be scalar, not array, composite, or json")
	}
	if err := env.Room(2 * types.JSONSize(d)); err != nil {
		return nil, err
	}
	raw, err := types.ToJSON(nil, d, typ, types.JSON, env.Types)
	if err == nil && raw[0] != '"' {
		raw = append(append([]byte{'"'}, raw...), '"')
	}
	return raw, err
}
