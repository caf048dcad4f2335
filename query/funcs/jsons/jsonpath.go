package jsons

import (
	"errors"
	"sync"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/templates"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/jsonpath"
	"github.com/divandb/divan/query/jsonpath/run"
	"github.com/divandb/divan/query/regex"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// SQL/JSON path expressions (PostgreSQL 15, sections 9.16.1 and 9.16.2).

// paths caches recently parsed paths, because a filter uses the same path for every row.
var paths struct {
	sync.Mutex
	byText map[string]*jsonpath.Path
}

const maxPaths = 256

func pathOf(text string) (*jsonpath.Path, error) {
	paths.Lock()
	p := paths.byText[text]
	paths.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		return nil, err
	}
	paths.Lock()
	defer paths.Unlock()
	if paths.byText == nil || len(paths.byText) >= maxPaths {
		paths.byText = map[string]*jsonpath.Path{}
	}
	paths.byText[text] = p
	return p, nil
}

// pathCall is a call of one of the functions.
type pathCall struct {
	run    *run.Run
	silent bool
}

// newPathCall reads the arguments: target, path, variables, silent.
func newPathCall(st *exec.State, a []types.Datum, zone bool) (*pathCall, error) {
	p, err := pathOf(a[1].S)
	if err != nil {
		return nil, err
	}
	c := &pathCall{run: &run.Run{Path: p, Root: a[0].S, Zone: zone, Env: st.Types, Step: st.Bytes,
		Match: func(pattern string, flags regex.Flags, text string) (bool, error) {
			re, err := texts.Compile(st, pattern, flags)
			if err != nil {
				return false, err
			}
			return re.Match(st, text)
		},
		Datetime: func(text string, template *string) (run.Moment, error) { return readDatetime(st, text, template) }}}
	if len(a) > 2 {
		if types.JSONKindOf(a[2].S) != types.JSONObject {
			return nil, sqlstate.New(sqlstate.InvalidParameterValue, "\"vars\" argument is not an object").
				WithDetail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.")
		}
		c.run.Vars = a[2].S
	}
	c.silent = len(a) > 3 && a[3].True()
	return c, nil
}

// readDatetime is .datetime().
func readDatetime(st *exec.State, text string, template *string) (run.Moment, error) {
	if template == nil {
		d, typ, zone, ok := templates.ReadISO(text, st.Types)
		if !ok {
			err := sqlstate.New(sqlstate.InvalidJSONDatetime, "datetime format is not recognized: \"%s\"", text)
			return run.Moment{}, run.Suppressed(
				err.WithHint("Use a datetime template argument to specify the input data format."))
		}
		return run.Moment{Value: d, Type: typ, Zone: zone}, nil
	}
	t, err := templates.NewStandard(*template)
	if err != nil {
		return run.Moment{}, err
	}
	d, typ, zone, err := t.Read(text, st.Types)
	var e *sqlstate.Error
	if errors.As(err, &e) && e.Code != sqlstate.ProgramLimitExceeded {
		err = run.Suppressed(e)
	}
	return run.Moment{Value: d, Type: typ, Zone: zone}, err
}

// quiet drops the errors that the silent argument suppresses.
func (c *pathCall) quiet(err error) error {
	if c.silent && run.Hidden(err) {
		return nil
	}
	return err
}

func (c *pathCall) exists() (types.Datum, error) {
	found, err := c.run.Exists()
	if err != nil {
		return types.Null, c.quiet(err)
	}
	return types.NewBool(found), nil
}

func (c *pathCall) match() (types.Datum, error) {
	value, known, err := c.run.Truth()
	if err != nil || !known {
		return types.Null, c.quiet(err)
	}
	return types.NewBool(value), nil
}

// items returns the texts of at most most results of the path.
func (c *pathCall) items(st *exec.State, most int) ([]string, error) {
	var out []string
	var held int64
	err := c.run.Query(func(it run.Item) error {
		text, err := it.JSON(st.Types)
		if err != nil {
			return err
		}
		n := int64(len(text)) + exec.DatumSize
		if err := st.Hold(n); err != nil {
			return err
		}
		held += n
		out = append(out, text)
		return nil
	})
	st.Release(held)
	if err = c.quiet(err); err != nil {
		return nil, err
	}
	return out[:min(len(out), most)], nil
}

