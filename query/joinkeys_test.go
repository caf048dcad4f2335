package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/query/work"
)

// references writes n documents that refer to each other by id, and the view by.ref of the references, here and to
// PostgreSQL.
func references(t *testing.T, db *exectest.DB, theirs *pgx.Conn, n int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 8))
	var sql strings.Builder
	sql.WriteString("DROP SCHEMA IF EXISTS by CASCADE; DROP TABLE IF EXISTS docs; CREATE SCHEMA by; " +
		"CREATE TABLE docs (id text PRIMARY KEY, rev text, doc jsonb); " +
		"CREATE TABLE by.ref (id text, key jsonb, value jsonb); ")
	for i := range n {
		id, ref := fmt.Sprintf("d%04d", i), "null"
		switch rnd.IntN(8) {
		case 0:
		case 1:
			ref = fmt.Sprintf(`"gone%d"`, rnd.IntN(5))
		case 2:
			ref = fmt.Sprintf(`{"b":%d,"a":[1.0]}`, rnd.IntN(3))
		default:
			ref = fmt.Sprintf(`"d%04d"`, rnd.IntN(n))
		}
		body := fmt.Sprintf(`{"ref":%s,"n":%d,"few":%d,"pad":"%s"}`, ref, i, rnd.IntN(5), strings.Repeat("x", 900))
		db.Put(id, body)
		fmt.Fprintf(&sql, "INSERT INTO docs VALUES ('%s','1-a','%s'); INSERT INTO by.ref VALUES ('%s','%s','%d'); ",
			id, body, id, ref, i)
	}
	db.AddView("by", "ref", "", corpusMember("ref", "n"))
	if _, err := theirs.Exec(t.Context(), sql.String()); err != nil {
		t.Fatal(err)
	}
}

// byKeys are statements that read a relation by the ids or keys of another, and the reads of the store that they make.
var byKeys = []struct{ name, sql, reads string }{
	{"documents by a view's ids", "SELECT d.id, v.key FROM by.ref v JOIN docs d ON d.id = v.id WHERE v.key = '\"gone1\"'",
		"view keys, ids"},
	{"the other way round", "SELECT d.id, v.key FROM docs d JOIN by.ref v ON d.id = v.id WHERE v.key = '\"gone1\"'",
		"view keys, ids"},
	{"left join", "SELECT v.x, d.id FROM (VALUES ('d0001'),('d0009'),('no'),(NULL)) v(x) LEFT JOIN docs d ON d.id = v.x",
		"ids"},
	{"right join", "SELECT v.x, d.id FROM docs d RIGHT JOIN (VALUES ('d0001'),('no'),(NULL)) v(x) ON d.id = v.x", "ids"},
	{"view by keys", "SELECT v.x, r.id FROM (VALUES ('\"gone1\"'::jsonb),('\"d0003\"'),('{\"a\":[1],\"b\":1}')) v(x) " +
		"JOIN by.ref r ON r.key = v.x", ""},
	{"reference", "SELECT a.id, b.id, b.doc->'n' FROM docs a JOIN docs b ON b.id = a.doc->>'ref' WHERE a.id < 'd0020'",
		"range, ids"},
	{"three", "SELECT a.id, c.id FROM docs a, docs b, docs c WHERE a.id < 'd0020' AND b.id = a.doc->>'ref' " +
		"AND c.id = b.doc->>'ref'", "range, ids, ids"},
	{"in", "SELECT id FROM docs WHERE id IN (SELECT doc->>'ref' FROM docs WHERE id < 'd0020')", "range, ids"},
	{"any", "SELECT id FROM by.ref WHERE key = ANY (SELECT to_jsonb(id) FROM docs WHERE id < 'd0020')", ""},
	{"in and a range", "SELECT id FROM docs WHERE id > 'd0100' AND id IN (SELECT doc->>'ref' FROM docs " +
		"WHERE id < 'd0020')", "range, ids"},
	{"not in", "SELECT count(*) FROM docs WHERE id NOT IN (SELECT x FROM (VALUES ('d0001')) v(x))", "range"},
	{"exists", "SELECT v.x FROM (VALUES ('d0001'),('no')) v(x) WHERE EXISTS (SELECT 1 FROM docs d WHERE d.id = v.x)",
		"ids"},
	{"not exists", "SELECT v.x FROM (VALUES ('d0001'),('no')) v(x) WHERE NOT EXISTS (SELECT 1 FROM docs d " +
		"WHERE d.id = v.x)", "ids"},
	{"lateral", "SELECT v.x, q.n FROM (VALUES ('d0001'),('no')) v(x) LEFT JOIN LATERAL (SELECT doc->'n' n FROM docs " +
		"WHERE id = v.x) q ON true", "ids"},
	{"lateral with a limit", "SELECT a.id, q.* FROM docs a, LATERAL (SELECT b.id, b.doc->'n' FROM docs b " +
		"WHERE b.id = a.doc->>'ref' ORDER BY b.doc->'n' LIMIT 1) q", "range, ids, ids, ids"},
	{"lateral by key", "SELECT a.id, q.* FROM docs a, LATERAL (SELECT count(*), max(v.id) FROM by.ref v " +
		"WHERE v.key = a.doc->'ref') q WHERE a.id < 'd0016'", "range, view keys, view keys"},
	{"lateral by a hash", "SELECT a.id, q.* FROM docs a, LATERAL (SELECT b.id FROM docs b WHERE b.doc->>'few' = " +
		"a.doc->>'few' ORDER BY b.id LIMIT 2) q", ""},
	{"aggregate by a hash", "SELECT a.id, (SELECT count(*) FROM docs b WHERE b.doc->>'ref' = a.id) FROM docs a",
		"range, range, range"},
	{"array by a hash", "SELECT a.id, array(SELECT b.id FROM docs b WHERE b.doc->>'ref' = a.id AND b.id > a.id " +
		"ORDER BY 1) FROM docs a", "range, range, range"},
	{"two levels up", "SELECT a.id, (SELECT max((SELECT count(*) FROM docs c WHERE c.doc->'few' = a.doc->'few' " +
		"AND c.doc->>'ref' = b.id)) FROM docs b WHERE b.id = a.doc->>'ref') FROM docs a WHERE a.id < 'd0016'", ""},
	{"error that no row needs", "SELECT a.id FROM docs a WHERE a.id < 'd0010' AND CASE WHEN a.doc->>'few' < '9' THEN true " +
		"ELSE EXISTS (SELECT 1 FROM docs b WHERE b.id = (a.id::int)::text) END", ""},
	{"scalar", "SELECT v.x, (SELECT doc->'n' FROM docs WHERE id = v.x) FROM (VALUES ('d0001'),('no')) v(x)",
		"ids"},
	{"nothing", "SELECT * FROM (SELECT 'x' x WHERE 1 = 2) v JOIN docs d ON d.id = v.x", ""},
}

