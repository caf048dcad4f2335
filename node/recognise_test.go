package node

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/sqlreads"
	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec"
)

// sqlOver serves the databases of a store over SQL and returns the address. Indexes are built within statements.
func sqlOver(t *testing.T, store *layer.Store) string {
	t.Helper()
	source := &sqlreads.Source{
		Store: store,
		Ensure: func(ctx context.Context, db *layer.Database, design *layer.Design, _ exec.UpdateMode) error {
			_, err := db.Index(design).CatchUp(ctx, 1000)
			return err
		},
	}
	root := layer.UserCtx{Name: "root", Roles: []string{"_admin"}}
	server := query.NewServer(query.Options{Log: slog.New(slog.DiscardHandler),
		Catalog: func(context.Context, query.Principal) (exec.Catalog, error) {
			return source.Catalog(root, nil), nil
		}})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Shutdown(context.WithoutCancel(t.Context())); <-done })
	return l.Addr().String()
}

func openedStore(t *testing.T) *layer.Store {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	engine, err := embedded.Open(t.TempDir(), embedded.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	sandbox := script.New(script.Options{})
	t.Cleanup(func() { _ = sandbox.Close() })
	store, err := layer.Open(t.Context(), engine, layer.Options{Logger: log, Scripts: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func quotedJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

var (
	testTexts = []string{"", "a", "A", "ab", "b", "é", "e\u0301", "1", "1.0", "100", "true", "null", "[1]", "NO",
		"NO\u00ad", "no", "a\u0000", "\ufffd", "2024-01-05", "2024-02-01", "0", "city"}
	testNumbers = []string{"0", "-0", "0.0", "1", "1.0", "1e2", "100", "-1", "12.5", "0.1", "0.10000000000000000001",
		"9007199254740993", "9007199254740992", "12345678901234567890", "1e300", "1e400", "-1e400", "1e-400", "5", "1e23",
		"100000000000000000000000",
		"1234567890123456789", "1234567890123456789.0", "-9007199254740993", "1E-7", "12345678901234567000"}
	testPaths = []string{"a", "b", "n.x", "type"}
)

func testValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 4+depth*2).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false", `"\u0061"`, `"a\u0000b"`,
				`"\ud83d\ude00"`, `[[[[1e400]]]]`, `{"a":{"a":[{"x":-0}]}}`}).Draw(t, "word")
		case 1, 2:
			return rapid.SampledFrom(testNumbers).Draw(t, "number")
		case 5:
			return "[" + strings.Join(rapid.SliceOfN(testValue(depth-1), 0, 2).Draw(t, "array"), ",") + "]"
		case 6:
			list := rapid.SliceOfN(testValue(depth-1), 0, 2).Draw(t, "object")
			for i := range list {
				list[i] = fmt.Sprintf(`"%c":%s`, "x1"[i], list[i])
			}
			return "{" + strings.Join(list, ",") + "}"
		}
		return quotedJSON(rapid.SampledFrom(testTexts).Draw(t, "text"))
	})
}

func testDocument() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		members := []string{}
		for _, name := range []string{"a", "b", "type"} {
			if rapid.IntRange(0, 4).Draw(t, name) > 0 {
				members = append(members, `"`+name+`":`+testValue(1).Draw(t, "value"))
			}
		}
		switch rapid.IntRange(0, 3).Draw(t, "n") {
		case 0:
			members = append(members, `"n":`+testValue(1).Draw(t, "value"))
		case 1, 2:
			members = append(members, `"n":{"x":`+testValue(1).Draw(t, "value")+`}`)
		}
		return strings.Join(members, ",")
	})
}

// testCondition generates a condition of a map function.
func testCondition(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		path := "doc." + rapid.SampledFrom([]string{"a", "b", "type", "type"}).Draw(t, "path")
		literal := rapid.SampledFrom([]string{`"city"`, `"a"`, "1", "0", "null", "true", "undefined", `""`, "100"}).Draw(t,
			"literal")
		switch rapid.IntRange(0, 6+depth*2).Draw(t, "condition") {
		case 0:
			return path
		case 1, 2:
			return path + rapid.SampledFrom([]string{" === ", " !== ", " == ", " != "}).Draw(t, "operator") + literal
		case 3:
			return "typeof " + path + " === " + rapid.SampledFrom([]string{`"string"`, `"number"`, `"object"`}).Draw(t, "type")
		case 4:
			return "Array.isArray(" + path + ")"
		case 5:
			return rapid.SampledFrom([]string{"'a'", "'type'"}).Draw(t, "member") + " in doc"
		case 6:
			return "doc.n && doc.n.x"
		}
		c := "(" + testCondition(depth-1).Draw(t, "left") +
			rapid.SampledFrom([]string{" && ", " || "}).Draw(t, "logic") + testCondition(depth-1).Draw(t, "right") + ")"
		return rapid.SampledFrom([]string{"", "!"}).Draw(t, "not") + c
	})
}

