package query_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/badvalues"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/sqlstate"
)

const shopSQL = `{
	"orders": {"where": {"type": "order"}, "comment": "what was sold", "columns": {
		"at": "timestamptz", "total": "numeric(10,2)", "number": "int", "city": {"path": "to.city", "type": "text"},
		"dotted": {"path": ["a.b"], "type": "int", "on_error": "fail"}, "lines": "jsonb"}},
	"large": {"where": "doc->>'type' = 'order' AND (doc->>'number')::int > 1 -- the rest", "columns": {"number": "int4"}},
	"all": {"columns": {}},
	"docs": {"columns": {}},
	"self": {"where": "id IN (SELECT id FROM shop.self)", "columns": {}},
	"w1": {"where": "nonsense = 1", "columns": {"a": "int"}},
	"w2": {"where": "true) UNION SELECT (1", "columns": {"a": "int"}},
	"w3": {"where": "true", "columns": {"a": "integre"}},
	"w4": {"where": "true", "columns": {"a": "int) , (1"}},
	"w5": {"where": {"a": {"$gt": 1}}, "columns": {"a": "int"}},
	"w6": {"columns": {"a": {"type": "int", "on_error": "ignore"}}},
	"w7": {"columns": {"id": "int"}},
	"w8": {"colums": {"a": "int"}},
	"w9": 7,
	"w10": {"where": "count(*) > 1", "columns": {}},
	"w11": {"columns": {"a": {"path": "x..y", "type": "int"}}},
	"w13": {"columns": {"a": "record"}},
	"w14": {"where": "id = $1", "columns": {"a": "int"}},
	"named": {"where": "id = 'a'", "columns": {"type": "regclass", "at": "jsonpath"}}
}`

func shop(t *testing.T) (*exectest.Store, *exectest.DB) {
	t.Helper()
	s := exectest.NewStore()
	db := s.Create("shop")
	for id, doc := range map[string]string{
		"a": `{"type":"order","at":"2024-05-01T12:00:00Z","total":12.345,"number":1,"to":{"city":"Oslo"},"a.b":1,"lines":[1]}`,
		"b": `{"type":"order","at":"soon","total":"7","number":"2","to":{"city":7}}`,
		"c": `{"type":"order","number":"many","a.b":"x"}`,
		"d": `{"type":"customer","number":4}`,
	} {
		db.Put(id, doc)
	}
	db.Declared = map[string]string{"shop": shopSQL}
	return s, db
}

