package query_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/work"
)

// chain returns n WITH queries that each refer twice to the one before.
func chain(n int, how string) string {
	var b strings.Builder
	b.WriteString("WITH c0 AS (SELECT 1 x)")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, ", c%d AS %s (SELECT a.x FROM c%d a, c%d b)", i, how, i-1, i-1)
	}
	fmt.Fprintf(&b, " SELECT x FROM c%d", n-1)
	return b.String()
}

// numbered repeats a format with 0, 1, 2 and so on.
func numbered(n int, format, sep string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, sep)
}

// nested nests a query n times in the FROM of another.
func nested(n int, inner, around string) string {
	for range n {
		inner = strings.Replace(around, "QUERY", inner, 1)
	}
	return inner
}

// long is a row with a long value.
const long = " FROM (SELECT repeat('a',7000000) x OFFSET 0) q"

// hostile are statements that would run for ever or exhaust the memory if any part of them were computed once for each
// path to it, or not counted. Each ends with its answer or its error, and the connection continues.
var hostile = []struct{ name, sql, code string }{
	{"chain of WITH", chain(40, ""), ""},
	{"chain of WITH, materialized", chain(40, "MATERIALIZED"), ""},
	{"chain of WITH, not materialized", chain(40, "NOT MATERIALIZED"), "54001"},
	{"nested WITH", nested(40, "SELECT 1 x", "WITH a AS (QUERY) SELECT p.x FROM a p, a q"), ""},
	{"nested sub-queries", nested(40, "SELECT 1 AS x FROM docs", "SELECT x+x AS x FROM (QUERY) q LIMIT 1"), "22003"},
	{"merged sub-queries", nested(40, "SELECT id AS x FROM docs", "SELECT greatest(x, x) AS x FROM (QUERY) q"), ""},
	{"nested sub-queries of growing texts", "SELECT length(x) FROM (" + nested(40, "SELECT repeat('x', 1000000) AS x",
		"SELECT x||x AS x FROM (QUERY OFFSET 0) q") + ") q", "53200"},
	{"pretty brackets", "SELECT jsonb_pretty((repeat('[',3900)||repeat(']',3900))::jsonb)", "53200"},
	{"many groups", `SELECT regexp_replace(repeat('a ',2000),'\y'||repeat('()',400),'','g') IS NULL`, ""},
	{"growing replacement", "SELECT regexp_replace(repeat('a',5000000),'a',repeat('b',100000),'g') IS NULL", "53200"},
	{"many WITH", "WITH " + numbered(3000, "c%d AS (SELECT 1)", ",") + " SELECT * FROM c2999", ""},
	{"nullif",
		"SELECT " + strings.Repeat("nullif(", 80) + "x" + strings.Repeat(",2)", 80) +
			" FROM generate_series(1,2) x GROUP BY 1", ""},
	{"operand of CASE",
		"SELECT " + strings.Repeat("CASE ", 60) + "x" +
			strings.Repeat(" WHEN 1 THEN 2 WHEN 2 THEN 3 WHEN 4 THEN 5 END", 60) +
			" FROM generate_series(1,2) x", ""},
	{"BETWEEN",
		"SELECT " + strings.Repeat("(", 60) + "x" + strings.Repeat(" BETWEEN false AND true)", 60) +
			" FROM (SELECT true x OFFSET 0) q", ""},
	{"BETWEEN SYMMETRIC",
		"SELECT " + strings.Repeat("(true BETWEEN SYMMETRIC false AND ", 60) + "x" + strings.Repeat(")", 60) +
			" FROM (SELECT true x OFFSET 0) q", ""},
	{"rows",
		"SELECT " + strings.Repeat("((", 60) + "x" + strings.Repeat(",1)<(true,1))", 60) +
			" FROM (SELECT true x OFFSET 0) q", ""},
	{"long IN", "SELECT id FROM docs WHERE id IN (" + numbered(90_000, "'%d'", ",") + ")", ""},
	{"longer IN", "SELECT 5 IN (" + strings.Repeat("1,", 500_000) + "1)", "53200"},
	{"VALUES", "SELECT count(*) FROM (VALUES " + numbered(90_000, "(%d)", ",") + ") v", ""},
	{"UNION", "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 10_000), "54001"},
	{"brackets", "SELECT " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000), "54001"},
	{"brackets that do not close", "SELECT " + strings.Repeat("(", 1_000_000), "54001"},
	{"aggregates", "SELECT 1 HAVING " + numbered(5000, "sum(%d)>0", " AND "), ""},
	{"ORDER BY", "SELECT " + numbered(1600, "%d", ",") + " ORDER BY " + numbered(10_000, "1+%d", ","), ""},
	{"FROM", "SELECT 1 FROM " + numbered(20_000, "pg_class c%d", ","), "54001"},
	{"repeat", "SELECT repeat('x', 1000000000)", "53200"},
	{"many values in a row", "SELECT " + strings.Repeat("repeat('x', 60000000),", 50) + "1", "53200"},
	{"many values in an expression", "SELECT " + strings.Repeat("length(repeat('x', 60000000)),", 50) + "1", "53200"},
	{"values of many rows", "SELECT count(*) FROM generate_series(1, 40) g WHERE length(repeat('x', 60000000)) > g",
		""},
	{"string_agg", "SELECT length(string_agg(repeat('x',1000), ',')) FROM generate_series(1,1000000)", "53200"},
	{"array_agg", "SELECT cardinality(array_agg(repeat('x',1000))) FROM generate_series(1,1000000)", "53200"},
	{"jsonb_agg", "SELECT length(jsonb_agg(repeat('x',1000))::text) FROM generate_series(1,1000000)", "53200"},
	{"the longest of each group",
		"SELECT length(max(repeat('x',1000000) || g)) FROM generate_series(1,1000) g GROUP BY g", "53200"},
	{"an aggregate in a correlated sub-query",
		"SELECT sum((SELECT length(string_agg(repeat('x',1000),'')) FROM generate_series(1,100) b WHERE b < a)) " +
			"FROM generate_series(1,1500) a", ""},
	{"aggregate over a window",
		"SELECT string_agg(repeat('x',100),'') OVER (ORDER BY a) FROM generate_series(1,100000) a", "53200"},
	{"sort", "SELECT a FROM generate_series(1,100000000) a ORDER BY -a", "53200"},
	{"DISTINCT", "SELECT DISTINCT a FROM generate_series(1,100000000) a OFFSET 100000000", "53200"},
	{"GROUP BY", "SELECT a FROM generate_series(1,100000000) a GROUP BY a", "53200"},
	{"join", "SELECT a.x FROM generate_series(1,100000000) a(x) JOIN (SELECT generate_series(1,100000000) x) b " +
		"ON a.x = b.x", "53200"},
	{"recursion", "WITH RECURSIVE t(n) AS (SELECT 'x'::text UNION SELECT n||g FROM t, generate_series(1,10) g) " +
		"SELECT count(*) FROM t", "53200"},
	{"recursion that grows",
		"WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t, generate_series(1,10)) SELECT count(*) FROM t",
		"53200"},
	{"recursion of arrays",
		"WITH RECURSIVE t(x) AS (SELECT ARRAY[1,2] UNION ALL SELECT array_cat(x,x) FROM t) SELECT count(*) FROM t",
		"53200"},
	{"a materialized series",
		"WITH s AS MATERIALIZED (SELECT * FROM generate_series(1,100000000)) SELECT count(*) FROM s", "53200"},
	{"the first of many", "SELECT * FROM generate_series(1, 1000000000000000000) LIMIT 1", ""},
	{"the first of a materialized many",
		"WITH s AS (SELECT x FROM generate_series(1,1000000000000) x) SELECT a.x FROM s a, (SELECT x FROM s LIMIT " +
			"1) b LIMIT 1", ""},
	{"the end of the numbers", "SELECT count(*) FROM generate_series(9223372036854775800, 9223372036854775807, 5)", ""},
	{"split", "SELECT count(*) FROM unnest(string_to_array(repeat('a,',20000000), ',')) x", "53200"},
	{"split by an expression", "SELECT count(*) FROM regexp_split_to_table(repeat('a',5000000), '') x", "53200"},
	{"replace", "SELECT length(replace(repeat('x',20000), 'x', repeat('y',20000)))", "53200"},
	{"replace by an expression", "SELECT length(regexp_replace(repeat('a',5000000), '', repeat('b',100), 'g'))",
		"53200"},
	{"array of a text", "SELECT cardinality(('{'||repeat('1,',10000000)||'1}')::int[])", "53200"},
	{"lpad", "SELECT length(lpad('x', 2000000000))", "54000"},
	{"translate", "SELECT length(translate(repeat('x',1000000), repeat('y',100000), ''))", ""},
	// Short values that refer many times to a long one, or whose other forms are long.
	{"separator",
		"SELECT length(array_to_string(array_agg(''::text), repeat('x',1000000))) FROM generate_series(1,1000)",
		"53200"},
	{"format", "SELECT length(format(repeat('%s',60)" + strings.Repeat(",x", 60) + "))" + long, "53200"},
	{"array as JSON", "SELECT length(to_jsonb(ARRAY[" + strings.Repeat("x,", 60) + "x])::text)" + long, "53200"},
	{"array as text", "SELECT length(ARRAY[" + strings.Repeat("x,", 60) + "x]::text)" + long, "53200"},
	{"array in a text", "SELECT length(concat(ARRAY[" + strings.Repeat("x,", 60) + "x]))" + long, "53200"},
	{"array in an aggregate", "SELECT length(jsonb_agg(ARRAY[" + strings.Repeat("x,", 60) + "x])::text)" + long,
		"53200"},
	{"array of a group", "SELECT count(*) FROM (SELECT ARRAY[" + strings.Repeat("x,", 60) + "x] a" + long +
		") r GROUP BY a", "53200"},
	{"array sent", "SELECT ARRAY[" + strings.Repeat("x,", 60) + "x]" + long, "53200"},
	{"array copied", "COPY (SELECT ARRAY[" + strings.Repeat("x,", 60) + "x]" + long + ") TO STDOUT", "53200"},
	{"columns of one value", "SELECT " + strings.Repeat("x,", 60) + "x" + long, "53200"},
	{"JSON of one value", "SELECT length(jsonb_build_array(" + strings.Repeat("x,", 60) + "x)::text)" + long, "53200"},
	{"JSON object of one value", "SELECT length(json_build_object(" + strings.Repeat("x,x,", 30) + "x,x)::text)" + long,
		"53200"},
	{"JSON escapes", `SELECT length(to_jsonb(repeat(E'\x01',6000000))::text)`, "53200"},
	{"quotes", "SELECT length(quote_literal(repeat('''',10000000)))", "53200"},
	{"quoted name", `SELECT length(quote_ident(repeat('"',10000000)))`, "53200"},
	{"longer letters", "SELECT length(translate(repeat('a',10000000),'a','€'))", "53200"},
	{"groups of an expression", `SELECT length(regexp_replace(repeat('a',1000000),'(a*)',repeat('\1',1000)))`, "53200"},
	{"JSON elements", "SELECT count(*) FROM jsonb_array_elements(('['||repeat('1,',4000000)||'1]')::jsonb)", ""},
	{"JSON concatenation",
		"WITH RECURSIVE r AS (SELECT '[1]'::jsonb a UNION ALL SELECT a||a FROM r) SELECT count(*) FROM r", "53200"},
	{"trim", "SELECT length(btrim(repeat('é',3000000), repeat('b',3000000)||'é'))", ""},
	{"format of a time", "SELECT length(to_char(now(), repeat('J',4000000)))", "54000"},
	{"text of an interval", "SELECT (repeat('1 day ',1000000))::interval", "22007"},
	{"text of a time", "SELECT (repeat('2024-01-01 ',1000000))::timestamp", "22007"},
	{"zone", "SELECT now() AT TIME ZONE repeat('x',4000000)", "22023"},
	{"long error", "SELECT date_trunc(repeat('x',4000000), now())", "22023"},
	{"power", "SELECT 10::numeric^200000", "22003"},
	{"expression", "SELECT 'a' ~ repeat('(a?', 100000)", "2201B"},
}

