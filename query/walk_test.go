package query_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestWalk_Property compares the first rows of an order that are found in a view with those found in all documents.
func TestWalk_Property(t *testing.T) {
	kinds := map[string]func(r *rand.Rand) string{
		"times": func(r *rand.Rand) string {
			at := fmt.Sprintf(`"2024-0%d-%02dT%02d:00:00`, 1+r.IntN(3), 1+r.IntN(28), r.IntN(24))
			return at + []string{`Z"`, `Z"`, `.5Z"`, `+01:00"`}[r.IntN(4)]
		},
		"moments": func(r *rand.Rand) string {
			at := time.Date(1990+r.IntN(40), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)
			return at.Format([]string{`"` + time.RFC3339 + `"`, `"2006-01-02T15:04:05-15:00"`, `"Jan 2 2006"`, `20060102`,
				`"2006-01-02 24:00+15:30"`, `"2006-01-02 BC"`, `"infinity"`, `null`}[min(r.IntN(20), 7)])
		},
		"names":   letters("abAB"),
		"slugs":   letters("abc-019"),
		"codes":   letters("ABC-019 ~:"),
		"accents": letters("abéßЖA\t1"),
		"marks":   letters("abé\u0301\u0327\u00ad\u200b\u0661 1A"),
		"unclear": letters("abé\u0301\u200b\u0001A"),
		"numbers": func(r *rand.Rand) string {
			return []string{strconv.Itoa(r.IntN(40) - 20), fmt.Sprintf("%.1f", r.Float64()*10), "1e2", `"7"`}[min(r.IntN(9), 3)]
		},
		"integers": func(r *rand.Rand) string { return strconv.Itoa(r.IntN(60) - 30) },
		"decimals": func(r *rand.Rand) string { return fmt.Sprintf("0.1000000000000000%02d", r.IntN(60)) },
		"mixed": func(r *rand.Rand) string {
			return []string{"null", "true", "false", `"true"`, `"b"`, `""`, "1", "2.0", `["é"]`, `{"a":1}`, `"12"`}[r.IntN(11)]
		},
		"status": func(r *rand.Rand) string { return []string{`"new"`, `"paid"`, "null"}[r.IntN(3)] },
	}
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	walks, early := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, name) }
		s := exectest.NewStore()
		db := s.Create("d")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		value, missing := kinds[pick("values", names...)], rapid.SampledFrom([]int{0, 0, 3}).Draw(rt, "missing")
		for i := range rapid.SampledFrom([]int{0, 3, 60, 150}).Draw(rt, "documents") {
			doc := fmt.Sprintf(`{"type":%q`, []string{"a", "b", "É"}[r.IntN(3)])
			if r.IntN(10) >= missing {
				doc += `,"at":` + value(r)
			}
			db.Put(fmt.Sprintf("d%03d", r.IntN(500)+i), doc+"}")
		}
		views := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"at", "typeat", "attype", "zattype", "mangoat",
			"mangotype"}), 1, 3, rapid.ID[string]).Draw(rt, "views")
		for _, name := range views {
			addCovering(db, name)
		}
		db.Behind = pick("behind", append(views, "", "")...)
		key := pick("key", "doc->>'at'", "doc->>'at'", "doc->>'at'", "(doc->>'at')::float8", "(doc->>'at')::int",
			"(doc->>'at')::numeric", "(doc->>'at')::real", "doc->'at'", "(doc->>'at')::timestamptz",
			"(doc->>'at')::timestamptz", "(doc->>'at')::timestamp", "(doc->>'at')::date")
		more := pick("more", "", "", ", id", ", doc->>'type', id DESC")
		columns := "id, doc->>'at'"
		if more == "" && key != "doc->'at'" {
			columns = key // rows with equal keys have no order
		}
		sql := fmt.Sprintf("SELECT %s FROM docs%s ORDER BY %s%s%s%s LIMIT %d OFFSET %d", columns,
			pick("where", "", "", " WHERE doc->>'type' = 'a'", " WHERE doc->>'type' = 'a'", " WHERE doc->>'at' IS NOT NULL",
				" WHERE doc->>'at' >= '2024-02'", " WHERE doc->>'at' < 'b' AND doc->>'type' = 'b'",
				" WHERE doc->>'at' LIKE 'a%' AND doc->>'type' = 'a'", " WHERE (doc->>'at')::float8 > 1",
				" WHERE (doc->>'at')::timestamptz >= '2024-02-10'",
				" WHERE doc->>'type' = 'a' AND (doc->>'at')::date <= '2024-02-05'",
				" WHERE (doc->>'at')::timestamp BETWEEN '2024-01-20' AND '2024-02-05 12:00'"),
			key, pick("desc", "", " DESC"), pick("nulls", "", "", " NULLS FIRST", " NULLS LAST"), more,
			rapid.IntRange(1, 5).Draw(rt, "limit"), rapid.IntRange(0, 2).Draw(rt, "offset"))
		ss := openSession(t, s, "d")
		got, err := run(t.Context(), ss, sql, 1000)
		want, wantErr := run(t.Context(), ss, "SET divan.use_indexes = off; "+sql, 1000)
		if wantErr != nil {
			return // a view may hide that a value cannot be cast
		}
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%s\n got %q, %v\nwant %q", sql, got, err, want)
		}
		plan, err := run(t.Context(), ss, "RESET divan.use_indexes; EXPLAIN ANALYZE "+sql, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		if text := strings.Join(plan, "\n"); strings.Contains(text, "Index Walk") {
			walks++
			if examined(text) < 50 && len(got) > 0 {
				early++
			}
		}
	})
	if !testing.Short() && (walks == 0 || early == 0) {
		t.Errorf("%d walks, of which %d ended early", walks, early)
	}
}

