package query_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query/exec/exectest"
)

// recognisedStore has documents of two types and a view of the cities by country: if (doc.type === 'city' &&
// doc.country) emit(doc.country).
func recognisedStore(t *testing.T) (*exectest.Store, *exectest.DB) {
	t.Helper()
	s := exectest.NewStore()
	db := s.Create("r")
	for id, doc := range map[string]string{"oslo": `{"type":"city","country":"NO","n":5}`,
		"bergen": `{"type":"city","country":"NO"}`, "paris": `{"type":"city","country":"FR"}`,
		"no": `{"type":"country","country":"NO"}`, "odd": `{"type":"city","country":["NO"]}`,
		"seven": `{"type":"city","country":7}`} {
		db.Put(id, doc)
	}
	country := rowshape.Expr{Op: rowshape.Member, Path: []string{"country"}}
	city := rowshape.Expr{Op: rowshape.Same, Args: []rowshape.Expr{{Op: rowshape.Member, Path: []string{"type"}},
		{Op: rowshape.Constant, JSON: `"city"`}}}
	shape := &rowshape.Shape{Key: []rowshape.Value{{Path: []string{"country"}}}, Value: rowshape.Value{JSON: "null"},
		AsJavaScript: true, Cond: &rowshape.Expr{Op: rowshape.And, Args: []rowshape.Expr{city, country}}}
	db.AddShaped("by", "country", "", shape, func(_ string, doc json.RawMessage, emit func(k, v string)) {
		var d map[string]json.RawMessage
		if err := json.Unmarshal(doc, &d); err != nil {
			t.Error(err)
		}
		if string(d["type"]) == `"city"` {
			emit(string(d["country"]), "null")
		}
	})
	return s, db
}

