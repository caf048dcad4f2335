package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"
)

// suggestible generates a statement over documents for which an index may help.
func suggestible() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		where := " WHERE " + strings.Join(rapid.SliceOfN(testWhere(), 1, 3).Draw(t, "conditions"), " AND ")
		member := func() string {
			return rapid.SampledFrom([]string{"doc->>'a'", "doc->>'b'", "doc->'b'", "doc #>> '{n,x}'", "doc->>'type'",
				"jsonb_typeof(doc->'a')", "left(doc->>'b', 1)"}).Draw(t, "member")
		}
		aggregate := rapid.SampledFrom([]string{"count(*)", "max(" + member() + "::text)", "count(DISTINCT " + member() + ")",
			"count(*) FILTER (WHERE doc->>'b' = 'a')", "string_agg(doc->>'a', ',' ORDER BY doc->>'a')"}).Draw(t, "aggregate")
		switch rapid.IntRange(0, 4).Draw(t, "statement") {
		case 0:
			key := member()
			return "SELECT " + key + ", " + aggregate + " FROM docs" + rapid.SampledFrom([]string{where, ""}).Draw(t, "where") +
				" GROUP BY " + key
		case 1:
			return "SELECT " + aggregate + " FROM docs" + where
		case 2, 3:
			return "SELECT id, " + member() + " FROM docs" + rapid.SampledFrom([]string{where, ""}).Draw(t, "where") +
				" ORDER BY " + rapid.SampledFrom([]string{"doc->>'a'", "doc->>'type'", "doc #>> '{n,x}'"}).Draw(t, "first") +
				rapid.SampledFrom([]string{"", " DESC", " DESC NULLS LAST", " NULLS FIRST"}).Draw(t, "direction") +
				", id LIMIT " + rapid.SampledFrom([]string{"1", "3", "100"}).Draw(t, "limit")
		}
		return "SELECT id FROM docs" + where
	})
}

// TestSuggestions creates the indexes that EXPLAIN suggests for random statements, one in each database: the statement
// uses it then, and returns the same rows.
func TestSuggestions(t *testing.T) {
	store := openedStore(t)
	addr := sqlOver(t, store)
	databases, suggested := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		name := fmt.Sprintf("db%d", databases)
		databases++
		put := created(t.Context(), rt, store, name)
		docs := rapid.SliceOfN(testDocument(), 1, 15).Draw(rt, "documents")
		for i, d := range docs {
			put(strings.TrimSuffix(fmt.Sprintf(`{"_id":"x%02d",%s`, i, d), ",") + "}")
		}
		conn, err := pgx.Connect(t.Context(), "postgres://root@"+addr+"/"+name+"?default_query_exec_mode=simple_protocol")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		answer := func(sql string) (rows []string, failed bool) {
			results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
			if err != nil {
				return nil, true
			}
			for _, row := range results[len(results)-1].Rows {
				rows = append(rows, strings.Join(oneSpelling(row), "|"))
			}
			return rows, false
		}
		sql := suggestible().Draw(rt, "sql")
		want, failed := answer(sql)
		request := ""
		plan, _ := answer("EXPLAIN " + sql)
		for _, line := range plan {
			if _, after, ok := strings.Cut(line, "Suggestion: "); ok {
				request = after
			}
		}
		if request == "" {
			return
		}
		suggested++
		if body, ok := strings.CutPrefix(request, "POST /{db}/_index "); ok {
			put(mangoDesign(rt, body))
		} else {
			put(strings.Replace(strings.TrimPrefix(request, "PUT /{db}/_design/NAME "), "{", `{"_id":"_design/s",`, 1))
		}
		_, _ = answer(sql) // builds the index
		text, _ := answer("EXPLAIN (COSTS OFF) " + sql)
		used := strings.Join(text, "\n")
		if !slices.ContainsFunc([]string{"Index: s.", "Reduce Read on s.", "Index Walk", "no key satisfies"},
			func(sign string) bool { return strings.Contains(used, sign) }) {
			rt.Fatalf("%s\ndoes not use %s:\n%s", sql, request, used)
		}
		got, failedToo := answer(sql)
		slices.Sort(got)
		slices.Sort(want)
		if failed != failedToo || !slices.Equal(got, want) {
			rt.Fatalf("%s\ngives %q, %v\nnot %q, %v, with\n%s\n%s", sql, got, failedToo, want, failed, request,
				strings.Join(docs, "\n"))
		}
	})
	t.Logf("%d of %d statements got a suggestion", suggested, databases)
	if suggested == 0 {
		t.Error("nothing was suggested")
	}
}

// mangoDesign returns the design document that POST /db/_index makes of a body.
func mangoDesign(t rapid.TB, body string) string {
	var index struct{ Index struct{ Fields []string } }
	if err := json.Unmarshal([]byte(body), &index); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	fields := make([]string, len(index.Index.Fields))
	for i, f := range index.Index.Fields {
		fields[i] = quotedJSON(f) + `:"asc"`
	}
	return `{"_id":"_design/s","language":"query","views":{"i":{"map":{"fields":{` + strings.Join(fields, ",") +
		`},"partial_filter_selector":{}},"reduce":"_count"}}}`
}
