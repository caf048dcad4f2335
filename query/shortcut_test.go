package query_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/query/exec/exectest"
)

// shortcutValues are the values of the rows of the property below: those of one list can be reduced exactly, or not.
var shortcutValues = [][]string{
	{`0`, `1`, `-7`, `2147483647`, `12`},
	{`1`, `0.1`, `0.2`, `2.50`, `1e3`, `9007199254740993`, `9223372036854775807`},
	{`1`, `"x"`, `null`, `"12"`, `[1]`, `{"sum":1}`},
}

var shortcutKeys = []string{`null`, `true`, `1`, `2.5`, `"a"`, `"b"`, `"B"`, `["a",1]`, `["a",2]`, `["b",1]`, `["b"]`,
	`[]`, `{"x":1}`, `[["a"],1]`}

// TestShortcut_Property compares aggregates and DISTINCT over views, which are read from an end, counted or reduced,
// with those over all rows.
func TestShortcut_Property(t *testing.T) {
	targets := []string{"count(*)", "count(value)", "min(key)", "max(key)", "sum((value)::numeric)",
		"sum(value::text::numeric)", "avg((value)::numeric)", "min(value::numeric)", "max(value::float8)",
		"sum(value::float8)", "avg(value::int)", "sum(value::int)", "max(value::bigint)", "count(DISTINCT key)",
		"count(DISTINCT key->>0)", "max(key->>0)", "min(key::text)", "count(DISTINCT value)", "sum((value #>> '{}')::int8)",
		"count(*) FILTER (WHERE key > '1')", "avg(value::float8)", "min(id)", "sum(value::real)"}
	conditions := []string{"", "key = '\"a\"'", "key >= '\"a\"'", "key->>0 = 'a'", "key->>0 IN ('a', 'b')",
		"key > '1' AND key <= '[\"b\"]'", "key IN ('1', '\"b\"')", "value::text <> '1'", "key->0 = '\"a\"' AND key->1 >= '2'",
		"id > 'd3'", "key = '\"none\"'"}
	groups := []string{"", "", "key", "key->>0", "key->0, key->>1", "value"}
	shortcuts := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := exectest.NewStore()
		db := s.Create("d")
		values := rapid.SampledFrom(shortcutValues).Draw(rt, "values")
		for i := range rapid.IntRange(0, 12).Draw(rt, "documents") {
			db.Put(fmt.Sprintf("d%02d", i), fmt.Sprintf(`{"k":%s,"v":%s}`,
				rapid.SampledFrom(shortcutKeys).Draw(rt, "key"), rapid.SampledFrom(values).Draw(rt, "value")))
		}
		db.AddView("by", "v", rapid.SampledFrom([]string{"", "_count", "_sum", "_stats"}).Draw(rt, "reduce"),
			corpusMember("k", "v"))
		ss := openSession(t, s, "d")
		var list []string
		for range rapid.IntRange(1, 3).Draw(rt, "targets") {
			list = append(list, rapid.SampledFrom(targets).Draw(rt, "target"))
		}
		where := rapid.SampledFrom(conditions).Draw(rt, "where")
		if where != "" {
			where = " WHERE " + where
		}
		group := rapid.SampledFrom(groups).Draw(rt, "group")
		var sql string
		switch {
		case rapid.IntRange(0, 4).Draw(rt, "distinct") == 0:
			sql = "SELECT DISTINCT " + rapid.SampledFrom([]string{"key", "key->>0", "key->0, key->1", "key, value"}).
				Draw(rt, "of") + " FROM %s" + where
		case group != "":
			sql = "SELECT " + group + ", " + strings.Join(list, ", ") + " FROM %s" + where + " GROUP BY " + group
		default:
			sql = "SELECT " + strings.Join(list, ", ") + " FROM %s" + where
		}
		db.TakeLog()
		got, err := run(t.Context(), ss, fmt.Sprintf(sql, "by.v"), 1000)
		for _, line := range db.TakeLog() {
			if !strings.HasPrefix(line, "view") || strings.Contains(line, "limit=1") {
				shortcuts++
			}
		}
		// OFFSET keeps the sub-query apart, so all rows are read.
		want, wantErr := run(t.Context(), ss, fmt.Sprintf(sql, "(SELECT * FROM by.v OFFSET 0) v"), 1000)
		slices.Sort(got)
		slices.Sort(want)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || !slices.Equal(got, want) {
			rt.Fatalf("%s\n got %q, %v\nwant %q, %v", sql, got, err, want, wantErr)
		}
	})
	if shortcuts == 0 {
		t.Error("no statement took a shortcut")
	}
}