// TestJoins_ByKey checks that joins read few documents and rows by their ids and keys, and answer as PostgreSQL does.
func TestJoins_ByKey(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	s := exectest.NewStore()
	db := s.Create("postgres")
	references(t, db, theirs, 300)
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	for _, c := range byKeys {
		t.Run(c.name, func(t *testing.T) {
			db.TakeLog()
			got := result(t.Context(), ours, c.sql, nil, true)
			log := db.TakeLog()
			if want := result(t.Context(), theirs, c.sql, nil, true); got != want {
				t.Errorf("%s\n%s", c.sql, firstDifference(got, want))
			}
			if len(log) > 60 {
				t.Errorf("%s\nmakes %d reads", c.sql, len(log))
			}
			if reads := readsOf(log); reads != c.reads && c.reads != "" {
				t.Errorf("%s\nreads %q, want %q: %q", c.sql, reads, c.reads, log)
			}
		})
	}
}

// TestJoins_ManyKeys checks that a join with a large other side reads documents and rows of a view by their ids and
// keys, many at a time, if all of them are many more.
func TestJoins_ManyKeys(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	db := s.Create("postgres")
	const n = 20000
	for i := range n {
		db.Put(fmt.Sprintf("d%05d", i), fmt.Sprintf(`{"n":%d,"g":"g%d"}`, i, i%7))
	}
	db.AddView("by", "n", "", corpusMember("n", "g"))
	db.ViewRows = n
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	ids := "(SELECT 'd' || lpad((x * 3)::text, 5, '0') AS id, to_jsonb(x * 3) AS n FROM generate_series(1, %d) x) a"
	for _, c := range []struct {
		name, sql string
		keys      int
		want      string
		reads     string
	}{
		{"documents", "SELECT count(*), sum((d.doc->>'n')::int) FROM %s JOIN docs d ON d.id = a.id", 2300, "2300|7938450",
			"count, ids, ids, ids"},
		{"other side", "SELECT count(*), sum((d.doc->>'n')::int) FROM docs d JOIN %s ON d.id = a.id", 2300, "2300|7938450",
			"count, ids, ids, ids"},
		{"too many", "SELECT count(*), sum((d.doc->>'n')::int) FROM %s JOIN docs d ON d.id = a.id", 2600, "2600|10143900",
			"count, range"},
		{"left", "SELECT count(*), count(d.id) FROM %s LEFT JOIN docs d ON d.id = a.id || 'x'", 2300, "2300|0",
			"count, ids, ids, ids"},
		{"semi", "SELECT count(*), max(id) FROM docs d WHERE id IN (SELECT a.id FROM %s)", 1500, "1500|d04500",
			"count, ids, ids"},
		{"anti", "SELECT count(*), max(id) FROM %s WHERE NOT EXISTS (SELECT FROM docs d WHERE d.id = a.id)", 1500, "0|NULL",
			"count, ids, ids"},
		{"part", "SELECT count(*), max(d.id) FROM %s JOIN docs d ON d.id = a.id AND d.id > 'd00010'", 1500, "1497|d04500",
			"range"},
		{"view", "SELECT count(*), max(v.id) FROM %s JOIN by.n v ON v.key = a.n", 1500, "1500|d04500",
			"view keys, view keys"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db.TakeLog()
			_, got, _ := strings.Cut(result(t.Context(), conn, fmt.Sprintf(c.sql, fmt.Sprintf(ids, c.keys)), nil, true), "\n")
			if got, _, _ = strings.Cut(got, "\n"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if log := db.TakeLog(); readsOf(log) != c.reads {
				t.Errorf("reads %q, want %q: %.300q", readsOf(log), c.reads, log)
			}
		})
	}
}

