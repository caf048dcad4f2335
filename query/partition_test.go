package query_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/types"
)

// A view of a partitioned design document is in key order only within each partition. It is read in the partition that
// divan.partition names, or in all of them in turn; queries that need an order sort the rows.
func TestViews_Partitioned(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("db")
	for id, n := range map[string]string{"a:1": "3", "a:2": "1", "b:1": "2", "c:1": "1"} {
		db.Put(id, `{"n":`+n+`}`)
	}
	db.AddView("own", "n", "_sum", func(_ string, doc json.RawMessage, emit func(key, value string)) {
		n, _ := types.JSONField(string(doc), "n")
		emit(n, n)
	})
	db.PartitionViews("own")
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/db?default_query_exec_mode=simple_protocol")
	read := func(sql string) string {
		t.Helper()
		results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			return code(err)
		}
		var out []string
		for _, row := range results[len(results)-1].Rows {
			var fields []string
			for _, f := range row {
				fields = append(fields, string(f))
			}
			out = append(out, strings.Join(fields, "|"))
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ sql, want string }{
		{`SELECT id FROM own.n`, "a:2 a:1 b:1 c:1"},
		{`SELECT id FROM own.n ORDER BY key, id`, "a:2 c:1 b:1 a:1"},
		{`SELECT id FROM own.n ORDER BY key DESC LIMIT 2`, "a:1 b:1"},
		{`SELECT id FROM own.n WHERE key > '1' ORDER BY key`, "b:1 a:1"},
		{`SELECT id FROM own.n WHERE key > '1' AND key < '3'`, "b:1"},
		{`SELECT id FROM own.n LIMIT 2 OFFSET 1`, "a:1 b:1"},
		{`SELECT key, sum(value), count(*) FROM own.n GROUP BY key ORDER BY key`, "1|2|2 2|2|1 3|3|1"},
		{`SELECT sum(value) FROM own.n`, "7"},
		{`SELECT max(key) FROM own.n`, "3"},
		{`EXPLAIN (COSTS OFF) SELECT id FROM own.n`, "View Read on own.n   Partition: each, in the order of their names"},
		{`SET divan.partition = 'a'; SELECT id FROM own.n ORDER BY key`, "a:2 a:1"},
		{`SELECT sum(value) FROM own.n`, "4"},
		{`EXPLAIN (COSTS OFF) SELECT id FROM own.n ORDER BY key`, `View Read on own.n   Partition: "a"`},
		{`RESET divan.partition; SELECT count(*) FROM own.n`, "4"},
	} {
		if got := read(c.sql); got != c.want {
			t.Errorf("%s: %s, not %s", c.sql, got, c.want)
		}
	}
}