// TestShortcut_Explain checks what EXPLAIN says about a reduction, and about one that turns out not to be exact.
func TestShortcut_Explain(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("d")
	db.Put("a", `{"k":1,"v":1}`)
	db.AddView("by", "v", "_stats", func(_ string, doc json.RawMessage, emit func(k, v string)) {
		emit("1", regexp.MustCompile(`"v":([^}]*)`).FindStringSubmatch(string(doc))[1])
	})
	ss := openSession(t, s, "d")
	explain := func() string {
		rows, err := run(t.Context(), ss, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+
			"SELECT count(*), avg(value::int) FROM by.v", 100)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(rows, "\n")
	}
	if got := explain(); !strings.Contains(got, "Reduce Read on by.v") ||
		!strings.Contains(got, "Reduction: _stats, number of rows") {
		t.Error(got)
	}
	db.Put("b", `{"k":1,"v":2.5}`)
	if got := explain(); !strings.Contains(got, "View Read on by.v") ||
		!strings.Contains(got, "Instead of: the view's reduction") {
		t.Error(got)
	}
}

// TestShortcut_ExplainSort checks that EXPLAIN ANALYZE shows the rows of a sort that has been closed before the end.
func TestShortcut_ExplainSort(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("d")
	for i := range 3 {
		db.Put(fmt.Sprint(i), fmt.Sprintf(`{"n":%d}`, i))
	}
	addCovering(db, "n")
	ss := openSession(t, s, "d")
	rows, err := run(t.Context(), ss, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT doc FROM docs "+
		"WHERE (doc->>'n')::float8 >= 0 ORDER BY (doc->>'n')::float8 LIMIT 2", 100)
	got := strings.Join(rows, "\n")
	if err != nil || strings.Count(got, "Sort (actual rows=2 loops=1)") != 2 || !strings.Contains(got, "Index: by.n") {
		t.Error(got, err)
	}
}

// TestShortcut_Count checks that the number of documents is that of the statement's snapshot and transaction.
func TestShortcut_Count(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("d")
	db.Put("a", `{}`)
	db.Put("_design/x", `{}`)
	ss := openSession(t, s, "d")
	for _, c := range []struct{ sql, want string }{
		{"SELECT count(*) FROM docs", "1"},
		{"SELECT count(*) FROM all_docs", "2"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*), max(id) FROM docs", "1|a"},
		{"SELECT count(*), max(id) FROM docs", "1|a"}, // another session has written
		{"COMMIT; SELECT count(*), max(id) FROM docs", "2|b"},
		{"BEGIN; INSERT INTO docs (id, doc) VALUES ('c', '{}'), ('d', '{}'); DELETE FROM docs WHERE id = 'a'", ""},
		{"SELECT count(*), count(id), min(id), max(id) FROM docs", "3|3|b|d"},
		{"SAVEPOINT s; DELETE FROM docs; SELECT count(*), max(id) FROM docs", "0|NULL"},
		{"ROLLBACK TO s; SELECT count(*) FROM docs", "3"},
		{"ROLLBACK; SELECT count(*), max(id) FROM docs", "2|b"},
	} {
		rows, err := run(t.Context(), ss, c.sql, 10)
		if got := strings.Join(rows, " "); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.sql, got, err, c.want)
		}
		if strings.HasPrefix(c.sql, "BEGIN ISO") {
			db.Put("b", `{}`)
		}
	}
}