// TestWalk_Marks checks that some keys with combining marks do not keep the first rows of an order from being found in
// a view, and that ignored control characters do, which can put the first rows anywhere.
func TestWalk_Marks(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("d")
	for i := range 200 {
		db.Put(fmt.Sprintf("d%03d", i), fmt.Sprintf(`{"at":"7-%03d"}`, (i*37)%200))
	}
	addCovering(db, "at")
	db.Put("m1", `{"at":"7-a\u0301"}`)
	db.Put("m2", `{"at":"7-000\u00ad"}`)
	ss := openSession(t, s, "d")
	const sql = "SELECT doc->>'at' FROM docs ORDER BY doc->>'at' LIMIT 2"
	for _, c := range []struct {
		put, want string
		walk      bool
	}{{"", "[7-000 7-000\u00ad]", true}, {`{"at":"\u00017-a"}`, "[\u00017-a 7-000]", false}} {
		if c.put != "" {
			db.Put("m3", c.put)
		}
		got, err := run(t.Context(), ss, sql, 10)
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
		plan, err := run(t.Context(), ss, "EXPLAIN ANALYZE "+sql, 100)
		text := strings.Join(plan, "\n")
		if err != nil || strings.Contains(text, "Index Walk") != c.walk || c.walk && examined(text) > 50 {
			t.Errorf("%t, %v\n%s", c.walk, err, text)
		}
	}
}

// TestWalk_Behind checks that a view which is not sorted as needed is read whole if the one that is cannot be used.
func TestWalk_Behind(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("d")
	for i := range 100 {
		db.Put(fmt.Sprintf("d%02d", i), fmt.Sprintf(`{"type":"%d","at":"%02d"}`, i%5, (i*37)%100))
	}
	addCovering(db, "zattype")
	addCovering(db, "typeat")
	ss := openSession(t, s, "d")
	for behind, want := range map[string]string{"": "Index Walk", "zattype": "Index: by.typeat", "typeat": "Index Walk"} {
		db.Behind = behind
		const sql = "SELECT id FROM docs ORDER BY doc->>'at' DESC NULLS LAST LIMIT 3"
		got, err := run(t.Context(), ss, sql, 10)
		if fmt.Sprint(got) != "[d27 d54 d81]" || err != nil {
			t.Errorf("behind %q: %s, %v", behind, got, err)
		}
		plan, err := run(t.Context(), ss, "EXPLAIN "+sql, 100)
		if text := strings.Join(plan, "\n"); err != nil || !strings.Contains(text, want) {
			t.Errorf("behind %q: no %s, %v\n%s", behind, want, err, text)
		}
	}
}

