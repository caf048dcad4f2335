package query_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query/exec/exectest"
)

// coveringViews are views of all documents, or of cities only, by some members.
var coveringViews = map[string]struct {
	shape  rowshape.Shape
	reduce string
}{
	"country": {shapeOf(true, false, false, "n", "country"), "_stats"},
	"n":       {shapeOf(true, false, false, "n", "n"), "_stats"},
	"cities":  {shapeOf(true, true, true, "n", "country", "n"), "_stats"},
	"sums":    {shapeOf(true, true, false, "n", "n"), "_sum"},
	"names":   {shapeOf(true, true, true, "", "n", "country", "name"), ""},
	"mango":   {shapeOf(false, true, false, "", "country", "n"), "_count"},
	// Those of walk_test.go.
	"at":        {shapeOf(true, false, false, "", "at"), ""},
	"typeat":    {shapeOf(true, true, false, "", "type", "at"), ""},
	"attype":    {shapeOf(true, true, false, "type", "at", "type"), ""},
	"zattype":   {shapeOf(true, true, false, "", "at", "type"), ""},
	"mangoat":   {shapeOf(false, true, false, "", "at"), ""},
	"mangotype": {shapeOf(false, true, false, "", "type", "at"), ""},
}

// shapeOf is the shape of a view whose key has some members, that of JavaScript or of a Mango index.
func shapeOf(js, array, cities bool, value string, names ...string) (s rowshape.Shape) {
	s.AsJavaScript, s.Array = js, array
	for _, name := range names {
		s.Key = append(s.Key, rowshape.Value{Path: []string{name}})
		if !js {
			s.Cond = and(s.Cond, rowshape.Expr{Op: rowshape.Exists, Path: []string{name}})
		}
	}
	if value != "" {
		s.Value = rowshape.Value{Path: []string{value}}
	}
	if cities {
		s.Cond = and(s.Cond, rowshape.Expr{Op: rowshape.Same, Args: []rowshape.Expr{
			{Op: rowshape.Constant, JSON: `"city"`}, {Op: rowshape.Member, Path: []string{"type"}}}})
	}
	return s
}

func and(a *rowshape.Expr, b rowshape.Expr) *rowshape.Expr {
	if a == nil {
		return &b
	}
	return &rowshape.Expr{Op: rowshape.And, Args: []rowshape.Expr{*a, b}}
}

// addCovering adds a view whose function does what its shape says.
func addCovering(db *exectest.DB, name string) {
	v := coveringViews[name]
	cities := v.shape.AsJavaScript && v.shape.Cond != nil
	db.AddShaped("by", name, v.reduce, &v.shape, func(_ string, doc json.RawMessage, emit func(k, v string)) {
		var raw map[string]json.RawMessage
		if json.Unmarshal(doc, &raw) != nil || cities && string(raw["type"]) != `"city"` {
			return
		}
		text := func(value rowshape.Value) string {
			if value.Path == nil {
				return "null"
			}
			text := raw[value.Path[0]]
			switch {
			case v.shape.AsJavaScript && text == nil:
				return "null"
			case v.shape.AsJavaScript:
				return javaScript(text)
			}
			return string(text)
		}
		var parts []string
		for _, part := range v.shape.Key {
			if parts = append(parts, text(part)); parts[len(parts)-1] == "" {
				return // Mango indexes only documents with all members
			}
		}
		key := parts[0]
		if v.shape.Array {
			key = "[" + strings.Join(parts, ",") + "]"
		}
		emit(key, text(v.shape.Value))
	})
}

