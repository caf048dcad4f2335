package query_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/query/work"
)

// spillDocs writes n documents and returns a statement that writes the same to PostgreSQL's table docs.
func spillDocs(db *exectest.DB, n int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	var sql strings.Builder
	sql.WriteString("CREATE TABLE docs (id text PRIMARY KEY, rev text, doc jsonb); INSERT INTO docs VALUES ")
	for i := range n {
		id := fmt.Sprintf("d%05d", i)
		k := "null"
		if rnd.IntN(20) > 0 {
			k = fmt.Sprint(rnd.IntN(n / 2))
		}
		body := fmt.Sprintf(`{"i":%d,"k":%s,"few":%d,"n":%d.%02d,"one":1,"pad":"%s"}`, i, k, rnd.IntN(7), rnd.IntN(1000),
			rnd.IntN(100), strings.Repeat(string(rune('a'+rnd.IntN(26))), 20+rnd.IntN(60)))
		db.Put(id, body)
		if i > 0 {
			sql.WriteString(",")
		}
		fmt.Fprintf(&sql, "('%s','1-a','%s')", id, body)
	}
	return sql.String()
}

// spilling are statements that need more than 1 MB over some thousand documents, one kind of step each. Their rows come
// in a defined order, or in any if "any" is set.
var spilling = []struct {
	name, sql string
	any       bool
}{
	{"sort", "SELECT id, doc->>'pad' p FROM docs ORDER BY p, id DESC", false},
	{"sort stable", "SELECT doc->>'pad' p, doc->'few' FROM docs ORDER BY doc->'few', doc->>'pad', id", false},
	{"sort bound", "SELECT id, doc->>'pad' FROM docs ORDER BY doc->>'pad' DESC, id LIMIT 6000 OFFSET 500", false},
	{"distinct", "SELECT DISTINCT doc->>'pad', doc->'n' FROM docs", true},
	{"distinct sorted", "SELECT DISTINCT doc->>'pad' p, doc->'n' n FROM docs ORDER BY n, p", false},
	{"distinct on", "SELECT DISTINCT ON (doc->'k') doc->'k', id, doc->'pad' FROM docs ORDER BY doc->'k', id DESC", false},
	{"distinct on two", "SELECT DISTINCT ON (doc->'few', doc->'k') doc->'few', doc->'k' FROM docs ORDER BY " +
		"doc->'few'", true},
	{"group", "SELECT doc->>'k' k, count(*), sum((doc->>'n')::numeric), max(id) FROM docs GROUP BY 1", true},
	{"group wide", "SELECT doc->>'pad' || id, count(*), min(doc->>'n') FROM docs GROUP BY 1", true},
	{"grouping sets", "SELECT doc->>'k', doc->>'pad', count(*) FROM docs GROUP BY GROUPING SETS ((1,2),(1),())", true},
	{"rollup having", "SELECT doc->'few', id, count(*) FROM docs GROUP BY ROLLUP (1,2) HAVING count(*) >= 1", true},
	{"count distinct", "SELECT count(DISTINCT doc->>'pad' || id), count(DISTINCT doc->'k'), count(*) FROM docs", false},
	{"count distinct by group", "SELECT doc->'few', count(DISTINCT id || (doc->>'pad')), sum(DISTINCT (doc->>'k')::int) " +
		"FROM docs GROUP BY 1", true},
	{"ordered aggregate", "SELECT doc->'few', md5(string_agg(id, ',' ORDER BY doc->>'pad', id)) FROM docs GROUP BY " +
		"1", true},
	{"ordered distinct aggregate", "SELECT doc->'few', md5(string_agg(DISTINCT doc->>'k', ',' ORDER BY doc->>'k')) " +
		"FROM docs GROUP BY 1", true},
	{"distinct in many groups", "SELECT id, count(DISTINCT doc->>'k'), sum(DISTINCT (doc->>'i')::int), count(*) " +
		"FROM docs GROUP BY 1", true},
	{"distinct arrays", "SELECT doc->'few', md5(array_agg(DISTINCT doc->>'pad' || left(id, 5))::text) FROM docs " +
		"GROUP BY 1", true},
	{"arrays by group", "SELECT doc->>'k', array_agg(doc->>'pad' ORDER BY id) FROM docs GROUP BY 1", true},
	{"union", "SELECT doc->'n', doc->'pad' FROM docs UNION SELECT doc->'n', doc->'pad' FROM docs WHERE id < 'd04'", true},
	{"intersect", "SELECT doc->>'pad', doc->'n' FROM docs INTERSECT SELECT doc->>'pad', doc->'n' FROM docs", true},
	{"intersect all", "SELECT doc->>'n', repeat('x',100) FROM docs INTERSECT ALL SELECT doc->>'n', repeat('x',100) " +
		"FROM docs WHERE id > 'd02'", true},
	{"except", "SELECT doc->>'pad', id FROM docs EXCEPT SELECT doc->>'pad', id FROM docs WHERE doc->>'few' < '3'", true},
	{"except all", "SELECT doc->>'n', repeat('x',100) FROM docs EXCEPT ALL SELECT doc->>'n', repeat('x',100) " +
		"FROM docs WHERE id > 'd02'", true},
	{"except left", "SELECT doc->>'pad', id FROM docs EXCEPT SELECT 'x', id FROM docs WHERE id < 'd00010'", true},
	{"hash join", "SELECT a.id, b.id, b.doc->>'pad' FROM docs a JOIN docs b ON a.doc->>'k' = b.doc->>'i'", true},
	{"left join", "SELECT a.id, b.doc->>'pad' FROM docs a LEFT JOIN docs b ON a.doc->>'k' = b.doc->>'i' AND " +
		"b.doc->>'few' < '5'", true},
	{"right join", "SELECT a.id, b.id, b.doc->>'pad' FROM docs a RIGHT JOIN docs b ON a.doc->>'k' = b.doc->>'i'", true},
	{"full join", "SELECT a.id, b.id, b.doc->'n', a.doc->'pad' FROM docs a FULL JOIN docs b ON a.doc->>'k' = " +
		"b.doc->>'k' " +
		"AND b.id > a.id", true},
	{"join of three", "SELECT a.id, b.id, c.doc->'pad' FROM docs a, docs b, docs c WHERE a.doc->'k' = b.doc->'i' " +
		"AND b.doc->'k' = c.doc->'i'", true},
	{"join of one key", "SELECT count(*), min(b.doc->>'pad') FROM docs a JOIN docs b ON a.doc->'one' = b.doc->'one' " +
		"WHERE a.id < 'd00020'", false},
	{"nested loop", "SELECT count(*), count(b.id) FROM docs a LEFT JOIN docs b ON a.doc->>'pad' < b.doc->>'pad' " +
		"WHERE a.id < 'd00020'", false},
	{"full join without key", "SELECT count(*), max(b.doc->>'pad') FROM " +
		"(SELECT * FROM docs WHERE id < 'd00003') a FULL JOIN docs b ON true", false},
	{"with twice", "WITH x AS MATERIALIZED (SELECT id, doc FROM docs) SELECT count(*), max(b.doc->>'pad') FROM x a " +
		"JOIN x b " +
		"ON a.doc->'k' = b.doc->'i'", false},
	{"recursive", "WITH RECURSIVE r(id, d, n) AS (SELECT id, doc, 0 FROM docs UNION ALL SELECT id, d, n+1 FROM r " +
		"WHERE n < 2) SELECT n, count(*), max(d->>'pad') FROM r GROUP BY n", true},
	{"recursive union", "WITH RECURSIVE r(id, k, n) AS (SELECT id, doc->>'pad', 0 FROM docs UNION SELECT id, k, 1 FROM r) " +
		"SELECT n, count(*), max(k) FROM r GROUP BY n", true},
	{"window", "SELECT id, row_number() OVER (ORDER BY doc->>'pad', id) FROM docs ORDER BY 1", false},
	{"window of one partition", "SELECT id, sum((doc->>'n')::numeric) OVER (), count(*) OVER (ORDER BY doc->'few'), " +
		"doc->'pad' FROM docs", true},
	{"window of partitions", "SELECT id, rank() OVER w, dense_rank() OVER w, lag(id, 3) OVER w, lead(doc->>'pad') OVER w, " +
		"percent_rank() OVER w, cume_dist() OVER w, ntile(7) OVER w FROM docs WINDOW w AS (PARTITION BY doc->'few' " +
		"ORDER BY doc->>'k', id)", true},
	{"windows of two orders", "SELECT id, doc->>'pad', rank() OVER (PARTITION BY doc->'few' ORDER BY doc->>'n'), " +
		"first_value(id) OVER (ORDER BY doc->>'pad', id), sum((doc->>'k')::int) OVER (PARTITION BY doc->>'k') FROM docs",
		true},
	{"frames", "SELECT id, sum((doc->>'k')::int) OVER w, max(doc->>'pad') OVER w, nth_value(id, 5) OVER w, " +
		"count(*) OVER (ORDER BY doc->>'n' ROWS BETWEEN 20 PRECEDING AND 30 FOLLOWING EXCLUDE TIES) >= 0 FROM docs " +
		"WINDOW w AS (ORDER BY doc->>'n', id ROWS BETWEEN 20 PRECEDING AND 30 FOLLOWING)", true},
	{"frames of groups and ranges", "SELECT id, count(*) OVER (ORDER BY (doc->>'k')::int GROUPS BETWEEN 2 PRECEDING AND " +
		"1 FOLLOWING), avg((doc->>'i')::int) OVER (ORDER BY (doc->>'i')::int RANGE BETWEEN 10 PRECEDING AND 5 PRECEDING), " +
		"last_value(doc->>'pad') OVER (ORDER BY (doc->>'k')::int, id ROWS UNBOUNDED PRECEDING) FROM docs", true},
	{"window over a limit", "SELECT id, row_number() OVER (ORDER BY doc->>'pad', id DESC) FROM docs ORDER BY " +
		"doc->>'pad', id DESC LIMIT 20", false},
	{"in", "SELECT id FROM docs WHERE doc->>'pad' || id IN (SELECT doc->>'pad' || id FROM docs WHERE " +
		"doc->>'few' > '0')", true},
	{"not in", "SELECT id FROM docs WHERE doc->>'pad' || id NOT IN (SELECT doc->>'pad' || id FROM docs WHERE " +
		"doc->>'few' > '0')", true},
	{"exists", "SELECT id FROM docs a WHERE EXISTS (SELECT 1 FROM docs b WHERE b.doc->>'pad' = a.doc->>'pad' " +
		"AND b.id > a.id)", true},
	{"not exists", "SELECT id FROM docs a WHERE NOT EXISTS (SELECT 1 FROM docs b WHERE b.doc->>'pad' || b.id = " +
		"a.doc->>'pad' || a.id AND b.doc->>'few' > '0')", true},
	{"lateral", "SELECT a.id, q.n FROM docs a, LATERAL (SELECT count(*) n FROM docs b WHERE b.doc->>'k' = a.doc->>'i') q",
		true},
}

