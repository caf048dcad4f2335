package query_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/query/work"
)

// TestSublinks_Random compares random sub-queries in conditions and select lists with PostgreSQL, in enough memory and
// in little.
func TestSublinks_Random(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	s := exectest.NewStore()
	references(t, s.Create("postgres"), theirs, 50)
	space, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	_, addr := start(t, s, nil)
	enough := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	_, addr = start(t, s, func(o *query.Options) { o.Memory, o.Temp = work.Limits{Statement: 256 << 10}, space })
	little := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	rapid.Check(t, func(r *rapid.T) {
		g := sublinkGen{r}
		sql := g.statement()
		want := result(t.Context(), theirs, sql, nil, true)
		for name, conn := range map[string]*pgx.Conn{"enough memory": enough, "little memory": little} {
			if got := result(t.Context(), conn, sql, nil, true); got != want {
				r.Fatalf("%s, %s\n%s", name, sql, firstDifference(got, want))
			}
		}
	})
}

// strategies are settings that make the planner avoid some of its strategies. The last one leaves nested loops alone.
var strategies = []string{
	"SET enable_hashjoin = off", "SET enable_nestloop = off", "SET enable_indexscan = off", "SET enable_memoize = off",
	"SET enable_hashjoin = off; SET enable_memoize = off; SET enable_nestloop = off",
}

// TestStrategies_SameRows compares random joins and sub-queries of random documents under each strategy, with enough
// memory and with little, with plain nested loops.
func TestStrategies_SameRows(t *testing.T) {
	space, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		s := exectest.NewStore()
		db := s.Create("random")
		ref := rapid.SampledFrom([]string{`null`, `"d0"`, `"d1"`, `"d2"`, `"d3"`, `"gone"`, `{"b":1,"a":[1.0]}`, `3`})
		for i := range rapid.IntRange(0, 25).Draw(r, "documents") {
			body := fmt.Sprintf(`{"ref":%s,"n":%d,"few":%d,"pad":"%s"}`, ref.Draw(r, "ref"), i,
				rapid.IntRange(0, 4).Draw(r, "few"), strings.Repeat("x", rapid.IntRange(0, 4000).Draw(r, "pad")))
			if rapid.Bool().Draw(r, "no few") {
				body = strings.Replace(body, `"few"`, `"other"`, 1)
			}
			db.Put(fmt.Sprintf("d%d", i), body)
		}
		db.AddView("by", "ref", "", corpusMember("ref", "n"))
		g := sublinkGen{r}
		var sql string
		if g.chance(3) {
			sql = randomJoin(r)
		} else {
			sql = g.statement()
		}
		rows := func(setting string, memory int64) string {
			opts := func(o *query.Options) { o.Memory, o.Temp = work.Limits{Statement: memory}, space }
			ss := openSessionWith(t, s, "random", opts)
			defer ss.Close()
			if setting != "" {
				if _, err := run(t.Context(), ss, setting, 0); err != nil {
					r.Fatal(err)
				}
			}
			got, err := run(t.Context(), ss, sql, 1<<20)
			if err != nil {
				return "ERROR " + err.Error()
			}
			if !strings.Contains(sql, " LIMIT 20") {
				slices.Sort(got)
			}
			return strings.Join(got, "\n")
		}
		want := rows(strategies[len(strategies)-1], 0)
		for _, setting := range append([]string{""}, strategies...) {
			for _, memory := range []int64{0, 256 << 10} {
				got := rows(setting, memory)
				if memory > 0 && strings.Contains(got, "out of memory") {
					continue // for one value
				}
				if got != want {
					r.Fatalf("%s with %d bytes: %s\n%s", setting, memory, sql, firstDifference(got, want))
				}
			}
		}
	})
}

// sublinkGen makes statements with sub-queries over docs and by.ref.
type sublinkGen struct{ r *rapid.T }

func (g sublinkGen) pick(name string, of ...string) string {
	return rapid.SampledFrom(of).Draw(g.r, name)
}

func (g sublinkGen) chance(n int) bool { return rapid.IntRange(0, n-1).Draw(g.r, "chance") == 0 }

func (g sublinkGen) statement() string {
	from := g.pick("from", "docs a", "(SELECT id, doc FROM docs WHERE doc->>'few' <> '4') a",
		"docs a JOIN docs x ON x.id = a.doc->>'ref'", "docs a LEFT JOIN docs x ON x.id = a.doc->>'ref'",
		"(SELECT id, jsonb_build_object('ref', key, 'few', value, 'n', value) AS doc FROM by.ref WHERE key < '\"d01\"') a",
		"(VALUES ('d0003','{\"ref\":\"d0004\",\"few\":2,\"n\":3}'::jsonb),('no','{}'),(NULL,NULL)) a(id, doc)")
	switch g.pick("form", "where", "where", "where", "select", "group") {
	case "select":
		return "SELECT a.id, " + g.scalar("a", 1) + " FROM " + from
	case "group":
		return "SELECT a.doc->>'few', count(*) FROM " + from + " WHERE " + g.cond("a", 2) + " GROUP BY 1"
	}
	sql := "SELECT a.id FROM " + from + " WHERE " + g.cond("a", 2)
	if g.chance(3) {
		sql += " AND " + g.cond("a", 1)
	}
	if g.chance(4) {
		sql += " ORDER BY a.id LIMIT 20"
	}
	return sql
}

// column returns a text that may be NULL.
func (g sublinkGen) column(of string) string {
	return g.pick("column", of+".id", of+".doc->>'ref'", of+".doc->>'few'", "left("+of+".id, 4)", of+".doc->>'n'")
}