// javaScript writes a JSON value as JavaScript does.
func javaScript(text json.RawMessage) string {
	if f, err := strconv.ParseFloat(string(text), 64); err != nil && math.IsInf(f, 0) {
		return "null"
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		panic(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// spelled writes characters that a document may escape in JSON as a view does.
var spelled = strings.NewReplacer(`\u200b`, "\u200b", `\u0301`, "\u0301")

// TestCovering_Property compares queries over documents that are answered by the rows and reductions of views with the
// same ones over all documents.
func TestCovering_Property(t *testing.T) {
	countries := []string{`"NO"`, `"SE"`, `"é"`, `"e\u0301"`, `"no"`, `"12"`, `""`, `"NO\u200b"`, `"a\u0001"`, `null`,
		`true`}
	plain := []string{`"NO"`, `"SE"`, `"é"`, `"no"`, `"12"`, `""`, `null`, `true`, `"NO"`, `"SE"`, `1e400`}
	odd := []string{`1`, `1.0`, `2.50`, `[1]`, `{"b":1.0,"a":2}`, `12345678901234567890`}
	numbers := [][]string{{`0`, `1`, `2`, `-3`, `2147483647`, `12`, `null`}, {`1`, `0.5`, `2.5`, `-1e2`, `3`},
		{`1`, `"7"`, `"x"`, `null`, `1.50`, `9007199254740993`, `[1]`}}
	where := []string{"", "", "doc->>'type' = 'city'", "doc->>'type' = 'city'",
		"doc->>'type' = 'city' AND doc->>'country' = 'NO'", "doc->>'country' IN ('NO', '12')",
		"doc->>'type' = 'city' AND doc->>'country' > 'M'", "doc->'country' IS NOT NULL AND doc->'n' IS NOT NULL",
		"(doc->>'n')::float8 > 0",
		"(doc->>'n')::numeric(5,1) = 2.5", "(doc->>'n')::numeric(5,0) BETWEEN 0.5 AND 2",
		"(doc->>'country')::varchar(2) = 'NO'",
		"(doc->>'country')::varchar(1) >= 'N' AND (doc->>'country')::varchar(1) <= 'S'",
		"(doc->>'country')::varchar(1) LIKE 'N%'", "(doc->>'n')::varchar(1) = '2'",
		"doc->>'country' = 'NO' AND doc->>'n' = '1'", "id > 'd03'", "doc->>'name' = 'a'",
		"id IN (SELECT e.id FROM docs e WHERE e.doc->>'n' = '1')",
		"EXISTS (SELECT FROM docs e WHERE e.id = docs.id AND e.doc->>'n' = '1')"}
	aggregates := []string{"count(*)", "sum((doc->>'n')::int)", "max((doc->>'n')::float8)", "avg((doc->>'n')::bigint)",
		"min((doc->>'n')::numeric)", "sum((doc->>'n')::numeric)", "avg((doc->>'n')::float8)", "count(doc->>'n')",
		"count(DISTINCT doc->>'country')", "max(doc->>'country')", "string_agg(id, ',' ORDER BY id)", "max(doc->>'name')",
		"count(*) FILTER (WHERE doc->>'n' = '1')", "sum((doc->'n')::int)", "count(doc->'n')"}
	groups := []string{"", "doc->>'country'", "doc->>'country'", "(doc->>'n')::int", "doc->>'n'", "doc->'country'",
		"doc->>'type', doc->>'country'", "lower(doc->>'country'), (doc->>'n')::float8", "doc->>'name'"}
	orders := []string{"doc->>'country'", "doc->>'country' DESC", "(doc->>'n')::float8 DESC NULLS LAST, doc->>'country'",
		"doc->>'n' NULLS FIRST, id DESC", "(doc->>'n')::int", "doc->'n'", "lower(doc->>'country'), doc->>'name'"}
	views, reductions := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, of []string) string { return rapid.SampledFrom(of).Draw(rt, name) }
		s := exectest.NewStore()
		db := s.Create("d")
		values, some := rapid.SampledFrom(numbers).Draw(rt, "numbers"), countries
		switch rapid.IntRange(0, 6).Draw(rt, "odd") {
		case 0, 1:
			some = append(slices.Clone(countries), odd...)
		case 2, 3, 4:
			some = plain
		}
		for i := range rapid.IntRange(0, 10).Draw(rt, "documents") {
			var parts []string
			for _, m := range []struct {
				name string
				of   []string
			}{{"type", []string{`"city"`, `"city"`, `"x"`, `1`}}, {"country", some}, {"n", values},
				{"name", []string{`"a"`, `"b"`}}} {
				if rapid.IntRange(0, 9).Draw(rt, "has") > 0 {
					parts = append(parts, fmt.Sprintf("%q:%s", m.name, pick(m.name, m.of)))
				}
			}
			db.Put(fmt.Sprintf("d%02d", i), "{"+strings.Join(parts, ",")+"}")
		}
		names := []string{"country", "n", "cities", "sums", "names", "mango"}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID[string]).Draw(rt, "views") {
			addCovering(db, name)
		}
		ss := openSession(t, s, "d")
		where, aggregates, groups := where, aggregates, groups
		if rapid.IntRange(0, 2).Draw(rt, "reducible") == 0 {
			where, groups = where[:4], []string{"", "(doc->>'n')::int", "(doc->>'n')::bigint % 2"}
			aggregates = []string{"count(*)", "sum((doc->>'n')::int)", "avg((doc->>'n')::bigint)", "max((doc->>'n')::float8)"}
		}
		cond := pick("where", where)
		if cond != "" {
			cond = " WHERE " + cond
		}
		var sql string
		ordered := rapid.IntRange(0, 2).Draw(rt, "ordered") == 0
		if ordered {
			// Without the id, equal rows have no order.
			sql = fmt.Sprintf("SELECT %s FROM docs%s ORDER BY %s, id LIMIT %d OFFSET %d",
				pick("target", []string{"doc", "id", "rev, doc->>'name'", "doc->>'country'"}), cond, pick("order", orders),
				rapid.IntRange(0, 4).Draw(rt, "limit"), rapid.IntRange(0, 2).Draw(rt, "offset"))
		} else if rapid.IntRange(0, 3).Draw(rt, "distinct") == 0 {
			sql = "SELECT DISTINCT " + pick("group", groups[1:]) + " FROM docs" + cond
		} else {
			list := pick("aggregate", aggregates) + ", " + pick("aggregate", aggregates)
			group := pick("group", groups)
			if sql = "SELECT " + list + " FROM docs" + cond; group != "" {
				by := rapid.SampledFrom([]string{"%s", "%s", "%s", "CUBE (%s)", "ROLLUP (%s)",
					"GROUPING SETS ((%s), (), ())"}).Draw(rt, "sets")
				sql = "SELECT " + group + ", " + list + " FROM docs" + cond + " GROUP BY " + fmt.Sprintf(by, group)
			}
		}
		db.TakeLog()
		got, err := run(t.Context(), ss, sql, 1000)
		switch log := strings.Join(db.TakeLog(), ";"); {
		case strings.Contains(log, "all_docs ["):
		case strings.HasPrefix(log, "view"):
			views++
		case strings.HasPrefix(log, "count by") || strings.HasPrefix(log, "reduce"):
			reductions++
		}
		want, wantErr := run(t.Context(), ss, "SET divan.use_indexes = off; "+sql, 1000)
		for _, rows := range [][]string{got, want} {
			for i := range rows {
				rows[i] = spelled.Replace(rows[i])
			}
			if !ordered {
				slices.Sort(rows)
			}
		}
		if wantErr != nil {
			return // a view may hide that a value cannot be cast, or meet another one first
		}
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%s\n got %q, %v\nwant %q, %v", sql, got, err, want, wantErr)
		}
	})
	if views == 0 || reductions == 0 && !testing.Short() { // which tries few
		t.Errorf("%d statements were answered by rows of views, %d by reductions", views, reductions)
	}
}