// kept are statements with sub-queries in expressions, which EXPLAIN does not show, that need more than 1 MB.
var kept = []string{
	"SELECT id FROM docs WHERE id < 'd00010' OR doc->>'pad' IN (SELECT doc->>'pad' FROM docs WHERE doc->>'few' > '2')",
	"SELECT id FROM docs WHERE id < 'd00010' OR doc->>'pad' <> ALL (SELECT doc->>'pad' FROM docs WHERE id > 'd00100')",
	"SELECT id, doc->>'pad' IN (SELECT doc->>'pad' FROM docs WHERE doc->>'few' > '2') FROM docs",
	"SELECT id FROM docs WHERE id < 'd00005' AND doc->>'pad' = ALL (SELECT doc->>'pad' || id FROM docs WHERE " +
		"doc->>'few' > '2') IS NOT NULL",
	"SELECT id FROM docs WHERE id < 'd00005' AND (doc->>'pad', id) <> ALL (SELECT doc->>'pad', id FROM docs)",
	"SELECT id, (SELECT count(*) FROM docs b WHERE b.doc->>'k' = a.doc->>'i' AND b.doc->>'pad' > 'b') FROM docs a",
	"SELECT id, (SELECT max(doc->>'pad') FROM docs b WHERE b.id = 'd' || lpad(a.doc->>'k', 5, '0')) FROM docs a",
}