func dial(t *testing.T, addr string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig("postgres://ann@" + addr + "/cities?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func codeOf(err error) string {
	var pe *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &pe):
		return pe.Code
	}
	return err.Error()
}

func TestServer_HostileStatements(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	cities(s)
	srv, addr := start(t, s, nil)
	// A statement that reaches the memory limit reaches a smaller one sooner.
	tight, tightAddr := start(t, s, func(o *query.Options) { o.Memory.Statement = 16 << 20 })
	conn, tightConn := dial(t, addr), dial(t, tightAddr)
	for _, h := range hostile {
		conn := conn
		if h.code == "53200" {
			conn = tightConn
		}
		t.Run(h.name, func(t *testing.T) {
			_, err := conn.Exec(t.Context(), h.sql)
			var pe *pgconn.PgError
			if errors.As(err, &pe) && len(pe.Message)+len(pe.Detail)+len(pe.Hint) > 100_000 {
				t.Errorf("an error of %d bytes", len(pe.Message))
			}
			if got := codeOf(err); got != h.code {
				t.Errorf("got %q, want %q: %.300v", got, h.code, err)
			}
			if err := conn.Ping(t.Context()); err != nil {
				t.Fatalf("the connection is gone: %v", err)
			}
		})
	}
	for _, c := range []*pgx.Conn{conn, tightConn} {
		if _, err := c.Exec(t.Context(), "DISCARD PLANS"); err != nil {
			t.Error(err)
		}
	}
	for _, srv := range []*query.Server{srv, tight} {
		if now, peak, limit := srv.Memory(); now != 0 || peak == 0 || peak > limit {
			t.Errorf("memory afterwards: %d held, %d at most, limit %d", now, peak, limit)
		}
	}
}