// letters returns a generator of short JSON strings.
func letters(alphabet string) func(r *rand.Rand) string {
	of := []rune(alphabet)
	return func(r *rand.Rand) string {
		text := make([]rune, r.IntN(5))
		for i := range text {
			text[i] = of[r.IntN(len(of))]
		}
		quoted, err := json.Marshal(string(text))
		if err != nil {
			panic(err)
		}
		return string(quoted)
	}
}

var examinedRows = regexp.MustCompile(`Rows Examined: (\d+)`)

// examined returns the most rows that a node of a plan has examined.
func examined(plan string) (most int) {
	for _, m := range examinedRows.FindAllStringSubmatch(plan, -1) {
		n, _ := strconv.Atoi(m[1])
		most = max(most, n)
	}
	return most
}

// TestWalk_Examined checks that the first rows of an order are found by reading few rows of a view.
func TestWalk_Examined(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("d")
	for i := range 500 {
		db.Put(fmt.Sprintf("d%04d", i*7919%500), fmt.Sprintf(`{"type":"order","at":"2024-%02d-%02dT%02d:%02d:00Z","n":%d,`+
			`"slug":"item-%x","status":"s%d"}`, 1+i%12, 1+i%28, i%24, i%60, i, i*7919%65536, i%3))
	}
	ss := openSession(t, s, "d")
	for _, name := range []string{"at", "typeat", "mangoat"} {
		addCovering(db, name)
	}
	for _, where := range []string{"(doc->>'at')::timestamptz >= '2024-12-10'", "(doc->>'at')::date = '2024-05-05'",
		"(doc->>'at')::timestamp(0) BETWEEN '2024-03-01' AND '2024-03-10 12:00'"} {
		for _, from := range []string{" FROM docs WHERE doc->>'type' = 'order' AND ", " FROM docs WHERE "} {
			sql := "SELECT count(*), min(doc->>'at')" + from + where
			plan, err := run(t.Context(), ss, "EXPLAIN ANALYZE "+sql, 100)
			text := strings.Join(plan, "\n")
			if n := examined(text); err != nil || n > 60 || !strings.Contains(text, "Index") {
				t.Errorf("%s: %d rows examined, %v\n%s", sql, n, err, text)
			}
		}
	}
	for _, order := range []string{"doc->>'at'", "doc->>'at' DESC NULLS LAST", "doc->>'at' DESC NULLS LAST, id",
		"doc->'at'", "doc->'at' DESC NULLS LAST", "(doc->>'at')::timestamptz DESC NULLS LAST",
		"(doc->>'at')::date DESC NULLS LAST, id"} {
		for _, where := range []string{"", " WHERE doc->>'type' = 'order'",
			" WHERE doc->>'at' < '2024-07' AND doc->>'type' = 'order'"} {
			sql := "SELECT doc FROM docs" + where + " ORDER BY " + order + " LIMIT 5"
			plan, err := run(t.Context(), ss, "EXPLAIN ANALYZE "+sql, 100)
			text := strings.Join(plan, "\n")
			most := 60
			if strings.Contains(where, "<") && !strings.HasPrefix(order, "doc->>") {
				most = 260 // a range of texts does not matter for other orders
			}
			if n := examined(text); err != nil || n > most || !strings.Contains(text, "Index Walk") {
				t.Errorf("%s: %d rows examined, %v\n%s", sql, n, err, text)
			}
		}
	}
}