// TestSpill_Kept compares statements whose sub-queries keep rows with PostgreSQL, and with enough memory.
func TestSpill_Kept(t *testing.T) {
	s := exectest.NewStore()
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	docs := spillDocs(s.Create("postgres"), 8000)
	if _, err := theirs.Exec(t.Context(), "DROP TABLE IF EXISTS docs; "+docs); err != nil {
		t.Fatal(err)
	}
	for i, sql := range kept {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			space, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			_, addr := start(t, s, func(o *query.Options) {
				o.Memory, o.Temp = work.Limits{Statement: 512 << 10}, space
			})
			little := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
			got := result(t.Context(), little, sql, nil, true)
			if strings.HasPrefix(sql, "SELECT id, (") {
				// PostgreSQL would read all rows for each row.
				_, err = theirs.Exec(t.Context(), "CREATE INDEX IF NOT EXISTS by_k ON docs ((doc->>'k'))")
				if err != nil {
					t.Fatal(err)
				}
			}
			if want := result(t.Context(), theirs, sql, nil, true); got != want {
				t.Errorf("%s\n%s", sql, firstDifference(got, want))
			}
			now, peak, _ := space.Used()
			if now != 0 || peak == 0 {
				t.Errorf("%d bytes are left, at most %d were used", now, peak)
			}
		})
	}
}