// TestServer_LongStatements checks statements of many megabytes, and messages with many statements.
func TestServer_LongStatements(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	cities(s)
	srv, addr := start(t, s, nil)
	conn := dial(t, addr)
	for _, c := range []struct {
		sql, code string
	}{
		{"SELECT count(*) FROM (VALUES " + numbered(40_000, "(%d,'"+strings.Repeat("x", 100)+"')", ",") + ") v", ""},
		{"SELECT count(*) FROM (VALUES " + numbered(1_000_000, "(%d)", ",") + ") v", "53200"},
		{"SELECT length('" + strings.Repeat("x", 14<<20) + "')", ""},
		{"SELECT length('" + strings.Repeat("x", 17<<20) + "')", "54000"},
		{strings.Repeat("SELECT;", 20_000), ""},
		{strings.Repeat("SELECT;", 2_000_000), "53200"},
	} {
		if _, err := conn.Exec(t.Context(), c.sql, pgx.QueryExecModeSimpleProtocol); codeOf(err) != c.code {
			t.Errorf("%.60s...: %.200v, want %q", c.sql, err, c.code)
		}
	}
	const together = 100_000
	done := make(chan error)
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT pg_sleep(0.5);"+strings.Repeat(";SELECT", together),
			pgx.QueryExecModeSimpleProtocol)
		done <- err
	}()
	most := int64(0) // while the first of the statements sleeps, and the others wait
	for waiting := true; waiting; {
		select {
		case err := <-done:
			if waiting = false; err != nil {
				t.Error(err)
			}
		case <-time.After(50 * time.Millisecond):
			if !strings.HasPrefix(srv.Sessions()[0].Statement, "SELECT pg_sleep") {
				continue // the message is still being split
			}
			now, _, _ := srv.Memory()
			most = max(most, now)
		}
	}
	if most < together*100 {
		t.Errorf("%d bytes are counted for %d statements", most, together)
	}
	if _, err := conn.Exec(t.Context(), "DISCARD PLANS"); err != nil {
		t.Error(err)
	}
	if now, _, _ := srv.Memory(); now != 0 {
		t.Errorf("%d bytes are held", now)
	}
}

