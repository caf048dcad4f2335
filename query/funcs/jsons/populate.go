package jsons

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// json_populate_record and its variants in expressions, where the record itself tells the fields.

func init() {
	for prefix, t := range map[string]types.OID{"json": types.JSON, "jsonb": types.JSONB} {
		name := prefix + "_populate_record"
		funcs.JsonFamily.Function(name, types.Record, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			cols, err := fieldsOf(name, a[0])
			if err != nil {
				return types.Null, err
			}
			row, err := recordOf(env.Env, t, a[1], cols, a[0].Array().Items)
			return recordLike(a[0], row), err
		}, types.Record, t).NullArgs = true
		set := name + "set"
		funcs.JsonFamily.AddTable(&exec.TableFunc{Name: set, Args: []types.OID{types.Record, t}, NullArgs: true,
			Columns: func([]types.OID) []exec.Column { return []exec.Column{{Name: set, Type: types.Record, Mod: -1}} },
			Rows: func(env *exec.Env, _ []types.OID, a []types.Datum) ([][]types.Datum, error) {
				cols, err := fieldsOf(set, a[0])
				if err != nil {
					return nil, err
				}
				rows, err := recordset(env, set, t, a[1], cols, a[0].Array().Items)
				for i := range rows {
					rows[i] = []types.Datum{recordLike(a[0], rows[i])}
				}
				return rows, err
			}})
	}
}

// NoFields returns the error for a call of a function whose record has no known fields.
func NoFields(name string) *sqlstate.Error {
	return sqlstate.New(sqlstate.FeatureNotSupported, "could not determine row type for result of %s", name).
		WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column " +
			"definition list.")
}

// fieldsOf returns the fields of a record.
func fieldsOf(name string, record types.Datum) ([]exec.Column, error) {
	if record.IsNull() {
		return nil, NoFields(name)
	}
	a := record.Array()
	cols := make([]exec.Column, len(a.Items))
	for i := range cols {
		cols[i] = exec.Column{Name: types.FieldName(a.Names, i), Type: types.Text, Mod: -1}
		if i < len(a.Types) && a.Types[i] != types.Unknown {
			cols[i].Type = a.Types[i]
		}
	}
	return cols, nil
}

// recordLike returns a record with the fields of another one.
func recordLike(record types.Datum, values []types.Datum) types.Datum {
	a := record.Array()
	return types.NewRecord(a.Types, a.Names, values)
}