const allItems = 1 << 30

func (c *pathCall) array(env *exec.CallEnv) (types.Datum, error) {
	list, err := c.items(env.State, allItems)
	if err != nil {
		return types.Null, err
	}
	n := 2
	for _, s := range list {
		n += len(s) + 2
	}
	if err := funcs.FitsText(env, n); err != nil {
		return types.Null, err
	}
	out := append(make([]byte, 0, n), '[')
	for i, s := range list {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(out, s...)
	}
	return types.NewJSON(append(out, ']')), nil
}

// The functions also accept named arguments.
var (
	pathNames    = []string{"target", "path", "vars", "silent"}
	pathDefaults = []types.Datum{types.NewJSONText("{}"), types.NewBool(false)}
)

func init() {
	forms := [][]types.OID{
		{types.JSONB, types.JSONPathType}, {types.JSONB, types.JSONPathType, types.JSONB},
		{types.JSONB, types.JSONPathType, types.JSONB, types.Bool},
	}
	scalars := map[string]struct {
		ret types.OID
		f   func(c *pathCall, env *exec.CallEnv) (types.Datum, error)
	}{
		"jsonb_path_exists": {
			types.Bool,
			func(c *pathCall, _ *exec.CallEnv) (types.Datum, error) { return c.exists() },
		},
		"jsonb_path_match": {
			types.Bool,
			func(c *pathCall, _ *exec.CallEnv) (types.Datum, error) { return c.match() },
		},
		"jsonb_path_query_array": {types.JSONB, (*pathCall).array},
		"jsonb_path_query_first": {types.JSONB, func(c *pathCall, env *exec.CallEnv) (types.Datum, error) {
			list, err := c.items(env.State, 1)
			if err != nil || len(list) == 0 {
				return types.Null, err
			}
			return types.NewJSONText(list[0]), nil
		}},
	}
	for _, zone := range []bool{false, true} {
		suffix := ""
		if zone {
			suffix = "_tz"
		}
		for name, s := range scalars {
			for _, args := range forms {
				f := funcs.JsonFamily.Function(
					name+suffix,
					s.ret,
					func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
						c, err := newPathCall(env.State, a, zone)
						if err != nil {
							return types.Null, err
						}
						return s.f(c, env)
					},
					args...)
				if zone {
					f.Volatility = exec.Stable
				}
				if len(args) == len(pathNames) {
					f.Names, f.Defaults = pathNames, pathDefaults
				}
			}
		}
		name := "jsonb_path_query" + suffix
		for _, args := range forms {
			var names []string
			if len(args) == len(pathNames) {
				names = pathNames
			}
			funcs.JsonFamily.AddTable(&exec.TableFunc{Name: name, Args: args, Names: names, Defaults: pathDefaults,
				Columns: func([]types.OID) []exec.Column {
					return []exec.Column{{Name: name, Type: types.JSONB, Mod: -1}}
				},
				Rows: func(env *exec.Env, _ []types.OID, a []types.Datum) ([][]types.Datum, error) {
					c, err := newPathCall(env.State, a, zone)
					if err != nil {
						return nil, err
					}
					list, err := c.items(env.State, allItems)
					rows := make([][]types.Datum, len(list))
					for i, s := range list {
						rows[i] = []types.Datum{types.NewJSONText(s)}
					}
					return rows, err
				}})
		}
	}
	for op, f := range map[string]func(c *pathCall) (types.Datum, error){"@?": (*pathCall).exists,
		"@@": (*pathCall).match} {
		funcs.JsonFamily.Operator(op, types.Bool, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			c, err := newPathCall(env.State, a, false)
			if err != nil {
				return types.Null, err
			}
			c.silent = true
			return f(c)
		}, types.JSONB, types.JSONPathType)
	}
}