// TestSpill compares statements that need temporary files with PostgreSQL, and with enough memory.
func TestSpill(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	docs := spillDocs(s.Create("postgres"), 8000)
	if _, err := theirs.Exec(t.Context(), "DROP TABLE IF EXISTS docs; "+docs); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	space, err := spill.New(spill.Dir(dir), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	_, addr := start(t, s, func(o *query.Options) {
		o.Memory, o.Temp = work.Limits{Statement: 1 << 20}, space
	})
	little := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	for _, c := range spilling {
		t.Run(c.name, func(t *testing.T) {
			got := result(t.Context(), little, c.sql, nil, c.any)
			want := result(t.Context(), theirs, c.sql, nil, c.any)
			if got != want {
				t.Errorf("%s\n%s", c.sql, firstDifference(got, want))
			}
			if now, _, _ := space.Used(); now != 0 {
				t.Errorf("%d bytes are left", now)
			}
			if plan := explained(t, little, c.sql); !spilledPlan.MatchString(plan) {
				t.Errorf("nothing was spilled:\n%s", plan)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files are left: %v %v", left, err)
			}
		})
	}
}

// TestSpill_Aggregates compares generated aggregates, in few and many groups, with PostgreSQL.
func TestSpill_Aggregates(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	s.Create("postgres")
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	space, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	spilled := 0
	for _, memory := range []int64{400 << 10, 600 << 10, 1 << 20} {
		_, addr := start(t, s, func(o *query.Options) { o.Memory, o.Temp = work.Limits{Statement: memory}, space })
		little := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
		for range 15 {
			columns := []string{"(g % 37)", "g", "(g / 3)", "repeat('x', g % 50)", "md5(g::text)", "(g % 5)",
				"nullif(g % 11, 0)"}
			value := func() string { return pick(columns...) }
			var calls []string
			for range 1 + rnd.IntN(3) {
				call := pick("count(DISTINCT %[1]s)", "count(%[1]s)", "md5(array_agg(DISTINCT %[1]s)::text)",
					"md5(string_agg(%[1]s::text, ',' ORDER BY %[2]s, g))", "max(%[1]s::text)",
					"md5(string_agg(DISTINCT %[1]s::text, ',' ORDER BY %[1]s::text DESC))", "count(DISTINCT (%[1]s, %[2]s))",
					"count(DISTINCT %[1]s) FILTER (WHERE g %% 3 = 0)")
				if !strings.Contains(call, "%[2]s") {
					call = fmt.Sprintf(call, value())
				} else {
					call = fmt.Sprintf(call, value(), value())
				}
				calls = append(calls, call)
			}
			sql := fmt.Sprintf("SELECT %s AS k, %s FROM generate_series(1, %d) g GROUP BY %s", value(),
				strings.Join(calls, ", "), 1000+rnd.IntN(12000), pick("1", "1", "1", "ROLLUP (1)", "GROUPING SETS ((1), (), (1))"))
			got := result(t.Context(), little, sql, nil, true)
			if want := result(t.Context(), theirs, sql, nil, true); got != want {
				t.Errorf("%d bytes: %s\n%s", memory, sql, firstDifference(got, want))
			}
			if spilledPlan.MatchString(explained(t, little, sql)) {
				spilled++
			}
		}
	}
	if now, _, _ := space.Used(); now != 0 || spilled < 10 {
		t.Errorf("%d bytes are left, %d statements were spilled", now, spilled)
	}
}

// spilledPlan matches the plan of a statement that has used temporary files.
var spilledPlan = regexp.MustCompile(`Disk(?: Usage)?: \d`)

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%d and %d lines, line %d is\n%.300s\nwant\n%.300s", len(a), len(b), i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

func explained(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), "EXPLAIN (ANALYZE, TIMING off, COSTS off) "+sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, row := range results[0].Rows {
		lines = append(lines, string(row[0]))
	}
	return strings.Join(lines, "\n")
}

