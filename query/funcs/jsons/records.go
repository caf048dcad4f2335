package jsons

import (
	"errors"
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Record is a function that returns records whose columns the statement defines.
type Record struct {
	Name string
	Args []types.OID
	// Of returns the function for a list of columns.
	Of func(cols []exec.Column) *exec.TableFunc
}

// Records maps the names to these functions: json_to_record and its variants.
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
							return recordset(env, name, t, a[0], cols, nil)
						}
						row, err := recordOf(env, t, a[0], cols, nil)
						return [][]types.Datum{row}, err
					}}
			}}
			funcs.JsonFamily.Tables = append(funcs.JsonFamily.Tables, &exec.TableFunc{Name: name, Args: args})
			populate(prefix, t, set)
		}
	}
}

// populate adds json_populate_record and its variants. The first argument is null::record, or a record with as many
// fields, whose values are used where the object has none.
func populate(prefix string, t types.OID, set bool) {
	name := prefix + "_populate_record"
	if set {
		name += "set"
	}
	args := []types.OID{types.Record, t}
	Records[name] = &Record{Name: name, Args: args, Of: func(cols []exec.Column) *exec.TableFunc {
		return &exec.TableFunc{Name: name, Args: args, NullArgs: true,
			Columns: func([]types.OID) []exec.Column { return cols },
			Rows: func(env *exec.Env, _ []types.OID, a []types.Datum) ([][]types.Datum, error) {
				base, err := baseOf(a[0], cols)
				if err != nil {
					return nil, err
				}
				named := cols
				if base != nil { // the names are those of the record
					named = slices.Clone(cols)
					for i := range named {
						named[i].Name = types.FieldName(a[0].Array().Names, i)
					}
				}
				if set {
					return recordset(env, name, t, a[1], named, base)
				}
				row, err := recordOf(env, t, a[1], named, base)
				return [][]types.Datum{row}, err
			}}
	}}
}

// baseOf returns the values of a record for the columns; nil if the record is NULL.
func baseOf(record types.Datum, cols []exec.Column) ([]types.Datum, error) {
	if record.IsNull() {
		return nil, nil
	}
	a := record.Array()
	if len(a.Items) != len(cols) {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch,
			"function return row and query-specified return row do not match").
			WithDetail("Returned row contains %d attributes, but query expects %d.", len(a.Items), len(cols))
	}
	for i, c := range cols {
		if i < len(a.Types) && a.Types[i] != c.Type {
			return nil, sqlstate.New(sqlstate.DatatypeMismatch,
				"function return row and query-specified return row do not match").
				WithDetail("Returned type %s at ordinal position %d, but query expects %s.", types.NameOf(a.Types[i]),
					i+1,
					types.NameOf(c.Type))
		}
	}
	return a.Items, nil
}

func recordset(env *exec.Env, name string, t types.OID, d types.Datum, cols []exec.Column,
	base []types.Datum) ([][]types.Datum, error) {
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
		if row, err = recordOf(env, t, types.NewJSONText(v), cols, base); err == nil {
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

// recordOf converts an object to a row of columns. A missing member is taken from base, or is NULL without one.
func recordOf(env *exec.Env, t types.OID, d types.Datum, cols []exec.Column,
	base []types.Datum) ([]types.Datum, error) {
	row := make([]types.Datum, len(cols))
	copy(row, base)
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
		if row[i], err = valueOf(env, t, v, c.Type, c.Mod); err != nil {
			return nil, hinted(err, c.Name)
		}
	}
	return row, nil
}

// hinted adds to the error for a value that is no array where it is.
func hinted(err error, key string) error {
	var e *sqlstate.Error
	if errors.As(err, &e) && e.Message == noArray && e.Hint == "" {
		return e.WithHint(`See the value of key "%s".`, key)
	}
	return err
}

const noArray = "expected JSON array"

// valueOf converts a json or jsonb value to a type: through its text, except for arrays and json itself.
func valueOf(env *exec.Env, from types.OID, v string, typ types.OID, mod int32) (types.Datum, error) {
	kind := types.JSONKindOf(v)
	if kind == types.JSONNull {
		return types.Null, nil // also in a column of jsonb
	}
	if types.IsJSON(typ) {
		return types.NewJSONText(v), nil
	}
	if elem := types.ElemOf(typ); elem != 0 && kind != types.JSONString {
		if kind != types.JSONList {
			return types.Null, sqlstate.New(sqlstate.InvalidTextRepresentation, noArray)
		}
		var items []types.Datum
		var err error
		types.JSONElements(v, func(e string) bool {
			var d types.Datum
			d, err = valueOf(env, from, e, elem, mod)
			items = append(items, d)
			return err == nil
		})
		return types.NewArray(elem, items), err
	}
	text, _ := jsonText(from)(v)
	if tooLong(text, typ, mod) {
		return types.Null, sqlstate.New(sqlstate.StringTooLong, "value too long for type %s(%d)",
			types.NameOf(typ), mod-4)
	}
	d, err := exec.CastDatum(env, types.NewText(text), types.Unknown, typ, mod)
	return d, err
}

// tooLong reports whether a text has more than blanks after the characters that varchar(n) or char(n) may have.
func tooLong(text string, typ types.OID, mod int32) bool {
	if mod < 0 || typ != types.VarChar && typ != types.BPChar {
		return false
	}
	left := mod - 4
	for _, r := range text {
		if left--; left < 0 && r != ' ' {
			return true
		}
	}
	return false
}