// TestCovering_Groups checks when groups of texts are read as groups of the keys of a view, not as rows: if the keys
// tell strings apart, and there are not too many groups.
func TestCovering_Groups(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	db := s.Create("d")
	for i := range 600 {
		db.Put(fmt.Sprintf("d%03d", i), fmt.Sprintf(`{"type":"city","country":"C%d","n":%d}`, i, i%3))
	}
	addCovering(db, "country")
	ss := openSession(t, s, "d")
	reads := func(sql, want string, rows int) {
		t.Helper()
		db.TakeLog()
		got, err := run(t.Context(), ss, sql, 1000)
		log := strings.Join(db.TakeLog(), "; ")
		if err != nil || len(got) != rows || !strings.Contains(log, want) || strings.Contains(log, "all_docs [") {
			t.Errorf("%s: %d rows, %v\n got %s\nwant %s", sql, len(got), err, log, want)
		}
	}
	const groups = "SELECT doc->>'country', count(*) FROM docs GROUP BY 1"
	db.ViewRows = 100_000
	reads(groups, "count by/country [,] keys=[] level=-1", 600)
	reads("SELECT doc->>'country', count(*) FROM docs GROUP BY CUBE (1)", "count by/country [,] keys=[] level=-1", 601)
	reads("SELECT lower(doc->>'country'), grouping(lower(doc->>'country')), sum((doc->>'n')::int) FROM docs "+
		"WHERE doc->>'country' IN ('C1','C2','x') GROUP BY ROLLUP (1)", `reduce by/country ["C1","C1"]`, 3)
	reads("SELECT doc->>'country', string_agg(id, ',') FROM docs GROUP BY GROUPING SETS (1, ())", "view by/country", 601)
	reads("SELECT DISTINCT doc->>'country' FROM docs ORDER BY 1 LIMIT 3", "count by/country", 3)
	reads("SELECT count(DISTINCT doc->>'country') FROM docs WHERE doc->>'country' >= 'C5' AND doc->>'country' < 'C6'",
		`count by/country ["C5","C6"]`, 1)
	reads("SELECT doc->>'country', sum((doc->>'n')::int) FROM docs WHERE doc->>'country' IN ('C1','C2','x') GROUP BY 1",
		`reduce by/country ["C1","C1"]`, 2)
	// As many groups as rows.
	db.ViewRows = 600
	reads(groups, "view by/country", 600)
	plan, err := run(t.Context(), ss, "EXPLAIN ANALYZE "+groups, 100)
	if got := strings.Join(plan, "\n"); err != nil || !strings.Contains(got, "too many groups") {
		t.Errorf("%v\n%s", err, got)
	}
	// Conditions that are no ranges need all groups of a view that is named.
	const like = `SELECT count(*) FROM "by".country WHERE key #>> '{}' LIKE '%1'`
	reads(like, "view by/country", 1)
	db.ViewRows = 100_000
	reads(like, "count by/country [,] keys=[] level=-1", 1)
	// Of two strings that are equal in the view, a group has one.
	db.Put("d900", `{"type":"city","country":"C1\u200b"}`)
	db.ViewRows = 100_000
	reads(groups, "view by/country", 601)
}