// testDesign generates a design document with a view, or with a Mango index.
func testDesign() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		paths := rapid.SliceOfNDistinct(rapid.SampledFrom(testPaths), 1, 3, rapid.ID[string]).Draw(t, "paths")
		if rapid.IntRange(0, 2).Draw(t, "mango") == 0 {
			for i := range paths {
				paths[i] = quotedJSON(paths[i]) + `:"asc"`
			}
			filter := rapid.SampledFrom([]string{`{}`, `{"type":"city"}`, `{"type":{"$gt":1}}`, `{"a":{"$exists":true}}`,
				`{"$or":[{"type":"city"},{"type":"a"}]}`, `{"b":{"$exists":false}}`}).Draw(t, "filter")
			return `"language":"query","views":{"i":{"map":{"fields":{` + strings.Join(paths, ",") +
				`},"partial_filter_selector":` + filter + `},"reduce":"_count"}}`
		}
		for i := range paths {
			paths[i] = "doc." + paths[i]
		}
		key := paths[0]
		if len(paths) > 1 || rapid.Bool().Draw(t, "array") {
			key = "[" + strings.Join(paths, ", ") + "]"
		}
		f := "emit(" + key + ", null)"
		if strings.Contains(key, "doc.n.x") {
			f = "if (doc.n != null) " + f // it must not throw
		}
		switch rapid.IntRange(0, 2).Draw(t, "function") {
		case 0:
			f = "if (" + testCondition(1).Draw(t, "condition") + ") { " + f + " }"
		case 1:
			f = "if (!(" + testCondition(1).Draw(t, "condition") + ")) return; " + f
		}
		return `"views":{"i":{"map":` + quotedJSON("function (doc) { "+f+" }") + `}}`
	})
}

// testWhere generates a condition on a document.
func testWhere() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		path := rapid.SampledFrom(testPaths).Draw(t, "path")
		arrows := strings.Split(path, ".")
		value, text := "doc->'"+strings.Join(arrows, "'->'")+"'", "doc #>> '{"+strings.Join(arrows, ",")+"}'"
		if len(arrows) == 1 {
			text = "doc->>'" + path + "'"
		}
		literal := func() string {
			return "'" + strings.ReplaceAll(rapid.SampledFrom(testTexts).Draw(t, "text"), "\x00", "") + "'"
		}
		constant := func() string { return "'" + testValue(1).Draw(t, "constant") + "'::jsonb" }
		op := rapid.SampledFrom([]string{"=", "<", ">=", ">", "<=", "<>"}).Draw(t, "operator")
		switch rapid.IntRange(0, 12).Draw(t, "where") {
		case 0, 1, 2:
			return text + " = " + literal()
		case 3:
			return text + " IN (" + literal() + ", " + literal() + ")"
		case 4:
			return text + " BETWEEN " + literal() + " AND " + literal()
		case 5:
			return text + " IS NOT NULL"
		case 6:
			return value + " = " + constant()
		case 7:
			return value + " " + op + " " + constant()
		case 8:
			return "(CASE WHEN jsonb_typeof(" + value + ") = 'number' THEN " + value + " END)::numeric " + op + " 5"
		case 9:
			return "doc ? '" + arrows[0] + "'"
		case 10:
			return text + " = 'city'"
		case 11:
			return "(" + text + " = " + literal() + " OR " + value + " > " + constant() + ")"
		}
		return text + " LIKE 'a%'"
	})
}

// oneSpelling returns a row with the same spelling for all equal JSON values: a view in JavaScript spells a string in
// another way, and of equal values that are one group, a plan returns the one it comes to first.
func oneSpelling(row [][]byte) (out []string) {
	for _, column := range row {
		d := json.NewDecoder(strings.NewReader(string(column)))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil || d.More() {
			out = append(out, string(column))
			continue
		}
		out = append(out, fmt.Sprintf("%#v", oneSpellingOf(v)))
	}
	return out
}

func oneSpellingOf(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, _ := new(big.Rat).SetString(string(v))
		return n.RatString()
	case []any:
		for i := range v {
			v[i] = oneSpellingOf(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = oneSpellingOf(v[name])
		}
	}
	return v
}

