package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"
)

// joinedRelation generates the right side of a join as b, and conditions between it and the documents a.
func joinedRelation() *rapid.Generator[[2]string] {
	return rapid.Custom(func(t *rapid.T) [2]string {
		var left, right []string
		var from string
		switch rapid.IntRange(0, 5).Draw(t, "relation") {
		case 0, 1, 2:
			from = "docs b"
			left = []string{"a.doc->>'ref'", "a.id", "a.doc->'type'", "a.doc->>'type'", "a.doc->'a'", "a.doc #>> '{n,x}'"}
			right = []string{"b.id", "b.doc->>'ref'", "b.doc->'a'", "b.doc->>'b'", "b.doc->'type'", "b.doc->>'type'"}
		case 3:
			from = "v.one b"
			left = []string{"a.doc->'type'", "a.id", "a.doc->'a'", "a.doc->>'ref'", "a.doc->>'type'", "a.doc->'ref'"}
			right = []string{"b.key", "b.id", "b.value", "b.value #>> '{}'", "b.key #>> '{}'", "b.key"}
		case 4:
			from = "v.two b"
			left = []string{"a.doc->'type'", "a.id", "jsonb_build_array(a.doc->'type', a.doc->'a')", "a.doc->>'ref'"}
			right = []string{"b.key->0", "b.id", "b.key", "b.key->>1"}
		default:
			from = "(VALUES ('x01', '1'::jsonb), ('city', '\"city\"'), (NULL, 'null'), ('1', '1.0'), ('x03', NULL)) b(id, key)"
			left = []string{"a.id", "a.doc->'type'", "a.doc->>'type'", "a.doc->'a'", "a.doc->>'ref'"}
			right = []string{"b.id", "b.key", "b.id", "b.key", "b.id"}
		}
		i := rapid.IntRange(0, len(left)-1).Draw(t, "left")
		j := i
		if rapid.Bool().Draw(t, "any") {
			j = rapid.IntRange(0, len(right)-1).Draw(t, "right")
		}
		l, r := left[i], right[j]
		if isText(l) != isText(r) {
			l, r = left[i], right[i]
		}
		if isText(l) != isText(r) {
			l, r = "a.id", "b.id"
		}
		return [2]string{from, l + " = " + r}
	})
}

// isText reports whether an expression of joinedRelation is a text and not jsonb.
func isText(e string) bool { return strings.HasSuffix(e, ".id") || strings.Contains(e, ">>") }

// joinStatement generates a statement with a join or a sub-query over documents a and a relation b. The rows are in no
// order.
func joinStatement() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		on := joinedRelation().Draw(t, "relation")
		cond := on[1]
		of := func(alias string) string {
			return strings.ReplaceAll(testWhere().Draw(t, "where"), "doc", alias+".doc")
		}
		where := "true"
		if rapid.Bool().Draw(t, "filtered") {
			where = of("a")
		}
		inner := cond
		if strings.HasPrefix(on[0], "docs") && rapid.Bool().Draw(t, "inner") {
			inner += " AND " + of("b")
		}
		not := rapid.SampledFrom([]string{"", "NOT "}).Draw(t, "not")
		sides := strings.SplitN(cond, " = ", 2)
		switch rapid.IntRange(0, 10).Draw(t, "statement") {
		case 0, 1, 2:
			kind := rapid.SampledFrom([]string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"}).Draw(t, "kind")
			return "SELECT a.id, b.id FROM docs a " + kind + " " + on[0] + " ON " + inner + " WHERE " + where
		case 3, 4:
			return "SELECT a.id FROM docs a WHERE " + not + "EXISTS (SELECT FROM " + on[0] + " WHERE " + inner + ") AND " + where
		case 5:
			return "SELECT a.id FROM docs a WHERE " + sides[0] + " " + not + "IN (SELECT " + sides[1] + " FROM " + on[0] +
				") AND " + where
		case 6:
			return "SELECT a.id, (SELECT " + rapid.SampledFrom([]string{"count(*)", "max(b.id)"}).Draw(t, "aggregate") +
				" FROM " + on[0] + " WHERE " + inner + ") FROM docs a WHERE " + where
		case 7:
			return "SELECT a.id, s.id FROM docs a " + rapid.SampledFrom([]string{"JOIN", "LEFT JOIN"}).Draw(t, "kind") +
				" LATERAL (SELECT b.id FROM " + on[0] + " WHERE " + inner + " ORDER BY b.id LIMIT 2) s ON true WHERE " + where
		case 8:
			two := joinedRelation().Draw(t, "second")
			second := strings.NewReplacer(" b(", " c(", " b", " c").Replace(two[0])
			return "SELECT a.id, b.id, c.id FROM docs a JOIN " + on[0] + " ON " + inner + " LEFT JOIN " + second + " ON " +
				strings.ReplaceAll(two[1], "b.", "c.") + " WHERE " + where
		case 9:
			op := rapid.SampledFrom([]string{"=", "<>", "<", ">="}).Draw(t, "operator")
			return "SELECT a.id, " + sides[0] + " " + op + rapid.SampledFrom([]string{" ANY", " ALL"}).Draw(t, "quantifier") +
				" (SELECT " + sides[1] + " FROM " + on[0] + ") FROM docs a WHERE " + where
		}
		return "SELECT s.k, (SELECT count(*) FROM " + on[0] + " WHERE s.k = " + sides[1] + "), count(*) FROM (SELECT " +
			sides[0] + " AS k FROM docs a WHERE " + where + ") s GROUP BY s.k"
	})
}