// EXPLAIN ANALYZE says what sorts and hash tables needed, as PostgreSQL does.
func TestSpill_Explained(t *testing.T) {
	s := exectest.NewStore()
	spillDocs(s.Create("postgres"), 6000)
	for _, statement := range []int64{512 << 10, 64 << 20} {
		space, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		_, addr := start(t, s, func(o *query.Options) { o.Memory, o.Temp = work.Limits{Statement: statement}, space })
		conn := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
		for _, c := range []struct{ sql, large, small string }{
			{"SELECT id, doc->>'pad' p FROM docs ORDER BY p", `Sort Method: external merge  Disk: \d+kB`,
				`Sort Method: quicksort  Memory: \d+kB`},
			{"SELECT id, doc->>'pad' p FROM docs ORDER BY p LIMIT 10", `Sort Method: top-N heapsort  Memory: \d+kB`,
				`Sort Method: top-N heapsort  Memory: \d+kB`},
			{"SELECT a.id, b.doc->>'pad' FROM docs a JOIN docs b ON a.doc->>'k' = b.doc->>'i'",
				`->  Hash .*\n +Batches: [1-9]\d+  Memory Usage: \d+kB  Disk Usage: \d+kB`,
				`->  Hash .*\n +Batches: 1  Memory Usage: \d+kB\n`},
			{"SELECT id || (doc->>'pad'), count(*) FROM docs GROUP BY 1",
				`HashAggregate .*(\n .*)*\n  Batches: [1-9]\d+  Memory Usage: \d+kB  Disk Usage: \d+kB`,
				`HashAggregate .*(\n .*)*\n  Batches: 1  Memory Usage: \d+kB\n`},
			{"SELECT DISTINCT id || (doc->>'pad') FROM docs",
				`Unique .*\n  Batches: [1-9]\d+  Memory Usage: \d+kB  Disk Usage: \d+kB`,
				`Unique .*\n  Batches: 1  Memory Usage: \d+kB\n`},
			{"SELECT doc->>'pad' || id FROM docs EXCEPT SELECT id || (doc->>'pad') FROM docs",
				`HashSetOp Except .*\n  Batches: [1-9]\d+  Memory Usage: \d+kB  Disk Usage: \d+kB`,
				`HashSetOp Except .*\n  Batches: 1  Memory Usage: \d+kB\n`},
			{"SELECT count(DISTINCT id || (doc->>'pad')) FROM docs", `Aggregate .*(\n .*)*\n  Disk Usage: \d+kB`,
				`Aggregate .*\n  Aggregates: .*\n  ->`},
			{"SELECT id FROM docs WHERE id = '' OR id || (doc->>'pad') IN (SELECT id || (doc->>'pad') FROM docs)",
				`(?m)hashed SubPlan 1(.*\n)+  SubPlan 1\n    Disk: \d+kB\n    ->  All-Docs Read on docs \(actual rows=6000 loops=1\)$`,
				`(?m)  SubPlan 1\n    ->  All-Docs Read on docs \(actual rows=6000 loops=1\)$`},
			{"WITH w AS MATERIALIZED (SELECT id, doc FROM docs) SELECT count(*), max(a.doc->>'pad') FROM w a JOIN w b USING (id)",
				`  CTE w\n +Disk: \d+kB\n`, `  CTE w\n +->  All-Docs`},
		} {
			want := c.large
			if statement > 1<<20 {
				want = c.small
			}
			if plan := explained(t, conn, c.sql); !regexp.MustCompile(want).MatchString(plan) {
				t.Errorf("%s with %d bytes\n%s\nhas not %s", c.sql, statement, plan, want)
			}
		}
	}
}