// scalar returns a text expression with a sub-query over rows of another alias.
func (g sublinkGen) scalar(of string, depth int) string {
	in := g.inner(of, depth)
	return g.pick("scalar", "(SELECT count(*) "+in+")", "(SELECT max("+of+"b.id) "+in+")",
		"(SELECT string_agg("+of+"b.id, ',' ORDER BY "+of+"b.id) "+in+")",
		"(SELECT sum(("+of+"b.doc->>'few')::int) "+in+" HAVING count(*) > 1)",
		"array(SELECT "+of+"b.id "+in+" ORDER BY 1)", "(SELECT "+of+"b.id "+in+" ORDER BY 1 LIMIT 1)",
		"(SELECT min("+of+".id || "+of+"b.id) "+in+")",
		"("+of+".id NOT IN (SELECT "+g.column(of+"b")+" "+in+"))") + "::text"
}

// inner returns FROM and WHERE of a sub-query, which may refer to the rows of the query around it.
func (g sublinkGen) inner(of string, depth int) string {
	in := of + "b"
	sql := "FROM " + g.pick("inner", "docs "+in, "docs "+in, "(SELECT id, doc FROM docs WHERE id < 'd0030') "+in,
		"(SELECT id, jsonb_build_object('ref', key #>> '{}', 'few', value, 'n', value) AS doc FROM by.ref) "+in,
		"docs "+in+" JOIN by.ref "+in+"v ON "+in+"v.id = "+in+".id")
	where := " WHERE "
	for _, c := range []string{
		fmt.Sprintf("%s = %s", g.column(in), g.column(of)),
		fmt.Sprintf("%s.doc->>'few' = %s.doc->>'few'", in, of),
		fmt.Sprintf("%s.id < %s.id", in, of),
		in + ".doc->>'few' < '3'",
		in + ".id < 'd0020'",
		in + ".id IS NOT NULL",
	} {
		if g.chance(3) {
			sql += where + c
			where = " AND "
		}
	}
	if depth > 0 && g.chance(3) {
		sql += where + g.cond(in, depth-1)
		if g.chance(2) {
			sql += " AND EXISTS (SELECT 1 FROM docs z WHERE z.id = " + of + ".doc->>'ref' AND z.doc->>'few' = " + in +
				".doc->>'few')"
		}
	}
	return sql
}

// cond returns a condition with a sub-query.
func (g sublinkGen) cond(of string, depth int) string {
	in := g.inner(of, depth)
	x, y := g.column(of), g.column(of+"b")
	op := g.pick("operator", "=", "<>", "<", "<=", ">", ">=")
	switch g.pick("cond", "in", "not in", "exists", "not exists", "any", "all", "not any", "row", "not row", "scalar",
		"or") {
	case "in":
		return x + " IN (SELECT " + y + " " + in + ")"
	case "not in":
		return x + " NOT IN (SELECT " + y + " " + in + ")"
	case "exists":
		return "EXISTS (SELECT " + g.pick("what", "1", "*") + " " + in + g.pick("limit", "", "", " LIMIT 1") + ")"
	case "not exists":
		return "NOT EXISTS (SELECT 1 " + in + ")"
	case "any":
		return x + " " + op + " ANY (SELECT " + y + " " + in + ")"
	case "all":
		return x + " " + op + " ALL (SELECT " + y + " " + in + ")"
	case "not any":
		return "NOT " + x + " " + op + " ANY (SELECT " + y + " " + in + ")"
	case "row":
		return "(" + x + ", " + of + ".doc->>'few') IN (SELECT " + y + ", " + of + "b.doc->>'few' " + in + ")"
	case "not row":
		return "(" + x + ", " + of + ".doc->>'few') NOT IN (SELECT " + y + ", " + of + "b.doc->>'few' " + in + ")"
	case "scalar":
		return "coalesce(" + g.scalar(of, depth-1) + ", '0') " + op + " " + "'1'"
	}
	return "(" + of + ".id > 'd0040' OR " + x + " IN (SELECT " + y + " " + in + "))"
}

// TestRowsIn_nulls checks that rows with a NULL are not compared with each row of a sub-query, which takes minutes.
func TestRowsIn_nulls(t *testing.T) {
	s := exectest.NewStore()
	s.Create("shop")
	ss := openSession(t, s, "shop")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for sql, want := range map[string]string{
		"SELECT count(*) FROM (SELECT nullif(g % 2, 0) a, g % 7 b FROM generate_series(1, 14000) g) x " +
			"WHERE (a, b) NOT IN (SELECT g, g % 2 FROM generate_series(3, 20000) g)": "12000",
		"SELECT count(*) FROM (SELECT g % 2 a, g % 7 b FROM generate_series(1, 14000) g) x " +
			"WHERE (a, b) NOT IN (SELECT CASE WHEN g % 3 = 0 THEN g END, g % 2 FROM generate_series(3, 20000) g)": "10000",
		"SELECT count(*) FROM (SELECT g % 2 a, g % 7 b FROM generate_series(1, 14001) g) x " +
			"WHERE (a, b) <> ALL (SELECT CASE WHEN g % 3 = 0 THEN g END, g % 2 FROM generate_series(3, 20000) g)": "10000",
	} {
		if rows, err := run(ctx, ss, sql, 1); err != nil || len(rows) != 1 || rows[0] != want {
			t.Errorf("%s\n got %v, %v\nwant %s", sql, rows, err, want)
		}
	}
}
