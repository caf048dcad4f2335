package query_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestPlan_Reads checks that a statement becomes the narrowest read. The log has the reads that reach the store.
func TestPlan_Reads(t *testing.T) {
	s := exectest.NewStore()
	db := cities(s)
	ss := openSession(t, s, "cities")
	last := exectest.Seq(7)
	const (
		wholeDocs = `all_docs ["","") ids=[] desc=false limit=0 skip=0 doc=true`
		members   = `all_docs ["","") ids=[] desc=false limit=0 skip=0 doc=members`
	)
	for _, c := range []struct{ sql, reads string }{
		{`SELECT rev FROM docs WHERE id = 'oslo'`, `document oslo doc=false`},
		{`SELECT doc FROM docs WHERE 'oslo' = id`, `document oslo doc=true`},
		{`SELECT id FROM docs WHERE id IN ('paris', 'oslo', 'oslo')`,
			`all_docs ["","") ids=["oslo" "paris"] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE id = 'a' OR id = 'b' ORDER BY id DESC`,
			`all_docs ["","") ids=["b" "a"] desc=true limit=0 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE id = ANY (ARRAY['x','y'])`,
			`all_docs ["","") ids=["x" "y"] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE id >= 'b' AND id < 'p'`,
			`all_docs ["b","p") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE id > 'b' AND id <= 'p'`,
			`all_docs ["b\x00","p\x00") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE id BETWEEN 'b' AND 'p' LIMIT 3`,
			`all_docs ["b","p\x00") ids=[] desc=false limit=3 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE id LIKE 'os%'`, `all_docs ["os","ot") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE id LIKE 'o%s'`, `all_docs ["o","p") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE id LIKE 'oslo'`, `document oslo doc=false`},
		{`SELECT id FROM docs ORDER BY id DESC LIMIT 2 OFFSET 1`,
			`all_docs ["","") ids=[] desc=true limit=2 skip=1 doc=false`},
		{`SELECT id FROM docs WHERE doc->>'country' = 'NO' LIMIT 1`,
			`all_docs ["","") ids=[] desc=false limit=0 skip=0 doc=members`},
		{`SELECT doc FROM docs WHERE doc->>'country' = 'NO'`, wholeDocs},
		{`SELECT doc->>'name', doc->>'_id' FROM docs`, wholeDocs},
		{`SELECT doc->>('na' || 'me') FROM docs`, wholeDocs},
		{`SELECT doc->>id FROM docs`, wholeDocs},
		{`SELECT doc->'a'->>'_id' FROM docs`, members},
		{`SELECT doc->>0 FROM docs`, wholeDocs},
		{`SELECT doc->>'name', rev FROM docs`, wholeDocs},
		{`SELECT doc->>'name', count(*) FROM docs GROUP BY 1 ORDER BY 2`, members},
		{`SELECT count(DISTINCT doc), doc->>'name' FROM docs GROUP BY 2`, wholeDocs},
		{`SELECT max(doc->>'name') FILTER (WHERE doc ? 'x') FROM docs`, wholeDocs},
		{`SELECT doc->>'name' FROM docs ORDER BY doc->'size'`, members},
		{`SELECT doc->>'name' FROM docs ORDER BY doc`, wholeDocs},
		{`SELECT doc->>'name', docs FROM docs`, wholeDocs},
		{`SELECT doc->>'name', (SELECT doc) FROM docs`, wholeDocs},
		{`SELECT doc->>'name', rank() OVER (ORDER BY doc) FROM docs`, wholeDocs},
		{`SELECT q.n FROM (SELECT doc->>'name' AS n FROM docs) q WHERE n > 'A'`, members},
		{`SELECT id FROM docs WHERE id = 'a' AND id = 'b'`, ``},
		{`SELECT id FROM docs WHERE id = NULL`, ``},
		{`SELECT id FROM docs WHERE false`, ``},
		{`SELECT id FROM docs WHERE id = lower('OSLO')`, `document oslo doc=false`},
		{`SELECT id FROM docs LIMIT 0`, ``},
		{`SELECT id FROM docs WHERE id = '_design/x'`, ``},
		{`SELECT id FROM docs WHERE id IN ('_design/x', 'oslo')`, `document oslo doc=false`},
		{`SELECT id FROM design_docs`, `all_docs ["_design/","_design0") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM _all_docs WHERE id > 'x'`, `all_docs ["x\x00","") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM changes WHERE seq > '` + last + `'`,
			`changes since="` + last + `" shard="" desc=false limit=0 doc=false follow=false`},
		{`SELECT id FROM changes WHERE seq >= '` + last + `'`,
			`changes since="` + exectest.Seq(6)[:22] + `ffff" shard="" desc=false limit=0 doc=false follow=false`},
		{`SELECT id FROM changes WHERE seq > '0' LIMIT 2`,
			`changes since="" shard="" desc=false limit=2 doc=false follow=false`},
		{`SELECT id FROM changes WHERE shard = 's1'`,
			`changes since="" shard="s1" desc=false limit=0 doc=false follow=false`},
		{`SELECT doc FROM changes ORDER BY seq DESC LIMIT 1`,
			`changes since="" shard="" desc=true limit=1 doc=true follow=false`},
		{`SELECT value FROM city WHERE key = 'Oslo'`,
			`view by/city ["Oslo","Oslo"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT value FROM by.city WHERE key = '"Oslo"'`,
			`view by/city ["Oslo","Oslo"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT value FROM by.city WHERE key = '"Oslo"'::jsonb`,
			`view by/city ["Oslo","Oslo"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT value FROM city WHERE key >= 10`,
			`view by/city [10,] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT value FROM city WHERE key > 'A' AND key < 'P' LIMIT 5`,
			`view by/city ["A","P"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT value FROM city WHERE key >= 'A' AND key <= 'P' LIMIT 5`,
			`view by/city ["A","P"] keys=[] desc=false limit=5 skip=0 doc=false update=0`},
		{`SELECT doc FROM city WHERE key IN ('Paris', 'Oslo') ORDER BY key DESC`,
			`view by/city [,] keys=["Paris" "Oslo"] desc=true limit=0 skip=0 doc=true update=0`},
		{`SELECT id FROM country WHERE key = '["NO","Oslo"]'::jsonb`,
			`view by/country [["NO", "Oslo"],["NO", "Oslo"]] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM city WHERE key LIKE 'Os%'`,
			`view by/city ["Os","Ot"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM city ORDER BY key DESC, id DESC LIMIT 1`,
			`view by/city [,] keys=[] desc=true limit=1 skip=0 doc=false update=0`},
		{`SELECT id FROM city WHERE id = 'oslo'`,
			`view by/city [,] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT q.n FROM (SELECT id AS i, doc->>'name' AS n FROM docs) q WHERE q.i = 'oslo'`,
			`document oslo doc=true`},
		{`SELECT * FROM (SELECT id, rev FROM docs WHERE id > 'a') q ORDER BY id DESC LIMIT 1`,
			`all_docs ["a\x00","") ids=[] desc=true limit=1 skip=0 doc=false`},
		{`SELECT count(*) FROM (SELECT x.id FROM (SELECT id FROM docs WHERE id >= 'b') x) q WHERE id < 'c'`,
			`all_docs ["b","c") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT count(*) FROM country`, `count by/country [,] keys=[] level=0`},
		{`SELECT key->>0, count(*) FROM country GROUP BY 1`, `count by/country [,] keys=[] level=1`},
		{`SELECT key, count(id) FROM country WHERE key >= '["NO"]'::jsonb GROUP BY key`,
			`count by/country [["NO"],] keys=[] level=-1`},
		{`SELECT count(*) FROM country WHERE key->>0 = 'NO'`,
			`count by/country ["NO","NO"] keys=[] level=1; count by/country [["NO"],["NO\t"]] keys=[] level=1`},
		{`SELECT count(*) FROM country WHERE key->>0 = 'NO' AND key->1 >= '"O"'`,
			`count by/country [["NO","O"],["NO\t"]] keys=[] level=2`},
		{`SELECT id FROM country WHERE key->>0 = 'NO' AND key->>1 = '12'`,
			`view by/country [["NO",12],["NO",12.000000000000002]] keys=[] desc=false limit=0 skip=0 doc=false update=0; ` +
				`view by/country [["NO","12"],["NO","12\t"]] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM country WHERE key->0 = '"NO"' AND key->1 < '"P"'`,
			`view by/country [["NO"],["NO","P"]] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM city WHERE key #>> '{}' = 'Oslo'`,
			`view by/city ["Oslo","Oslo"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM city WHERE key::text = '"Oslo"'`,
			`view by/city ["Oslo","Oslo"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM city WHERE key::int = 5`,
			`view by/city [4,6] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM city WHERE starts_with(key #>> '{}', 'Os')`,
			`view by/city ["Os","Ot"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM city WHERE key #>> '{}' ~ '^Os?lo'`,
			`view by/city ["O","p"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM city WHERE key #>> '{}' BETWEEN 'Oa' AND 'Oc'`,
			`view by/city ["Oa","Od"] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT id FROM docs WHERE id ~ '^os'`,
			`all_docs ["os","ot") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT id FROM docs WHERE starts_with(id, 'os')`,
			`all_docs ["os","ot") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT key->>1, count(*) FROM country WHERE key->>0 = 'NO' GROUP BY 1 HAVING count(*) > 0`,
			`count by/country ["NO","NO"] keys=[] level=2; count by/country [["NO"],["NO\t"]] keys=[] level=2`},
		{`SELECT count(*), sum(value) FROM country`,
			`view by/country [,] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT count(*) FROM country WHERE key > '["NO"]'::jsonb`,
			`view by/country [["NO"],] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT count(*) FROM country WHERE id > 'x'`,
			`view by/country [,] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT count(DISTINCT id) FROM country`,
			`view by/country [,] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT count(*), count(key), count(id) FROM city WHERE key >= '"N"'`, `count by/city ["N",] keys=[] level=0`},
		{`SELECT max(id) FROM docs`, `all_docs ["","") ids=[] desc=true limit=1 skip=0 doc=false`},
		{`SELECT min(id) FROM docs WHERE id > 'b'`, `all_docs ["b\x00","") ids=[] desc=false limit=1 skip=0 doc=false`},
		{`SELECT max(id) FROM docs WHERE doc->>'name' = 'Oslo'`,
			`all_docs ["","") ids=[] desc=false limit=0 skip=0 doc=members`},
		{`SELECT count(*) FROM docs`, `count documents`},
		{`SELECT count(id), min(id), count(*) FROM docs`, `count documents; ` +
			`all_docs ["","") ids=[] desc=false limit=1 skip=0 doc=false; count documents`},
		{`SELECT count(*) FROM docs WHERE id > 'b'`, `all_docs ["b\x00","") ids=[] desc=false limit=0 skip=0 doc=false`},
		{`SELECT max(key), count(*) FROM city WHERE key <= '"P"' AND key >= '"B"'`,
			`view by/city ["B","P"] keys=[] desc=true limit=1 skip=0 doc=false update=0; ` +
				`count by/city ["B","P"] keys=[] level=0`},
		{`SELECT max(seq) FROM changes`, `changes since="" shard="" desc=true limit=1 doc=false follow=false`},
		{`SELECT DISTINCT key->>0 FROM country ORDER BY 1`, `count by/country [,] keys=[] level=1`},
		{`SELECT DISTINCT key FROM city ORDER BY key`, `count by/city [,] keys=[] level=-1`},
		{`SELECT DISTINCT id, key FROM city`, `view by/city [,] keys=[] desc=false limit=0 skip=0 doc=false update=0`},
		{`SELECT count(DISTINCT key->0), max(key->>1) FROM country`, `count by/country [,] keys=[] level=2`},
		{`SELECT key->>0, count(DISTINCT key) FROM country GROUP BY 1`, `count by/country [,] keys=[] level=-1`},
		{`SELECT key->>0 FROM country GROUP BY 1`, `count by/country [,] keys=[] level=1`},
		{`SET divan.update = 'false'; SELECT id FROM city; RESET divan.update`,
			`view by/city [,] keys=[] desc=false limit=0 skip=0 doc=false update=1`},
	} {
		db.TakeLog()
		if _, err := run(t.Context(), ss, c.sql, 100); err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if got := strings.Join(db.TakeLog(), "; "); got != c.reads {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, c.reads)
		}
	}
}