// TestJoins_Random compares random joins of random documents with PostgreSQL, in little memory, so that they spill, and
// in enough.
func TestJoins_Random(t *testing.T) {
	oneGoroutine(t)
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	s := exectest.NewStore()
	references(t, s.Create("postgres"), theirs, 600)
	space, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	_, addr := start(t, s, nil)
	enough := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	_, addr = start(t, s, func(o *query.Options) { o.Memory, o.Temp = work.Limits{Statement: 512 << 10}, space })
	little := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	rapid.Check(t, func(r *rapid.T) {
		sql := randomJoin(r)
		want := result(t.Context(), theirs, sql, nil, true)
		for name, conn := range map[string]*pgx.Conn{"enough memory": enough, "little memory": little} {
			if got := result(t.Context(), conn, sql, nil, true); got != want {
				r.Fatalf("%s, %s\n%s", name, sql, firstDifference(got, want))
			}
		}
	})
	if _, peak, _ := space.Used(); peak == 0 {
		t.Error("nothing was spilled")
	}
}

// randomJoin returns a statement over docs and by.ref.
func randomJoin(r *rapid.T) string {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(r, name) }
	side := func(alias string) string {
		return pick("side", "docs ", "docs ", "(SELECT id, doc, to_jsonb(id) AS key FROM docs WHERE doc->>'few' < '3') ",
			"(SELECT id, doc FROM docs WHERE id < 'd0130') ",
			"(SELECT 'd0007' AS id, '{\"ref\":\"d0008\",\"few\":1}'::jsonb AS doc) ") + alias
	}
	on := pick("on", "a.id = b.id", "b.id = a.doc->>'ref'", "a.id = b.doc->>'ref'", "a.doc->'ref' = b.doc->'ref'",
		"b.id = a.doc->>'ref' AND a.doc->'few' < b.doc->'few'", "a.id = b.id AND a.doc->'few' = '2'")
	where := pick("where", "", " WHERE a.id < 'd0500'", " WHERE b.doc->>'few' = '1'",
		" WHERE a.id IN (SELECT doc->>'ref' FROM docs WHERE id < 'd0100')",
		" WHERE a.id < 'd0020' AND EXISTS (SELECT 1 FROM by.ref v WHERE v.key = to_jsonb(a.id) AND v.id < 'd0300')",
		" WHERE b.id IS NULL", " WHERE a.id IN (SELECT id FROM by.ref)")
	kind := pick("kind", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
	from := side("a") + " " + kind + " " + side("b") + " ON " + on
	if rapid.IntRange(0, 3).Draw(r, "third") == 0 {
		from += " " + pick("kind", "JOIN", "LEFT JOIN") + " by.ref c ON " + pick("on c", "c.id = a.id", "c.id = b.id",
			"c.key = b.doc->'ref'", "c.key = to_jsonb(a.id)")
	}
	return pick("select", "SELECT a.id, b.id, b.doc->'n' FROM ", "SELECT DISTINCT a.doc->'few', b.id FROM ",
		"SELECT count(*), count(a.id), count(DISTINCT b.id), max(b.id) FROM ") + from + where
}

// readsOf returns the kinds of logged reads.
func readsOf(log []string) string {
	var out []string
	for _, l := range log {
		switch {
		case strings.HasPrefix(l, "count"):
			out = append(out, "count")
		case strings.HasPrefix(l, "doc"):
			out = append(out, "document")
		case strings.Contains(l, `ids=["`):
			out = append(out, "ids")
		case strings.HasPrefix(l, "view"):
			out = append(out, "view keys")
		default:
			out = append(out, "range")
		}
	}
	return strings.Join(out, ", ")
}
