package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// texts runs a statement and returns its rows as texts.
func texts(t *testing.T, conn *pgx.Conn, sql string) (out []string) {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	for _, row := range results[len(results)-1].Rows {
		var fields []string
		for _, v := range row {
			fields = append(fields, string(v))
		}
		out = append(out, strings.Join(fields, "|"))
	}
	return out
}

// explained waits until EXPLAIN of a statement contains a text, while an index is built.
func explained(t *testing.T, conn *pgx.Conn, sql, want string) {
	t.Helper()
	var plan string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if plan = strings.Join(texts(t, conn, "EXPLAIN "+sql), "\n"); strings.Contains(plan, want) {
			return
		}
	}
	t.Errorf("%s\n has no %q:\n%s", sql, want, plan)
}

// An index that EXPLAIN suggests is used once it exists, and does not change the rows.
func TestSQL_SuggestedIndexes(t *testing.T) {
	p, admin := sqlUsers(t)
	for i := range 40 {
		admin.ok("PUT", fmt.Sprintf("/db/d%02d", i), fmt.Sprintf(
			`{"type":%q,"n":%d,"to":{"city":"c%d","a.b":%d},"at":"2024-%02d-01T10:00:00Z"}`,
			[]string{"x", "y"}[i%2], i, i%5, i%3, i%12+1))
	}
	admin.ok("PUT", "/db/_design/shop", `{"sql":{"orders":{"where":{"type":"x"},"columns":{"n":"int","at":"timestamptz",
		"price":{"path":"n","type":"numeric(10,2)"},"place":{"path":"to.city","type":"varchar(2)"}}}}}`)
	conn := connect(t, p, "db", "jan:relax")
	for _, sql := range []string{
		`SELECT id FROM docs WHERE doc->>'type' = 'x'`,
		`SELECT id FROM docs WHERE doc->>'type' = 'y' AND (doc->>'n')::int > 20`,
		`SELECT id FROM docs WHERE doc->'to'->>'city' IN ('c1', 'c2') AND doc->'n' < '9'`,
		`SELECT id FROM docs WHERE doc->'to'->>'a.b' = '2'`,
		`SELECT d.id FROM docs d JOIN (VALUES (1)) v(i) ON true WHERE doc->>'at' LIKE '2024-03%'`,
		`SELECT id FROM shop.orders WHERE n BETWEEN 4 AND 8`,
		`SELECT id FROM shop.orders WHERE place = 'c1'`,
		`SELECT id FROM docs ORDER BY doc->>'at', id LIMIT 5`,
		`SELECT doc FROM docs WHERE doc->>'type' = 'x' ORDER BY doc->'to'->>'city' DESC NULLS LAST, id LIMIT 3 OFFSET 2`,
		`SELECT id FROM docs WHERE doc->>'type' = 'y' AND doc->>'at' IS NOT NULL ORDER BY (doc->>'n')::int LIMIT 2`,
		`SELECT id FROM docs WHERE doc->>'type' = 'x' ORDER BY doc->>'at' DESC, id LIMIT 3`,
		`SELECT id FROM docs WHERE doc->>'type' = 'y' ORDER BY (doc->>'n')::int DESC, doc->>'at' LIMIT 3`,
		`SELECT doc->>'type', count(*) FROM docs GROUP BY 1`,
		`SELECT doc->>'at', doc->>'type', sum((doc->>'n')::int) FROM docs WHERE doc->>'type' = 'x' GROUP BY 1, 2`,
		`SELECT (doc->>'n')::int % 3, max((doc->>'n')::int) FROM docs GROUP BY 1`,
		`SELECT avg((doc->>'n')::int) FROM docs WHERE doc->>'type' = 'y'`,
	} {
		want := texts(t, conn, "SET divan.use_indexes = off; "+sql)
		plan := texts(t, conn, "RESET divan.use_indexes; EXPLAIN "+sql)
		i := slices.IndexFunc(plan, func(line string) bool { return strings.Contains(line, "Suggestion: ") })
		if i < 0 {
			t.Errorf("%s: no suggestion in\n%s", sql, strings.Join(plan, "\n"))
			continue
		}
		_, suggestion, _ := strings.Cut(plan[i], "Suggestion: ")
		remove, used := "", "Index: "
		if body, ok := strings.CutPrefix(suggestion, "POST /{db}/_index "); ok {
			made := admin.object("POST", "/db/_index", body)
			remove = "/db/_index/" + strings.TrimPrefix(made["id"].(string), "_design/") + "/json/" + made["name"].(string)
			if strings.Contains(sql, "LIMIT") {
				used = "Index Walk"
			}
		} else {
			body := strings.TrimPrefix(suggestion, "PUT /{db}/_design/NAME ")
			rev := admin.object("PUT", "/db/_design/suggested", body)["rev"].(string)
			if remove, used = "/db/_design/suggested?rev="+rev, "Index Walk"; !strings.Contains(sql, "LIMIT") {
				used = "Reduce Read on suggested.NAME"
			}
		}
		explained(t, conn, sql, used)
		got := texts(t, conn, sql)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s\n got %q\nwant %q", sql, got, want)
		}
		admin.ok("DELETE", remove, "")
	}
}

