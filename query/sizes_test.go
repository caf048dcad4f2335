package query_test

import (
	"encoding/json"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestSizes checks that a database is as large as its relations together, and as what is stored.
func TestSizes(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("sized")
	db.Put("a", `{"text":"some words"}`)
	db.Put("b", `{"text":"others"}`)
	db.AddView("by", "text", "", func(_ string, doc json.RawMessage, emit func(key, value string)) {
		emit(`"key"`, "1")
	})
	s.Create("other").Put("c", `{}`)
	stored, views, err := db.Sizes(t.Context())
	if err != nil || stored == 0 || len(views) != 1 {
		t.Fatal(stored, views, err)
	}
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/sized?default_query_exec_mode=simple_protocol")
	var docs, view, sum, whole, other, space int64
	if err := conn.QueryRow(t.Context(), `
		SELECT pg_total_relation_size('docs'), pg_table_size('by.text'),
		       (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind <> 'i')::int8,
		       pg_database_size('sized'), pg_database_size(oid), pg_tablespace_size('pg_default')
		FROM pg_database WHERE datname = 'other'`).Scan(&docs, &view, &sum, &whole, &other, &space); err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		if docs != stored || view != v || whole != docs+view || sum != whole || other == 0 ||
			space != whole+other {
			t.Errorf("docs %d, view %d, all relations %d, database %d, other %d, tablespace %d; stored %d, %v", docs,
				view, sum, whole, other, space, stored, views)
		}
	}
}