// strategies are the settings that turn off how a statement is run.
var strategies = []string{"enable_hashjoin", "enable_nestloop", "enable_indexscan", "enable_memoize",
	"divan.use_indexes"}

// TestStrategies compares random joins and sub-queries over random documents, views and values as they are run with
// different strategies turned off.
func TestStrategies(t *testing.T) {
	store := openedStore(t)
	addr := sqlOver(t, store)
	databases, failed, statements := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		name := fmt.Sprintf("db%d", databases)
		databases++
		put := created(t.Context(), rt, store, name)
		put(`{"_id":"_design/v","views":{"one":{"map":"function (doc) { emit(doc.type, doc.a) }"},
			"two":{"map":"function (doc) { if (doc.b) emit([doc.type, doc.a], null) }"}}}`)
		put(`{"_id":"_design/d",` + testDesign().Draw(rt, "design") + `}`)
		docs := rapid.SliceOfN(testDocument(), 1, 20).Draw(rt, "documents")
		for i, d := range docs {
			ref := rapid.SampledFrom([]string{`"x01"`, `"x02"`, `"x1"`, `"city"`, `null`, `1`, `""`}).Draw(rt, "ref")
			docs[i] = strings.TrimSuffix(fmt.Sprintf(`{"_id":"x%02d","ref":%s,%s`, i, ref, d), ",") + "}"
			put(docs[i])
		}
		conn, err := pgx.Connect(t.Context(), "postgres://root@"+addr+"/"+name+"?default_query_exec_mode=simple_protocol")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		answer := func(sql string, off []string) ([]string, error) {
			set := "RESET ALL; "
			for _, s := range off {
				set += "SET " + s + " = off; "
			}
			results, err := conn.PgConn().Exec(t.Context(), set+sql).ReadAll()
			if err != nil {
				return nil, err
			}
			var rows []string
			for _, row := range results[len(results)-1].Rows {
				rows = append(rows, fmt.Sprintf("%q", oneSpelling(row)))
			}
			return rows, nil
		}
		for range 20 {
			sql := joinStatement().Draw(rt, "sql")
			want, err := answer(sql, strategies)
			slices.Sort(want)
			if statements++; err != nil {
				failed++
			}
			for range 3 {
				off := rapid.SliceOfDistinct(rapid.SampledFrom(strategies), rapid.ID[string]).Draw(rt, "off")
				got, err2 := answer(sql, off)
				slices.Sort(got)
				if (err == nil) == (err2 == nil) && slices.Equal(got, want) {
					continue
				}
				plan, _ := answer("EXPLAIN "+sql, off)
				rt.Fatalf("%s\ngives %s, %v\nnot %s, %v\nwithout %s\n%s\n%s", sql, got, err2, want, err, off,
					strings.Join(plan, "\n"), strings.Join(docs, "\n"))
			}
		}
	})
	t.Logf("%d of %d statements failed", failed, statements)
	if failed > statements/10 {
		t.Error("too many statements failed")
	}
}