// TestReduce_Ambiguous checks that conditions and functions of the keys of a view that is named are not computed from
// one key of a group of equal ones.
func TestReduce_Ambiguous(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("d")
	ss := openSession(t, s, "d")
	addCovering(db, "country") // emits doc.country, doc.n
	addCovering(db, "mango")   // emits [doc.country, doc.n] as they are written
	for i, k := range []string{"é", `e\u0301`, "❤", `❤\ufe0f`, "soft", `so\u00adft`, "Å", `\u212b`, "plain", "ä", "e"} {
		db.Put(fmt.Sprintf("d%02d", i), fmt.Sprintf(`{"country":"%s","n":%s}`, k, []string{"1", "1.0", "2"}[i%3]))
	}
	db.Put("x1", `{"country":"x","n":1}`)
	db.Put("x2", `{"country":"x","n":1.0}`)
	db.ViewRows = 100_000
	for _, from := range []string{
		`by.country WHERE key #>> '{}' = 'é'`, `by.country WHERE length(key #>> '{}') = 2`,
		`by.country WHERE key::text = '"❤"'`,
		`by.country WHERE key #>> '{}' LIKE 'e%'`, `by.country WHERE key #>> '{}' <> 'é'`,
		`by.country WHERE key #>> '{}' >= 'ä'`,
		`by.country WHERE key = '"é"'`, `by.country WHERE key IN ('"é"', '"x"')`, `by.mango WHERE key->>0 = 'é'`,
		`by.mango WHERE (key->1)::text = '1.0'`, `by.mango WHERE key->>0 = 'x' AND key->>1 = '1'`,
	} {
		got, err := run(t.Context(), ss, "SELECT count(*) FROM "+from, 10)
		want, err2 := run(t.Context(), ss, "SELECT count(*) FROM (SELECT key FROM "+from+" OFFSET 0) x", 10)
		if err != nil || err2 != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, but %q rows, %v", from, got, err, want, err2)
		}
	}
	for _, sql := range []string{`SELECT length(key #>> '{}'), count(*) FROM by.country GROUP BY 1`,
		`SELECT key, count(*) FROM by.country GROUP BY key`, `SELECT DISTINCT key FROM by.country`,
		`SELECT key #>> '{}', count(*) FROM by.country GROUP BY 1`, `SELECT max(key #>> '{}') FROM by.country`,
		`SELECT count(DISTINCT key) FROM by.country`,
		`SELECT key->>0, sum(length(key->>1)), count(*) FROM by.mango WHERE key->>0 LIKE 'é%' GROUP BY 1`,
		`SELECT DISTINCT length(key #>> '{}') FROM by.country`, `SELECT max(length(key::text)) FROM by.country`,
		`SELECT count(DISTINCT upper(key #>> '{}')) FROM by.country`} {
		got, err := run(t.Context(), ss, sql, 100)
		want, err2 := run(t.Context(), ss, strings.NewReplacer("by.country", "(SELECT key FROM by.country OFFSET 0) x",
			"by.mango WHERE", "(SELECT key FROM by.mango OFFSET 0) x WHERE").Replace(sql), 100)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || err2 != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q, %v", sql, got, err, want, err2)
		}
	}
}
