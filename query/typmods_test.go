package query_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// TestCatalog_typmods compares what the catalogue says about columns whose types have modifiers with a table of a live
// PostgreSQL 15.
func TestCatalog_typmods(t *testing.T) {
	kinds := []string{"interval year", "interval month", "interval day", "interval hour", "interval minute",
		"interval second", "interval second(3)", "interval day to second(2)", "interval hour to minute", "interval(4)",
		"interval year to month", "interval day to hour", "interval day to minute", "interval minute to second",
		"interval hour to second", "interval", "time(3)", "time", "timetz(2)", "timestamp(2)", "timestamp",
		"timestamptz(0)", "date", "numeric", "numeric(5)", "numeric(5,-2)", "numeric(3,6)", "varchar", "varchar(3)",
		"char", "char(4)", "bpchar", "int2", "int4", "int8", "float4", "float8", "text", "jsonb", "uuid", "bool",
		"bytea"}
	columns := map[string]string{}
	var list []string
	for i, k := range kinds {
		name := fmt.Sprintf("c%02d", i)
		columns[name] = k
		list = append(list, name+" "+k)
	}
	declared, err := json.Marshal(map[string]any{"mods": map[string]any{"columns": columns}})
	if err != nil {
		t.Fatal(err)
	}
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	if _, err := theirs.PgConn().Exec(t.Context(), "CREATE SCHEMA shop; CREATE TABLE shop.mods ("+
		strings.Join(list, ", ")+")").ReadAll(); err != nil {
		t.Fatal(err)
	}
	s := exectest.NewStore()
	s.Create("mods").Declared = map[string]string{"shop": string(declared)}
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/mods?default_query_exec_mode=simple_protocol")
	for _, sql := range []string{`
		SELECT column_name, data_type, character_maximum_length, character_octet_length, numeric_precision,
		       numeric_precision_radix, numeric_scale, datetime_precision, interval_type, interval_precision, udt_name
		FROM information_schema.columns WHERE table_schema = 'shop' AND column_name LIKE 'c__'`, `
		SELECT attname, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute
		WHERE attrelid = 'shop.mods'::regclass AND attnum > 0 AND attname LIKE 'c__'`} {
		got, names := rowsByKey(t.Context(), t, ours, sql)
		want, _ := rowsByKey(t.Context(), t, theirs, sql)
		if len(got) != len(kinds) || len(want) != len(kinds) {
			t.Errorf("%d and %d rows", len(got), len(want))
		}
		for key, row := range want {
			if !slices.Equal(got[key], row) {
				t.Errorf("%s %s\nhas  %s\nwant %s", columns[strings.Trim(key, `"`)], names, got[key], row)
			}
		}
	}
}