// created creates a database and returns a function that writes a document there.
func created(ctx context.Context, t rapid.TB, store *layer.Store, name string) (put func(doc string)) {
	db, err := store.Create(ctx, name, layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func(doc string) {
		e, err := layer.ParseEdit([]byte(doc), false)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if _, err = db.Put(ctx, e, layer.WriteOptions{}); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
	}
}

// TestRecognised compares random statements over random documents, with random views and Mango indexes, which the real
// engines build, with the same statements without the use of indexes.
func TestRecognised(t *testing.T) {
	store := openedStore(t)
	addr := sqlOver(t, store)
	databases, used, statements := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		name := fmt.Sprintf("db%d", databases)
		databases++
		put := created(t.Context(), rt, store, name)
		designs := rapid.SliceOfN(testDesign(), 1, 4).Draw(rt, "designs")
		for i, d := range designs {
			put(fmt.Sprintf(`{"_id":"_design/d%d",%s}`, i, d))
		}
		docs := rapid.SliceOfN(testDocument(), 1, 25).Draw(rt, "documents")
		for i, d := range docs {
			put(strings.TrimSuffix(fmt.Sprintf(`{"_id":"x%02d",%s`, i, d), ",") + "}")
		}
		conn, err := pgx.Connect(t.Context(), "postgres://root@"+addr+"/"+name+"?default_query_exec_mode=simple_protocol")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		answer := func(sql, setting string) ([]string, error) {
			results, err := conn.PgConn().Exec(t.Context(), "SET divan.use_indexes = "+setting+"; "+sql).ReadAll()
			if err != nil {
				return nil, err
			}
			var rows []string
			for _, row := range results[len(results)-1].Rows {
				rows = append(rows, fmt.Sprintf("%q", oneSpelling(row)))
			}
			return rows, nil
		}
		for range 30 {
			where := strings.Join(rapid.SliceOfN(testWhere(), 1, 3).Draw(rt, "conditions"), " AND ")
			path := rapid.SampledFrom([]string{"doc->>'a'", "doc->'b'", "doc #>> '{n,x}'", "doc->>'type'"}).Draw(rt, "path")
			sql := "SELECT id, rev, " + path + " FROM docs WHERE " + where
			ordered := rapid.IntRange(0, 3).Draw(rt, "statement")
			switch ordered {
			case 0:
				sql += " ORDER BY " + path + ", id LIMIT 5"
			case 1:
				sql = "SELECT " + path + ", count(*) FROM docs WHERE " + where + " GROUP BY 1"
			}
			got, err := answer(sql, "on")
			want, err2 := answer(sql, "off")
			if ordered != 0 {
				slices.Sort(got)
				slices.Sort(want)
			}
			plan, _ := answer("EXPLAIN "+sql, "on")
			statements++
			if strings.Contains(strings.Join(plan, ""), "Index: ") {
				used++
			}
			if fmt.Sprint(err) != fmt.Sprint(err2) || !slices.Equal(got, want) {
				rt.Fatalf("%s\ngives %s, %v\nnot %s, %v\n%s\n%s\n%s", sql, got, err, want, err2, strings.Join(plan, "\n"),
					strings.Join(designs, "\n"), strings.Join(docs, "\n"))
			}
		}
	})
	t.Logf("%d of %d statements used an index", used, statements)
	if used == 0 {
		t.Error("no statement used an index")
	}
}

// A view in JavaScript writes null for a number beyond the doubles.
func TestRecognised_BeyondDoubles(t *testing.T) {
	store := openedStore(t)
	put := created(t.Context(), t, store, "db")
	for _, doc := range []string{
		`{"_id":"_design/d","views":{"a":{"map":"function (doc) { emit([doc.a], doc.b) }","reduce":"_count"}}}`,
		`{"_id":"x1","a":1e400,"b":1}`, `{"_id":"x2","a":"text","b":-1e400}`, `{"_id":"x3","a":null,"b":2}`, `{"_id":"x4"}`,
	} {
		put(doc)
	}
	conn, err := pgx.Connect(t.Context(), "postgres://root@"+sqlOver(t, store)+"/db?default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	answer := func(sql, setting string) string {
		results, err := conn.PgConn().Exec(t.Context(), "SET divan.use_indexes = "+setting+"; "+sql).ReadAll()
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%q", results[len(results)-1].Rows)
	}
	for _, sql := range []string{
		"SELECT doc->>'a', count(*) FROM docs GROUP BY 1 ORDER BY 1",
		"SELECT doc->>'a', count(*) FROM docs WHERE doc->>'a' IS NOT NULL GROUP BY 1 ORDER BY 1",
		"SELECT doc->>'a', count(doc->>'b') FROM docs GROUP BY 1 ORDER BY 1",
		"SELECT (doc->>'b')::float8, count(*) FROM docs GROUP BY 1 ORDER BY 1",
		"SELECT id, doc->>'a' FROM docs ORDER BY doc->>'a', id LIMIT 2",
		"SELECT id FROM docs WHERE doc->>'a' IS NULL ORDER BY id",
	} {
		if got, want := answer(sql, "on"), answer(sql, "off"); got != want {
			t.Errorf("%s\ngives %s\nnot   %s", sql, got, want)
		}
	}
	// The statements above have built the index.
	if plan := answer("EXPLAIN SELECT doc->>'a', count(*) FROM docs GROUP BY 1", "on"); !strings.Contains(plan, "d.a") {
		t.Errorf("the view is not used: %s", plan)
	}
}