// fullDisk has room for some blocks.
type fullDisk struct {
	spill.Files
	room int
}

type fullFile struct {
	spill.File
	of *fullDisk
}

func (d *fullDisk) Create() (spill.File, error) {
	f, err := d.Files.Create()
	return &fullFile{f, d}, err
}

func (f *fullFile) WriteAt(p []byte, off int64) (int, error) {
	if f.of.room--; f.of.room < 0 {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, off)
}

// A statement that fails or is cancelled while it spills leaves nothing, and its session goes on.
func TestSpill_Ends(t *testing.T) {
	s := exectest.NewStore()
	spillDocs(s.Create("postgres"), 8000)
	for _, c := range []struct {
		name      string
		limit     int64
		room      int
		code, set string
	}{
		{"full disk", 1 << 30, 300, "53100", ""},
		{"limit", 1 << 20, math.MaxInt, "53400", ""},
		{"cancel", 1 << 30, math.MaxInt, "57014", "SET statement_timeout = 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			space, err := spill.New(&fullDisk{spill.Dir(t.TempDir()), c.room}, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			_, addr := start(t, s, func(o *query.Options) {
				o.Memory, o.Temp = work.Limits{Statement: 1 << 20}, space
			})
			conn := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
			if _, err := conn.Exec(t.Context(), c.set); err != nil {
				t.Fatal(err)
			}
			for _, sql := range []string{
				"SELECT a.id, b.id FROM docs a JOIN docs b ON a.doc->'few' = b.doc->'few' ORDER BY a.doc->>'pad', b.id",
				"SELECT a.id || b.id, count(*) FROM docs a, docs b WHERE a.doc->'few' = b.doc->'few' GROUP BY 1",
				"SELECT DISTINCT a.id || b.id FROM docs a, docs b WHERE a.doc->'few' = b.doc->'few'",
			} {
				_, err := conn.Exec(t.Context(), sql)
				var e *pgconn.PgError
				if !errors.As(err, &e) || e.Code != c.code {
					t.Errorf("%s: %v, want %s", sql, err, c.code)
				}
				if now, _, _ := space.Used(); now != 0 {
					t.Errorf("%s: %d bytes are left", sql, now)
				}
			}
			if _, peak, _ := space.Used(); peak == 0 {
				t.Error("nothing was spilled")
			}
			if _, err := conn.Exec(t.Context(), "SET statement_timeout = 0"); err != nil {
				t.Fatal(err)
			}
			var n int
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM docs").Scan(&n); err != nil || n != 8000 {
				t.Errorf("afterwards %d, %v", n, err)
			}
		})
	}
}