// TestPlan_PushdownKeepsTheResult runs random statements twice: unchanged, and with every column hidden from the
// planner in coalesce(), so that the gateway itself filters, sorts and limits. The rows must be the same.
func TestPlan_PushdownKeepsTheResult(t *testing.T) {
	oneGoroutine(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := exectest.NewStore()
	db := cities(s)
	ids := []string{"a", "ab", "abc", "b", "ba", "c", "ca", "æ", "_design/x", "A"}
	for i, id := range ids {
		db.Put(id, fmt.Sprintf(`{"name":%q,"pop":%d}`, []string{"Oslo", "oslo", "Åre", "Os", "P", "Oslo "}[i%6], i))
	}
	db.Conflict("a", "1-x", `{}`)
	db.Conflict("b", "1-x", `{}`)
	db.Conflict("ba", "2-y", `{}`)
	db.AddView("mix", "keys", "", func(id string, _ json.RawMessage, emit func(k, v string)) {
		for i, k := range []string{"null", "true", "1", "2.5", `"a"`, `"ab"`, `"Ab"`, `"b"`, "[]", `["a"]`, `["a",1]`,
			`{"a":1}`} {
			if (len(id)+i)%3 == 0 {
				emit(k, fmt.Sprint(i))
			}
		}
	})
	ss := openSession(t, s, "cities")
	tables := []struct {
		name, column, all string
		values            []string
		like              []string
	}{
		{"docs", "id", "id, rev", quoteAll(append(ids, "oslo", "zz", "")),
			[]string{"'a%'", "'o%'", "'%'", "'ab'", "'_b%'", `'\_d%'`}},
		{"conflicts", "id", "id, rev", quoteAll(ids), []string{"'b%'"}},
		{"changes", "seq", "id, seq",
			quoteAll([]string{exectest.Seq(3), exectest.Seq(7), exectest.Seq(12), "0", "", exectest.Seq(99)}),
			[]string{"'00%'", "'1%'"}},
		{"mix.keys", "key", "id, key", []string{"1", "2", "2.5", "'a'", "'ab'", "'b'", "true", `'["a"]'::jsonb`,
			`'null'::jsonb`, `'{}'::jsonb`, "'Ab'", `'{"a": 1.0}'`, `'[{"a":1}]'`, `'["a", 1]'`},
			[]string{"'a%'", "'A%'", "'%'", "'b'"}},
	}
	for n := range 4000 {
		tb := tables[n%len(tables)]
		value := func() string { return tb.values[r.IntN(len(tb.values))] }
		var cond func(depth int) string
		cond = func(depth int) string {
			if depth > 0 && r.IntN(2) == 0 {
				word := []string{"AND", "OR"}[r.IntN(2)]
				return "(" + cond(depth-1) + " " + word + " " + cond(depth-1) + ")"
			}
			c := "COL"
			switch r.IntN(9) {
			case 0:
				return c + " IN (" + value() + ", " + value() + ", " + value() + ")"
			case 1:
				return c + " BETWEEN " + value() + " AND " + value()
			case 2:
				return "NOT " + c + " = " + value()
			case 3:
				return value() + " < " + c
			case 4:
				return c + " LIKE " + tb.like[r.IntN(len(tb.like))]
			case 5:
				return "length(id) > 1"
			}
			return c + " " + []string{"=", "<", "<=", ">", ">=", "<>"}[r.IntN(6)] + " " + value()
		}
		src := "SELECT " + tb.all + " FROM " + tb.name
		if r.IntN(5) > 0 {
			src += " WHERE " + cond(2)
		}
		ordered := r.IntN(3) > 0
		if ordered {
			dir := []string{"", " DESC"}[r.IntN(2)]
			src += " ORDER BY COL" + dir
			if tb.name == "mix.keys" || tb.name == "conflicts" {
				src += ", id" + dir + ", rev" + dir
				src = strings.Replace(src, ", rev"+dir,
					map[bool]string{true: "", false: ", rev" + dir}[tb.name == "mix.keys"], 1)
			}
			if r.IntN(2) == 0 {
				src += fmt.Sprintf(" LIMIT %d OFFSET %d", r.IntN(6), r.IntN(3))
			}
		}
		plain := strings.ReplaceAll(src, "COL", tb.column)
		hidden := strings.ReplaceAll(src, "COL", "coalesce("+tb.column+")")
		got, err := run(t.Context(), ss, plain, 1000)
		want, err2 := run(t.Context(), ss, hidden, 1000)
		if err != nil || err2 != nil {
			t.Fatalf("%s: %v, %v", plain, err, err2)
		}
		if !ordered {
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) {
			plan, _ := run(t.Context(), ss, "EXPLAIN "+plain, 100)
			t.Fatalf("%s\n got %q\nwant %q\n%s", plain, got, want, strings.Join(plan, "\n"))
		}
	}
}

// TestPlan_Reduce checks that aggregates read from a view's reduce equal those computed from its rows.
func TestPlan_Reduce(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	db := s.Create("r")
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 200 {
		db.Put(fmt.Sprintf("d%03d", i), fmt.Sprintf(`{"a":%d,"b":%d,"v":%d}`, r.IntN(4), r.IntN(3), r.IntN(100)))
	}
	emit := func(_ string, doc json.RawMessage, emit func(k, v string)) {
		var d struct{ A, B, V int }
		_ = json.Unmarshal(doc, &d)
		emit(fmt.Sprintf("[%d,%d]", d.A, d.B), fmt.Sprint(d.V))
		emit(fmt.Sprintf(`"k%d"`, d.A), fmt.Sprint(d.B))
	}
	for _, fn := range []string{"_count", "_sum", "_stats", ""} {
		db.AddView("v", "r"+fn, fn, emit)
	}
	ss := openSession(t, s, "r")
	for _, c := range []string{
		"count(*)", "sum(value)", "min(value), max(value)", "avg(value)", "count(*), sum(value), avg(value)",
		"count(key)",
	} {
		for _, tail := range []string{
			"", "WHERE key >= '[1]'::jsonb AND key <= '[2,{}]'::jsonb", "WHERE key IN ('k1', 'k3')",
			"WHERE key->>0 = '2'", "WHERE key = 'nothing'",
			"WHERE key BETWEEN '[1]'::jsonb AND '[1,9]'::jsonb OR key = 'k2'",
		} {
			for _, group := range []string{"", "key", "key->>0", "key->>0, key->>1", "key->>1"} {
				list, by := c, ""
				if group != "" {
					list, by = group+", "+c, " GROUP BY "+group+" ORDER BY "+group
				}
				src := "SELECT " + list + " FROM v.rNAME " + tail + by
				want, err := run(t.Context(), ss, strings.ReplaceAll(src, "NAME", ""), 1000)
				if err != nil {
					t.Fatalf("%s: %v", src, err)
				}
				for _, fn := range []string{"_count", "_sum", "_stats"} {
					got, err := run(t.Context(), ss, strings.ReplaceAll(src, "NAME", fn), 1000)
					if err != nil || !slices.Equal(got, want) {
						t.Fatalf("%s with %s: %v\n got %q\nwant %q", src, fn, err, got, want)
					}
				}
			}
		}
	}
}

func quoteAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "'" + s + "'"
	}
	return out
}