// TestDeclared checks the rows of declared relations.
func TestDeclared(t *testing.T) {
	s, db := shop(t)
	counts := new(badvalues.Counts)
	ss := openSessionWith(t, s, "shop", func(o *query.Options) { o.BadValues = counts })
	t.Cleanup(ss.Close)
	for _, c := range []struct{ sql, want string }{
		{`SET timezone = 'UTC'; SELECT id, at, total, number, city, lines FROM shop.orders ORDER BY id`,
			`a|2024-05-01 12:00:00+00|12.35|1|Oslo|[1] b|NULL|7.00|2|7|NULL ` +
				`c|NULL|NULL|NULL|NULL|NULL`},
		{`SELECT sum(o.total) FROM shop.orders o`, `19.35`},
		{`SELECT id FROM shop.orders WHERE number >= 2`, `b`},
		{`SELECT orders.id FROM shop.orders WHERE shop.orders.city = 'Oslo'`, `a`},
		{`SELECT dotted FROM shop.orders WHERE id = 'a'`, `1`},
		{`SELECT x.id, x.number FROM shop.large AS x WHERE id < 'c'`, `b|2`},
		{`SELECT id, type, at FROM shop.named`, `a|NULL|NULL`}, // whatever the error of the cast is
		{`SELECT count(*) FROM shop.all`, `4`},
		{`SELECT * FROM shop.all o JOIN (VALUES ('d')) v(i) ON v.i = o.id`,
			`d|1-abc|{"_id":"d","_rev":"1-abc","type":"customer","number":4}|d`},
		{`SELECT id, i FROM shop.orders JOIN (VALUES ('a', 1), ('b', 2)) v(id, i) USING (id) ORDER BY id`, `a|1 b|2`},
		{`SELECT id, rank() OVER (ORDER BY number) FROM shop.orders WHERE number > 0 ORDER BY id`, `a|1 b|2`},
		{`SELECT o.id, p.doc->>'number' FROM shop.orders o JOIN docs p ON p.id = o.id WHERE o.number = 1`, `a|1`},
		{`SELECT column_name || ' ' || data_type FROM information_schema.columns WHERE table_name = 'orders'
			ORDER BY ordinal_position`, `id text rev text at timestamp with time zone total numeric number integer ` +
			`city text dotted integer lines jsonb doc jsonb`},
		{`SELECT relkind, obj_description(oid) FROM pg_class WHERE oid = 'shop.orders'::regclass`, `r|what was sold`},
		{`SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
			WHERE i.indrelid = 'shop.orders'::regclass AND i.indisprimary`, `id`},
		{`SELECT obj_description(oid) FROM pg_class WHERE oid = 'shop.w3'::regclass`,
			`the declaration is wrong: column "a": type "integre" does not exist`},
		// A wrong declaration is a view, also if it is wrong only when it is bound.
		{`SELECT c.relname, pg_get_viewdef(c.oid), obj_description(c.oid), count(a.*)
			FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND c.relname LIKE 'w%'
			WHERE c.relkind = 'v' AND c.relnamespace = 'shop'::regnamespace AND
				c.relname IN ('w1', 'w7', 'self', 'large')
			GROUP BY 1, 2, 3 ORDER BY 1`, "self| SELECT\n  WHERE false;|the declaration is wrong: " +
			`the declaration of relation "shop.self" is wrong: it refers to itself|0 ` +
			"w1| SELECT\n  WHERE false;|the declaration is wrong: column \"nonsense\" does not exist|0 " +
			"w7| SELECT\n  WHERE false;|the declaration is wrong: column \"id\": every relation has id, rev and doc, and a " +
			"name cannot be used twice|0"},
		{`SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = 'shop'::regnamespace AND
			relkind = 'r'`, "all docs large named orders"},
	} {
		rows, err := run(t.Context(), ss, c.sql, 100)
		if got := strings.Join(rows, " "); err != nil || got != c.want {
			t.Errorf("%s\n got %s, %v\nwant %s", c.sql, got, err, c.want)
		}
	}
	bad := ""
	for _, c := range counts.Of("shop") {
		bad += fmt.Sprint(c.Cast, " ", c.Example, "; ")
	}
	if !strings.Contains(bad, "timestamp with time zone soon; ") || !strings.Contains(bad, "integer many; ") {
		t.Errorf("bad values %s", bad)
	}
	if other := new(badvalues.Counts); counts.Total() < 2 || other.Total() != 0 {
		t.Errorf("%d bad values are counted", counts.Total())
	}
	db.Declared = nil
	if _, err := run(t.Context(), ss, "SELECT * FROM shop.orders", 1); err == nil || !strings.Contains(err.Error(), "42P01") {
		t.Errorf("after the design document is gone: %v", err)
	}
}

// TestDeclared_Arrays checks columns of arrays: lists are read as jsonb_to_record reads them, and texts as literals.
func TestDeclared_Arrays(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("shop")
	for id, doc := range map[string]string{
		"a": `{"tags":["a,b","c\"d\\",null,"NULL",""],"ns":[1,"2",null],"js":[{"a":"x"},[2],null]}`,
		"b": `{"tags":"{x,y}","ns":"{3}","js":[]}`,
		"c": `{"tags":[["a"]],"ns":[1.5],"js":"x"}`,
		"d": `{"tags":[true,1.50,{"a":"\u00e9"}],"ns":{"a":1},"js":null}`,
		"e": `{"tags":"{{a},{b}}","ns":[[]],"js":[1,"\""]}`,
		"f": `{"tags":{},"ns":{},"js":{}}`,
	} {
		db.Put(id, doc)
	}
	db.Declared = map[string]string{"l": `{"lists": {"columns": {"tags": "text[]", "ns": "int[]", "js": "jsonb[]",
		"strict": {"path": "ns", "type": "int[]", "on_error": "fail"}}}}`}
	counts := new(badvalues.Counts)
	ss := openSessionWith(t, s, "shop", func(o *query.Options) { o.BadValues = counts })
	t.Cleanup(ss.Close)
	for sql, want := range map[string]string{
		"SELECT id, tags, ns, js FROM l.lists ORDER BY id": `a|{"a,b","c\"d\\",NULL,"NULL",""}|{1,2,NULL}|` +
			`{"{\"a\": \"x\"}",[2],NULL} b|{x,y}|{3}|{} c|NULL|NULL|NULL d|{true,1.50,"{\"a\": \"é\"}"}|NULL|NULL ` +
			`e|NULL|NULL|{1,"\"\\\"\""} f|NULL|NULL|NULL`,
		"SELECT id FROM l.lists WHERE 2 = ANY (ns)":                   "a",
		"SELECT count(*), sum(cardinality(tags)) FROM l.lists":        "6|10",
		"SELECT strict FROM l.lists WHERE id < 'c' ORDER BY id":       "{1,2,NULL} {3}",
		"SELECT DISTINCT unnest(tags) FROM l.lists WHERE id = 'b'":    "x y",
		"SELECT id FROM l.lists WHERE tags @> ARRAY['x'] ORDER BY id": "b",
	} {
		rows, err := run(t.Context(), ss, sql, 100)
		if got := strings.Join(rows, " "); err != nil || got != want {
			t.Errorf("%s\n got %s, %v\nwant %s", sql, got, err, want)
		}
	}
	var e *sqlstate.Error
	for _, id := range []string{"c", "d", "f"} {
		_, err := run(t.Context(), ss, "SELECT strict FROM l.lists WHERE id = '"+id+"'", 1)
		if !errors.As(err, &e) || e.Code != sqlstate.InvalidTextRepresentation {
			t.Errorf("a bad value of a strict column, of document %s: %v", id, err)
		}
	}
	if counts.Total() == 0 {
		t.Error("no bad value is counted")
	}
}

