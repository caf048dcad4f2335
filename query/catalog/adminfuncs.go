package catalog

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Functions that administration tools call, such as pgAdmin when it shows a table.
func init() {
	// The functions that views of the catalogue are defined with in PostgreSQL can be called directly too.
	rowsOf("pg_show_all_settings", "pg_settings", "")
	rowsOf("pg_available_extensions", "pg_available_extensions", "installed_version")
	register("oidvectortypes", types.Text, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		var names []string
		for _, oid := range a[0].Array().Items {
			name, err := formatType(s, []types.Datum{oid, types.Null})
			if err != nil {
				return types.Null, err
			}
			names = append(names, name.S)
		}
		return types.NewText(strings.Join(names, ", ")), nil
	}), types.OidVector)
	register("pg_is_wal_replay_paused", types.Bool, func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
		return types.Null, sqlstate.New(sqlstate.ObjectNotInPrerequisite, "recovery is not in progress").
			WithHint("Recovery control functions can only be executed during recovery.")
	})
	// Client addresses are texts here.
	register("host", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		address, _, _ := strings.Cut(a[0].S, "/")
		return types.NewText(address), nil
	}, types.Text)
}

// rowsOf adds a function that returns the rows of a relation of pg_catalog, without one column.
func rowsOf(name, relation, without string) {
	columns := func() (cols []exec.Column, keep []int) {
		for i, c := range Relation("pg_catalog", relation).Columns() {
			if c.Name != without {
				cols, keep = append(cols, c), append(keep, i)
			}
		}
		return cols, keep
	}
	family.AddTable(&exec.TableFunc{Name: name,
		Columns: func([]types.OID) []exec.Column {
			cols, _ := columns()
			return slices.Clone(cols)
		},
		Rows: func(env *exec.Env, _ []types.OID, _ []types.Datum) ([][]types.Datum, error) {
			var all [][]types.Datum
			_, keep := columns()
			_, err := load()["pg_catalog."+relation].Rows(env.State)(func(row []types.Datum) error {
				kept := make([]types.Datum, len(keep))
				for j, at := range keep {
					kept[j] = row[at]
				}
				all = append(all, kept)
				return nil
			})
			return all, err
		}})
}
