package funcs

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Record is a function that returns records of the columns that the statement defines.
type Record struct {
	Name string
	Args []types.OID
	// Of is the function for some columns.
	Of func(cols []exec.Column) *exec.TableFunc
}

// Records are those functions by name: json_to_record and its kin.
var Records = map[string]*Record{}

func init() {
	for prefix, t := range map[string]types.OID{"json": types.JSON, "jsonb": types.JSONB} {
		for _, set := range []bool{false, true} {
			name := prefix + "_to_record"
			if set {
				name += "set"
			}
			args := []types.OID{t}
			Records[name] = &Record{Name: name, Args: args, Of: func(cols []exec.Column) *exec.TableFunc {
				return &exec.TableFunc{Name: name, Args: args, NullArgs: true,
					Columns: func([]types.OID) []exec.Column { return cols },
					Rows: func(env *exec.Env, _ []types.OID, a []types.Datum) ([][]types.Datum, error) {
						if set {
							return recordset(env, name, a[0], cols)
						}
						row, err := recordOf(env, a[0], cols)
						return [][]types.Datum{row}, err
					}}
			}}
			jsonFamily.Tables = append(jsonFamily.Tables, &exec.TableFunc{Name: name, Args: args})
		}
	}
}

func recordset(env *exec.Env, name string, d types.Datum, cols []exec.Column) ([][]types.Datum, error) {
	if d.IsNull() {
		return nil, nil
	}
	if types.JSONKindOf(d.S) != types.JSONList {
		return nil, sqlstate.New(sqlstate.InvalidParameterValue, "cannot call %s on a non-array", name)
	}
	var rows [][]types.Datum
	var held int64
	var err error
	types.JSONElements(d.S, func(v string) bool {
		if types.JSONKindOf(v) != types.JSONObject {
			err = sqlstate.New(sqlstate.InvalidParameterValue, "argument of %s must be an array of objects", name)
			return false
		}
		var row []types.Datum
		if row, err = recordOf(env, types.NewJSONText(v), cols); err == nil {
			n := int64(len(cols))*exec.DatumSize + 24
			if err = env.Hold(n); err == nil {
				held += n
			}
		}
		rows = append(rows, row)
		return err == nil
	})
	env.Release(held)
	return rows, err
}

// recordOf is an object as a row of columns. What it has not is NULL.
func recordOf(env *exec.Env, d types.Datum, cols []exec.Column) ([]types.Datum, error) {
	row := make([]types.Datum, len(cols))
	if d.IsNull() {
		return row, nil
	}
	switch types.JSONKindOf(d.S) {
	case types.JSONObject:
	case types.JSONList:
		return nil, sqlstate.New(sqlstate.InvalidParameterValue, "cannot call populate_composite on an array")
	default:
		return nil, sqlstate.New(sqlstate.InvalidParameterValue, "cannot call populate_composite on a scalar")
	}
	for i, c := range cols {
		if err := env.Bytes(len(d.S)); err != nil {
			return nil, err
		}
		v, ok := types.JSONField(d.S, c.Name)
		if !ok {
			continue
		}
		var err error
		if row[i], err = valueOf(env, v, c.Type, c.Mod); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// valueOf is a JSON value as a type: by way of its text, but for arrays and json itself.
func valueOf(env *exec.Env, v string, typ types.OID, mod int32) (types.Datum, error) {
	kind := types.JSONKindOf(v)
	if types.IsJSON(typ) {
		return types.NewJSONText(v), nil
	}
	if kind == types.JSONNull {
		return types.Null, nil
	}
	if elem := types.ElemOf(typ); elem != 0 && kind != types.JSONString {
		if kind != types.JSONList {
			return types.Null, sqlstate.New(sqlstate.InvalidTextRepresentation, "expected JSON array")
		}
		var items []types.Datum
		var err error
		types.JSONElements(v, func(e string) bool {
			var d types.Datum
			d, err = valueOf(env, e, elem, -1)
			items = append(items, d)
			return err == nil
		})
		return types.NewArray(elem, items), err
	}
	text, _ := types.JSONText(v)
	d, err := exec.CastDatum(env, types.NewText(text), types.Unknown, typ, mod)
	return d, err
}