// TestDeclared_Errors checks what is said about wrong declarations and values.
func TestDeclared_Errors(t *testing.T) {
	s, _ := shop(t)
	ss := openSession(t, s, "shop")
	for sql, want := range map[string]string{
		"SELECT dotted FROM shop.orders": `22P02 invalid input syntax for type integer: "x"`,
		"SELECT * FROM shop.large":       `22P02 invalid input syntax for type integer: "many"`,
		"SELECT * FROM shop.w1":          `42P17 the declaration of relation "shop.w1" is wrong: column "nonsense" does not exist`,
		"SELECT * FROM shop.w2":          `42P17 the declaration of relation "shop.w2" is wrong: "where": syntax error`,
		"SELECT * FROM shop.w3":          `42P17 the declaration of relation "shop.w3" is wrong: column "a": type "integre" does`,
		"SELECT * FROM shop.w4":          `42P17 the declaration of relation "shop.w4" is wrong: column "a": `,
		"SELECT * FROM shop.w5":          `42P17 the declaration of relation "shop.w5" is wrong: "where": the object may have only`,
		"SELECT * FROM shop.w6":          `42P17 the declaration of relation "shop.w6" is wrong: column "a": "on_error" must be`,
		"SELECT * FROM shop.w7":          `42P17 the declaration of relation "shop.w7" is wrong: column "id": every relation`,
		"SELECT * FROM shop.w8":          `42P17 the declaration of relation "shop.w8" is wrong: unknown member "colums"`,
		"SELECT * FROM shop.w9":          `42P17 the declaration of relation "shop.w9" is wrong: a relation must be an object`,
		"SELECT * FROM shop.w10":         `42P17 the declaration of relation "shop.w10" is wrong: aggregate functions are not`,
		"SELECT * FROM shop.w11":         `42P17 the declaration of relation "shop.w11" is wrong: column "a": a path has an empty`,
		"SELECT * FROM shop.self":        `42P17 the declaration of relation "shop.self" is wrong: it refers to itself`,
		"SELECT * FROM shop.w13":         `42P17 the declaration of relation "shop.w13" is wrong: column "a": a column cannot`,
		"SELECT * FROM shop.w14":         `42P17 the declaration of relation "shop.w14" is wrong: "where": it has a parameter`,
		"DELETE FROM shop.docs":          `0A000 `,
		"SELECT * FROM shop.w12":         `42P01 relation "shop.w12" does not exist`,
		"SELECT nothing FROM shop.all":   `42703 column "nothing" does not exist`,
	} {
		_, err := run(t.Context(), ss, sql, 100)
		var e *sqlstate.Error
		if !errors.As(err, &e) || !strings.HasPrefix(string(e.Code)+" "+e.Message, want) {
			t.Errorf("%s\n got %v\nwant %s", sql, err, want)
		}
	}
}

// TestDeclared_Index checks that conditions on declared columns use views.
func TestDeclared_Index(t *testing.T) {
	s, db := shop(t)
	ss := openSession(t, s, "shop")
	member := func(name string) rowshape.Expr { return rowshape.Expr{Op: rowshape.Member, Path: []string{name}} }
	db.AddShaped("by", "number", "", &rowshape.Shape{AsJavaScript: true,
		Key: []rowshape.Value{{Path: []string{"number"}}}, Cond: &rowshape.Expr{Op: rowshape.Same,
			Args: []rowshape.Expr{member("type"), {Op: rowshape.Constant, JSON: `"order"`}}}}, corpusMember("number", "number"))
	for _, sql := range []string{"SELECT id FROM shop.orders WHERE number = 1",
		"SELECT id FROM shop.orders WHERE number < 2",
		"SELECT o.id FROM shop.orders o JOIN (VALUES (1)) v(n) ON o.number = v.n WHERE o.number < 2"} {
		db.TakeLog()
		rows, err := run(t.Context(), ss, sql, 10)
		if log := strings.Join(db.TakeLog(), "; "); err != nil || !slices.Equal(rows, []string{"a"}) ||
			!strings.Contains(log, "view by/number") {
			t.Errorf("%s: %q, %v, %s", sql, rows, err, log)
		}
	}
}
