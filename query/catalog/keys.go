package catalog

import (
	"fmt"

	"github.com/divandb/divan/query/types"
)

// Primary keys in pg_index, pg_constraint and information_schema.
func init() {
	fillers["pg_catalog.pg_index"] = func(s *Snapshot, b *rows) {
		for _, k := range s.Keys {
			b.add(v{"indexrelid": k.Index, "indrelid": k.Table.OID, "indnatts": 1, "indnkeyatts": 1,
				"indisunique": true, "indisprimary": true,
				"indimmediate": true, "indisvalid": true, "indisready": true, "indislive": true,
				"indkey":       one(types.Int2, int64(k.Column)),
				"indcollation": one(types.Oid, 100), "indclass": one(types.Oid, 3126), "indoption": one(types.Int2, 0)})
		}
	}
	fillers["pg_catalog.pg_constraint"] = func(s *Snapshot, b *rows) {
		for _, k := range s.Keys {
			b.add(v{"oid": k.Constraint, "conname": k.Name, "connamespace": k.Table.Schema.OID, "contype": "p",
				"convalidated": true,
				"conrelid":     k.Table.OID, "conindid": k.Index, "confupdtype": " ", "confdeltype": " ",
				"confmatchtype": " ", "conislocal": true,
				"connoinherit": true, "conkey": types.NewArray(types.Int2,
					[]types.Datum{types.NewInt(int64(k.Column))})})
		}
	}
	fillers["pg_catalog.pg_indexes"] = func(s *Snapshot, b *rows) {
		for _, k := range s.Keys {
			b.add(v{"schemaname": k.Table.Schema.Name, "tablename": k.Table.Name, "indexname": k.Name,
				"indexdef": k.indexDefinition(s)})
		}
	}
	fillers["information_schema.table_constraints"] = func(s *Snapshot, b *rows) {
		for _, k := range s.Keys {
			b.add(v{"constraint_catalog": s.Database, "constraint_schema": k.Table.Schema.Name,
				"constraint_name": k.Name,
				"table_catalog":   s.Database, "table_schema": k.Table.Schema.Name, "table_name": k.Table.Name,
				"constraint_type": "PRIMARY KEY",
				"is_deferrable":   false, "initially_deferred": false, "enforced": true, "nulls_distinct": true})
		}
	}
	for _, name := range []string{"key_column_usage", "constraint_column_usage"} {
		fillers["information_schema."+name] = func(s *Snapshot, b *rows) {
			for _, k := range s.Keys {
				row := v{"constraint_catalog": s.Database, "constraint_schema": k.Table.Schema.Name,
					"constraint_name": k.Name,
					"table_catalog":   s.Database, "table_schema": k.Table.Schema.Name, "table_name": k.Table.Name,
					"column_name": k.column()}
				if name == "key_column_usage" {
					row["ordinal_position"] = 1
				}
				b.add(row)
			}
		}
	}
}

// one returns a vector of one number.
func one(elem types.OID, n int64) types.Datum {
	return types.NewVector(elem, []types.Datum{types.NewInt(n)})
}

func (k *Key) column() string { return k.Table.Columns[k.Column-1].Name }

func (k *Key) indexDefinition(s *Snapshot) string {
	return fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s.%s USING %s (%s)", s.quote(k.Name),
		s.quote(k.Table.Schema.Name),
		s.quote(k.Table.Name), s.quote("btree"), s.quote(k.column()))
}

// keyDefinitions adds the functions that return keys as SQL.
func keyDefinitions() {
	index := withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		for _, k := range s.Keys {
			if k.Index != a[0].I {
				continue
			}
			// With a column number, only the name of that column is returned.
			if len(a) > 1 && a[1].I > 0 {
				if a[1].I > 1 {
					return types.NewText(""), nil
				}
				return types.NewText(s.quote(k.column())), nil
			}
			return types.NewText(k.indexDefinition(s)), nil
		}
		return types.Null, nil
	})
	register("pg_get_indexdef", types.Text, index, types.Oid)
	register("pg_get_indexdef", types.Text, index, types.Oid, types.Int4, types.Bool)
	constraint := withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		for _, k := range s.Keys {
			if k.Constraint == a[0].I {
				return types.NewText("PRIMARY KEY (" + s.quote(k.column()) + ")"), nil
			}
		}
		return types.Null, nil
	})
	register("pg_get_constraintdef", types.Text, constraint, types.Oid)
	register("pg_get_constraintdef", types.Text, constraint, types.Oid, types.Bool)
}