// Groups, aggregates and the first rows in an order are computed from a view that has the members.
func TestSQL_CoveringViews(t *testing.T) {
	p, admin := sqlUsers(t)
	for i := range 60 {
		admin.ok("PUT", fmt.Sprintf("/db/d%02d", i), fmt.Sprintf(`{"type":"city","country":"C%d","n":%d,"at":"2024-%02d-%02d"}`,
			i%7, i, i%12+1, i%28+1))
	}
	admin.ok("PUT", "/db/_design/seen", `{"views":{
		"country":{"map":"function (doc) { if (doc.type === 'city') emit([doc.country, doc.n], doc.n) }","reduce":"_stats"},
		"n":{"map":"function (doc) { emit(doc.n) }"},
		"at":{"map":"function (doc) { emit(doc.at) }"}}}`)
	conn := connect(t, p, "db", "jan:relax")
	for _, c := range []struct{ sql, plan, otherwise string }{
		{`SELECT count(*), sum((doc->>'n')::int) FROM docs WHERE doc->>'type' = 'city'`,
			"Reduce Read on seen.country", "Reduction: _stats, number of rows"},
		{`SELECT doc->>'country', count(*), avg((doc->>'n')::int) FROM docs WHERE doc->>'type' = 'city' GROUP BY 1`,
			"Reduce Read on seen.country", "Group Level: 1"},
		{`SELECT (doc->>'n')::int % 3, count(*) FROM docs GROUP BY 1`, "Reduce Read on seen.n", "Group Level: whole key"},
		{`SELECT doc->>'country', max((doc->>'n')::int) FROM docs WHERE doc->>'type' = 'city' AND doc->>'country' > 'C3'
			GROUP BY 1`, "Reduce Read on seen.country", "Group Level: 1"},
		{`SELECT id, doc->>'n' FROM docs ORDER BY doc->>'at' DESC, id LIMIT 5`, "Index: seen.at", "Sort Key: (doc ->> 'at') DESC"},
	} {
		want := texts(t, conn, "SET divan.use_indexes = off; "+c.sql)
		_ = texts(t, conn, "RESET divan.use_indexes; "+c.sql) // begins the index
		explained(t, conn, c.sql, c.plan)
		explained(t, conn, c.sql, c.otherwise)
		got := texts(t, conn, c.sql)
		if !strings.Contains(c.sql, "ORDER BY") {
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s\n got %q\nwant %q", c.sql, got, want)
		}
	}
	// A document that the reduction does not answer for is read.
	admin.ok("PUT", "/db/odd", `{"type":"city","country":"C1","n":"7","at":3}`)
	for _, sql := range []string{`SELECT count(*), sum((doc->>'n')::int) FROM docs WHERE doc->>'type' = 'city'`,
		`SELECT id FROM docs ORDER BY doc->>'at' DESC, id LIMIT 5`} {
		want := texts(t, conn, "SET divan.use_indexes = off; "+sql)
		if got := texts(t, conn, "RESET divan.use_indexes; "+sql); !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", sql, got, want)
		}
	}
}