// TestRecognised_Reads checks which statements over documents read a view.
func TestRecognised_Reads(t *testing.T) {
	s, db := recognisedStore(t)
	ss := openSession(t, s, "r")
	const cities = "doc->>'type' = 'city' AND "
	for _, c := range []struct{ sql, reads, rows string }{
		{`SELECT id FROM docs WHERE ` + cities + `doc->>'country' = 'NO'`, `view by/country ["NO","NO"]`, "bergen oslo"},
		{`SELECT id FROM docs WHERE ` + cities + `doc->>'country' IN ('NO', 'FR') ORDER BY id`, `keys=["FR" "NO"]`,
			"bergen oslo paris"},
		{`SELECT id FROM docs WHERE ` + cities + `doc->>'country' = '7'`, `keys=[7 "7"]`, "seven"},
		{`SELECT id FROM docs WHERE ` + cities + `(doc->'country')::text = '7'`, `view by/country [7,7]`, "seven"},
		{`SELECT id FROM docs WHERE doc->'type' = '"city"' AND doc['country'] > '"G"' AND doc->'country' < '"Z"'`,
			`view by/country ["G","Z"]`, "bergen oslo"},
		{`SELECT count(*) FROM docs WHERE doc #>> '{type}' = 'city' AND starts_with(doc #>> '{country}', 'N')`,
			`count by/country ["N","o"]`, "2"},
		{`SELECT rev FROM docs WHERE ` + cities + `doc->>'country' = 'FR'`, `view by/country ["FR","FR"]`, "1-abc"},
		{`SELECT id FROM docs WHERE doc->'type' IN ('"city"') AND doc->>'country' = ANY ('{FR}') LIMIT 1`,
			`view by/country ["FR","FR"]`, "paris"},
		{`SELECT d.id FROM docs d JOIN (VALUES ('oslo')) v(i) ON d.id = v.i WHERE ` + cities + `doc->>'country' = 'NO'`,
			`view by/country ["NO","NO"]`, "oslo"},

		// The conditions do not imply that of the view, or say nothing about its key.
		{`SELECT id FROM docs WHERE doc->>'country' = 'NO'`, `all_docs`, "bergen no oslo"},
		{`SELECT id FROM docs WHERE doc->>'type' <> 'x' AND doc->>'country' = 'FR'`, `all_docs`, "paris"},
		{`SELECT id FROM docs WHERE doc->>'type' IN ('city', 'country') AND doc->>'country' = 'FR'`, `all_docs`, "paris"},
		{`SELECT id FROM docs WHERE (doc->>'type' = 'city' OR id = 'no') AND doc->>'country' = 'FR'`, `all_docs`, "paris"},
		{`SELECT id FROM docs WHERE ` + cities + `doc->>'country' IS NULL`, `all_docs`, ""},
		{`SELECT id FROM docs WHERE id = 'oslo' AND ` + cities + `doc->>'country' = 'NO'`, `document oslo`, "oslo"},
		{`SELECT id FROM design_docs WHERE ` + cities + `doc->>'country' = 'NO'`, `all_docs`, ""},
		{`SET divan.use_indexes = off; SELECT id FROM docs WHERE ` + cities + `doc->>'country' = 'NO'`, `all_docs`,
			"bergen oslo"},
	} {
		db.TakeLog()
		rows, err := run(t.Context(), ss, c.sql, 100)
		log := strings.Join(db.TakeLog(), "; ")
		if err != nil || !strings.Contains(log, c.reads) ||
			strings.Contains(c.reads, "all_docs") && strings.Contains(log, "view") {
			t.Errorf("%s: %v\n got %s\nwant %s", c.sql, err, log, c.reads)
		}
		slices.Sort(rows)
		if got := strings.Join(rows, " "); got != c.rows {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, c.rows)
		}
		if _, err := run(t.Context(), ss, "RESET divan.use_indexes", 1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecognised_Unusable checks that a view that is behind, or has skipped documents, is not used.
func TestRecognised_Unusable(t *testing.T) {
	s, db := recognisedStore(t)
	ss := openSession(t, s, "r")
	const sql = `SELECT id FROM docs WHERE doc->>'type' = 'city' AND doc->>'country' = 'FR'`
	for name, change := range map[string]func(bool){
		"behind":  func(on bool) { db.Unusable = on },
		"skipped": func(on bool) { db.Skipped = map[bool]int64{true: 1}[on] },
	} {
		for _, on := range []bool{true, false} {
			change(on)
			db.TakeLog()
			rows, err := run(t.Context(), ss, sql, 100)
			if log := strings.Join(db.TakeLog(), "; "); err != nil || !slices.Equal(rows, []string{"paris"}) ||
				strings.Contains(log, "all_docs") != on {
				t.Errorf("%s %v: %q, %v, %s", name, on, rows, err, log)
			}
		}
	}
}

// TestRecognised_Again checks that a statement that has read a view takes its snapshot before it is planned the next
// time, so that it is planned once, and that this ends while an index is behind.
func TestRecognised_Again(t *testing.T) {
	s, db := recognisedStore(t)
	ss := openSession(t, s, "r")
	for i, c := range []struct {
		behind bool
		add    string // a document
		rows   string
		states int64 // how often the state of the index is read
	}{
		{false, "", "paris", 2},
		{false, "", "paris", 1},
		{false, "lyon", "lyon paris", 1},
		{true, "", "lyon paris", 2},          // over the snapshot, and over the database as it is
		{true, "nice", "lyon nice paris", 1}, // without a view, over the database as it is
		{false, "", "lyon nice paris", 2},
	} {
		if db.Unusable = c.behind; c.add != "" {
			db.Put(c.add, `{"type":"city","country":"FR"}`)
		}
		db.TakeLog()
		before := db.States.Load()
		rows, err := run(t.Context(), ss, `SELECT id FROM docs WHERE doc->>'type' = 'city' AND doc->>'country' = 'FR'`, 100)
		slices.Sort(rows)
		if got := strings.Join(rows, " "); err != nil || got != c.rows {
			t.Errorf("run %d: %q, %v; want %q", i, got, err, c.rows)
		}
		if log := strings.Join(db.TakeLog(), "; "); strings.Contains(log, "all_docs") != c.behind {
			t.Errorf("run %d reads %s", i, log)
		}
		if n := db.States.Load() - before; n != c.states {
			t.Errorf("run %d reads the state of the index %d times, want %d", i, n, c.states)
		}
	}
}

// TestRecognised_Explain checks what EXPLAIN says about views that are used and indexes that would help.
func TestRecognised_Explain(t *testing.T) {
	s, _ := recognisedStore(t)
	ss := openSession(t, s, "r")
	for sql, want := range map[string]string{
		`SELECT id FROM docs WHERE doc->>'type' = 'city' AND doc->>'country' = 'FR'`: `Index: by.country Range: key = "FR"`,
		`SELECT id FROM docs WHERE (doc->'n')::int > 5 AND doc->'a.b'->>'c' = 'x' AND doc->>'z' = 'y'
			AND doc->>'q' > 'y'`: `Suggestion: POST /{db}/_index {"index": {"fields": ["z", "a\\.b.c", "n"]}}`,
		`SELECT id FROM docs WHERE doc->>'n' > '5'`:    "",
		`SELECT id FROM docs WHERE doc->>'n' = id`:     "",
		`SELECT id FROM docs WHERE doc->'n'->>0 = 'x'`: "",
	} {
		plan, err := run(t.Context(), ss, "EXPLAIN "+sql, 100)
		for i := range plan {
			plan[i] = strings.TrimSpace(plan[i])
		}
		text := strings.Join(plan, " ")
		if err != nil || !strings.Contains(text, want) || want == "" && (strings.Contains(text, "Suggestion") ||
			strings.Contains(text, "Index")) {
			t.Errorf("%s: %v\n got %s\nwant %s", sql, err, text, want)
		}
	}
}