// TestServer_LongComments checks that statements that a session caches do not hold the comments around them.
func TestServer_LongComments(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	cities(s)
	srv, addr := start(t, s, nil)
	conn := dial(t, addr)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	comment := "/*" + strings.Repeat("x", 900_000) + "*/"
	for i := range 100 {
		_, err := conn.Exec(t.Context(), fmt.Sprintf("%s SELECT %d", comment, i), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
	}
	if grown := heap() - before; grown > 30<<20 {
		now, _, _ := srv.Memory()
		t.Errorf("100 statements hold %d bytes, of which %d are counted", grown, now)
	}
}

// TestServer_Endless checks that statements that never end are cancelled, in whatever part they are.
func TestServer_Endless(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := dial(t, addr)
	if _, err := conn.Exec(t.Context(), "SET statement_timeout = '100ms'"); err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{
		"SELECT count(*) FROM generate_series(1, 1000000000000000000)",
		"SELECT generate_series(1, 1000000000000000000) OFFSET 1000000000000000000",
		"SELECT count(*) FROM generate_series(1,100000) a, generate_series(1,100000) b",
		"SELECT count(*) FROM generate_series(1,100000) a, generate_series(1,100000) b WHERE a::text ~ b::text",
		"WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT count(*) FROM t",
		`SELECT (repeat('a', 20001) || 'c') ~ '^(a+)(a+)(a+)\1\2\3c'`,
		"SELECT repeat('a',20000000) LIKE '%'||repeat('a',10000000)||'b'",
		"SELECT array_agg(x) @> array_agg(100001-x) FROM generate_series(1,100000) x",
		"SELECT sum((SELECT count(*) FROM generate_series(1,100000) b WHERE b < a)) FROM generate_series(1,100000) a",
		"SELECT jsonb_agg(x) @> jsonb_agg(100001-x) FROM generate_series(1,100000) x",
		"SELECT jsonb_agg(x) <@ jsonb_agg(100001-x) FROM generate_series(1,100000) x",
		"SELECT ('['||repeat('1,',20000000)||'1]')::jsonb = ('['||repeat('1,',20000000)||'1]')::jsonb",
		"SELECT count(*) FROM generate_series(1,1000000) x WHERE x < ALL (SELECT y FROM " +
			"generate_series(2000000,2300000) y)",
		"SELECT jsonb_agg(x::text) ?| array_agg((-x)::text) FROM generate_series(1,100000) x",
		"SELECT count(jsonb_array_length(j)) FROM (SELECT ('['||repeat('1,',2000000)||'1]')::jsonb j OFFSET 0) q, " +
			"generate_series(1,1000000)",
		"SELECT pg_sleep(1e9)",
	} {
		_, err := conn.Exec(t.Context(), src)
		if got := codeOf(err); got != "57014" {
			t.Errorf("%.80s: got %q, want 57014: %v", src, got, err)
		}
	}
}

// TestServer_Memory checks that memory held by a session counts for it and for the node until it is released.
func TestServer_Memory(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	srv, addr := start(t, s, func(o *query.Options) {
		o.Memory = work.Limits{Node: 10 << 20, Session: 8 << 20, Statement: 4 << 20}
	})
	exec := func(conn *pgx.Conn, src, want, hint string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), src)
		var pe *pgconn.PgError
		errors.As(err, &pe)
		if got := codeOf(err); got != want || want != "" && !strings.Contains(pe.Hint, hint) {
			t.Errorf("%.60s: got %q, want %q with a hint at %s: %v", src, got, want, hint, err)
		}
	}
	one, two := dial(t, addr), dial(t, addr)
	nothingHeld := func() {
		t.Helper()
		// The memory of the last message is released before the next answer. Drop the cached queries too.
		exec(one, "DISCARD PLANS", "", "")
		exec(two, "DISCARD PLANS", "", "")
		if now, _, _ := srv.Memory(); now != 0 {
			t.Errorf("%d bytes are still held", now)
		}
	}
	exec(one, "SELECT length(repeat('x', 5000000))", "53200", "sql.statement_memory")
	exec(one, "SELECT length(repeat('x', 3000000))", "", "")
	// A cursor that has sorted its rows holds them.
	cursor := func(i int) string {
		return fmt.Sprintf("DECLARE c%d CURSOR FOR SELECT x FROM (SELECT repeat('x', 3000) || g AS x FROM "+
			"generate_series(1, 900) g) q ORDER BY x; FETCH c%d", i, i)
	}
	exec(one, "BEGIN", "", "")
	exec(one, cursor(1), "", "")
	exec(one, cursor(2), "", "")
	exec(one, cursor(3), "53200", "sql.session_memory")
	exec(one, "ROLLBACK", "", "")
	nothingHeld()
	exec(one, "BEGIN", "", "")
	exec(one, cursor(1), "", "")
	exec(one, cursor(2), "", "")
	exec(two, "BEGIN", "", "")
	exec(two, cursor(1), "", "")
	exec(two, cursor(2), "53200", "sql.memory")
	exec(two, "ROLLBACK", "", "")
	exec(one, "ROLLBACK", "", "")
	nothingHeld()

	// Prepared statements, their parameters and long messages count too.
	long := "SELECT '" + strings.Repeat("x", 900_000) + "'"
	var err error
	prepared := 0
	for ; err == nil && prepared < 100; prepared++ {
		_, err = two.Prepare(t.Context(), fmt.Sprintf("p%d", prepared), long)
	}
	if codeOf(err) != "53200" {
		t.Errorf("%d long prepared statements: %v", prepared, err)
	}
	exec(two, "DEALLOCATE ALL", "", "")
	comment := "/*" + strings.Repeat("x", 900_000) + "*/"
	for name, statement := range map[string]string{"PREPARE": "PREPARE c%d AS SELECT 1 ",
		"DECLARE": "DECLARE c%d CURSOR WITH HOLD FOR SELECT 1 "} {
		err := error(nil)
		for i := 0; err == nil && i < 100; i++ {
			_, err = two.Exec(t.Context(), fmt.Sprintf(statement, i)+comment)
		}
		if codeOf(err) != "53200" {
			t.Errorf("%s with long comments: %v", name, err)
		}
		exec(two, "DEALLOCATE ALL", "", "")
		exec(two, "CLOSE ALL", "", "")
	}
	exec(two, "SELECT '"+strings.Repeat("x", 9_000_000)+"'", "53200", "sql.session_memory")
	nothingHeld()
}
