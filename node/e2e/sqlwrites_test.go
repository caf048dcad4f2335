package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What SQL writes is an edit like any other: over HTTP it has the revisions that HTTP would have made, is in the feed
// once, and keeps attachments. Validation functions and permissions apply.
func TestSQL_Writes(t *testing.T) {
	p, admin := sqlUsers(t)
	admin.ok("PUT", "/db/_design/v", `{"validate_doc_update":"function (n, o, u) { `+
		`if (n.bad) throw({forbidden: 'no ' + n.bad}); `+
		`if (n.mine && u.name !== n.mine) throw({unauthorized: 'not ' + u.name}); }"}`)
	jan := connect(t, p, "db", "jan:relax")
	var rev string
	if err := jan.QueryRow(t.Context(), `INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING rev`, "a",
		map[string]any{"n": 1}).Scan(&rev); err != nil {
		t.Fatal(err)
	}
	if got := admin.object("GET", "/db/a", ""); got["_rev"] != rev || fmt.Sprint(got["n"]) != "1" {
		t.Errorf("%v, want revision %s", got, rev)
	}
	// The same edits over HTTP make the same revisions.
	admin.ok("PUT", "/other", "")
	if got := admin.object("PUT", "/other/a", `{"n": 1}`)["rev"]; got != rev {
		t.Errorf("HTTP makes revision %v, SQL %s", got, rev)
	}
	two := admin.object("PUT", "/db/a",
		fmt.Sprintf(`{"_rev":%q,"n":2,"_attachments":{"t":{"data":"aGk="}}}`, rev))["rev"]
	if err := jan.QueryRow(t.Context(), `UPDATE docs SET doc = jsonb_set(doc, '{n}', '3') WHERE id = 'a' AND rev = $1
		RETURNING rev`, two).Scan(&rev); err != nil {
		t.Fatal(err)
	}
	if _, err := jan.Exec(t.Context(), `UPDATE docs SET doc = '{"n": 4}' WHERE id = 'a'`); err != nil {
		t.Fatal(err)
	}
	got := admin.object("GET", "/db/a?revs=true", "")
	start, ids := got["_revisions"].(map[string]any)["start"], got["_revisions"].(map[string]any)["ids"].([]any)
	if fmt.Sprint(start) != "4" || len(ids) != 4 || "3-"+ids[1].(string) != rev || "2-"+ids[2].(string) != two {
		t.Errorf("revisions %v, want %s and %s", got["_revisions"], rev, two)
	}
	if text := admin.do("GET", "/db/a/t", ""); string(text.body) != "hi" {
		t.Errorf("the attachment is lost: %v", got)
	}
	changes := admin.object("GET", "/db/_changes", "")["results"].([]any)
	if n := len(slices.DeleteFunc(changes, func(c any) bool { return c.(map[string]any)["id"] != "a" })); n != 1 {
		t.Errorf("the document is %d times in the feed", n)
	}
	for sql, want := range map[string]string{
		`INSERT INTO docs (id, doc) VALUES ('x', '{"bad": "day"}')`:          "23514",
		`INSERT INTO docs (id, doc) VALUES ('x', '{"mine": "eve"}')`:         "42501",
		`INSERT INTO docs (id, doc) VALUES ('x', '{}'), ('y', '{"bad": 1}')`: "23514",
		`INSERT INTO docs (id, doc) VALUES ('a', '{}')`:                      "23505",
		`INSERT INTO docs (id, doc) VALUES ('_design/x', '{}')`:              "0A000",
		`UPDATE docs SET doc = '{"_rev": "1-00"}' WHERE id = 'a'`:            "40001",
		`UPDATE docs SET doc = doc || '{"_id": "b"}' WHERE id = 'a'`:         "23514",
		`UPDATE docs SET id = 'b' WHERE id = 'a'`:                            "0A000",
		`UPDATE docs SET id = NULL WHERE id = 'a'`:                           "23502",
		`UPDATE docs SET id = 'a', rev = DEFAULT WHERE id = 'a'`:             "",
		`INSERT INTO docs (id, doc) VALUES ('z', '{"mine": "jan"}')`:         "",
	} {
		if _, err := jan.Exec(t.Context(), sql); sqlCode(err) != want {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
	for sql, want := range map[string]string{
		`INSERT INTO docs (id, doc) VALUES ('big', jsonb_build_object('x', repeat('x', 8500000)))`: `document "big"`,
		`INSERT INTO docs (id) SELECT 'n' || i FROM generate_series(1, 20000) i`:                   "beside its text",
		`INSERT INTO docs (id, doc) SELECT 'n' || i, jsonb_build_object('x', repeat('x', 900000))
			FROM generate_series(1, 12) i`: "the statement writes more",
	} {
		var pe *pgconn.PgError
		if _, err := jan.Exec(t.Context(), sql); !errors.As(err, &pe) || pe.Code != "54000" || pe.Hint == "" ||
			!strings.Contains(pe.Message, want) {
			t.Errorf("%s: %v, want 54000 with %q and a hint", sql, err, want)
		}
	}
	if _, err := jan.Exec(t.Context(), "DELETE FROM docs WHERE doc->>'mine' = 'jan'"); err != nil {
		t.Error(err)
	}
	if status := admin.status("GET", "/db/z", ""); status != http.StatusNotFound {
		t.Errorf("the deleted document: %d", status)
	}
	root := connect(t, p, "_users", "root:sesame")
	if _, err := root.Exec(t.Context(), "DELETE FROM docs"); sqlCode(err) != "42501" {
		t.Errorf("users: %v", err)
	}
	// A user who has lost access in the meantime cannot commit.
	if _, err := jan.Exec(t.Context(), "BEGIN; INSERT INTO docs (id) VALUES ('late')"); err != nil {
		t.Fatal(err)
	}
	admin.ok("PUT", "/db/_security", `{"members":{"roles":["others"]}}`)
	if _, err := jan.Exec(t.Context(), "COMMIT"); err == nil {
		t.Error("a user without access has committed")
	}
}

// attempt is a committed transaction of a history: the generations of the revisions that it has read and written.
type attempt struct {
	reads, writes map[string]int
	began, ended  time.Time
	what          string
}

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// update changes documents.
func (a *attempt) update(ctx context.Context, q querier, ids ...string) error {
	rows, err := q.Query(ctx, "UPDATE docs SET doc = doc || jsonb_build_object('n', random()) WHERE id = ANY ($1) "+
		"RETURNING id, rev", ids)
	if err != nil {
		return err
	}
	var id, rev string
	_, err = pgx.ForEachRow(rows, []any{&id, &rev}, func() error {
		a.reads[id], a.writes[id] = generation(rev)-1, generation(rev)
		return nil
	})
	return err
}

func generation(rev string) int {
	n, _, _ := strings.Cut(rev, "-")
	g, _ := strconv.Atoi(n)
	return g
}

// Statements, transactions and HTTP requests on the same documents are strictly serialisable: there is an order of all
// of them in which each sees the revisions of those before it, and that agrees with time.
func TestSQL_WritesSerialisable(t *testing.T) {
	p := start(t, t.TempDir())
	c := p.client()
	c.ok("PUT", "/db", "")
	const keys, each = 4, 40
	for k := range keys {
		c.ok("PUT", fmt.Sprintf("/db/k%d", k), `{"n":0}`)
	}
	var mu sync.Mutex
	var history []attempt
	note := func(a attempt) {
		a.ended = time.Now()
		mu.Lock()
		history = append(history, a)
		mu.Unlock()
	}
	key := func() string { return fmt.Sprintf("k%d", rand.IntN(keys)) }
	read := func(ctx context.Context, q querier, a *attempt, lock string, ids ...string) error {
		rows, err := q.Query(ctx, "SELECT id, rev FROM docs WHERE id = ANY ($1)"+lock, ids)
		if err != nil {
			return err
		}
		var id, rev string
		_, err = pgx.ForEachRow(rows, []any{&id, &rev}, func() error { a.reads[id] = generation(rev); return nil })
		return err
	}
	conflicts := 0
	var wg sync.WaitGroup
	for w := range 6 {
		conn := connect(t, p, "db", "ann")
		wg.Go(func() {
			for i := range each {
				ctx := t.Context()
				a := attempt{reads: map[string]int{}, writes: map[string]int{}, began: time.Now()}
				var err error
				switch a.what = fmt.Sprint(w, i); w {
				case 0: // a statement that reads
					err = read(ctx, conn, &a, "", key(), key())
				case 1: // a statement that writes
					err = a.update(ctx, conn, key(), key())
				case 2, 3: // transactions that read, and write others
					o, lock := pgx.TxOptions{IsoLevel: pgx.Serializable}, ""
					if w == 3 {
						o, lock = pgx.TxOptions{}, " FOR UPDATE"
					}
					err = pgx.BeginTxFunc(ctx, conn, o, func(tx pgx.Tx) error {
						if err := read(ctx, tx, &a, lock, key(), key()); err != nil {
							return err
						}
						return a.update(ctx, tx, key())
					})
				case 4: // an edit over HTTP
					id := key()
					got := c.object("GET", "/db/"+id, "")
					rev := got["_rev"].(string)
					answer := c.do("PUT", "/db/"+id, fmt.Sprintf(`{"_rev":%q,"n":%d}`, rev, i))
					if answer.status == http.StatusConflict {
						continue
					}
					var written struct{ Rev string }
					if err = json.Unmarshal(answer.body, &written); err == nil {
						a.reads[id], a.writes[id] = generation(rev), generation(written.Rev)
					}
				case 5: // a read over HTTP
					id := key()
					a.reads[id] = generation(c.object("GET", "/db/"+id, "")["_rev"].(string))
				}
				switch {
				case sqlCode(err) == "40001" && (w == 2 || w == 3):
					mu.Lock()
					conflicts++
					mu.Unlock()
				case err != nil:
					t.Errorf("%s: %v", a.what, err)
					return
				default:
					note(a)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d in the history, %d conflicts", len(history), conflicts)
	if cycle := serialisable(history); cycle != nil {
		for _, a := range cycle {
			t.Errorf("in a cycle: %s reads %v writes %v from %s to %s", a.what, a.reads, a.writes,
				a.began.Format("05.000000"), a.ended.Format("05.000000"))
		}
	}
	total := 0
	for k := range keys {
		total += generation(c.object("GET", fmt.Sprintf("/db/k%d", k), "")["_rev"].(string)) - 1
	}
	written := 0
	for _, a := range history {
		written += len(a.writes)
	}
	if total != written {
		t.Errorf("%d revisions, but %d were acknowledged", total, written)
	}
}

// serialisable returns a cycle of a history's dependencies, nil if there is none.
func serialisable(history []attempt) []attempt {
	type version struct {
		key string
		n   int
	}
	writer := map[version]int{}
	for i, a := range history {
		for k, n := range a.writes {
			if j, twice := writer[version{k, n}]; twice {
				return []attempt{history[j], a}
			}
			writer[version{k, n}] = i
		}
	}
	next := make([][]int, len(history))
	for i, a := range history {
		for k, n := range a.reads {
			if w, ok := writer[version{k, n}]; ok && w != i {
				next[w] = append(next[w], i) // it read what w wrote
			}
			if w, ok := writer[version{k, n + 1}]; ok && w != i {
				next[i] = append(next[i], w) // and did not see what w wrote
			}
		}
		for k, n := range a.writes {
			if w, ok := writer[version{k, n + 1}]; ok {
				next[i] = append(next[i], w)
			}
		}
		for j, b := range history {
			if a.ended.Before(b.began) {
				next[i] = append(next[i], j)
			}
		}
	}
	state := make([]int, len(history)) // 1 on the path, 2 done
	var path []int
	var visit func(i int) []attempt
	visit = func(i int) []attempt {
		state[i] = 1
		path = append(path, i)
		for _, j := range next[i] {
			if state[j] == 1 {
				var cycle []attempt
				for _, k := range path[slices.Index(path, j):] {
					cycle = append(cycle, history[k])
				}
				return cycle
			}
			if state[j] == 0 {
				if c := visit(j); c != nil {
					return c
				}
			}
		}
		state[i], path = 2, path[:len(path)-1]
		return nil
	}
	for i := range history {
		if state[i] == 0 {
			if c := visit(i); c != nil {
				return c
			}
		}
	}
	return nil
}

// The check of histories finds a lost update, a write skew, and a read of the past.
func TestSQL_WritesSerialisableCheck(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	x := func(began, ended int, reads, writes map[string]int) attempt {
		return attempt{reads: reads, writes: writes, began: at(began), ended: at(ended)}
	}
	for name, h := range map[string][]attempt{
		"a lost update": {x(0, 9, map[string]int{"a": 1}, map[string]int{"a": 2}),
			x(0, 9, map[string]int{"a": 1}, map[string]int{"a": 2})},
		"a write skew": {x(0, 9, map[string]int{"a": 1, "b": 1}, map[string]int{"a": 2}),
			x(0, 9, map[string]int{"a": 1, "b": 1}, map[string]int{"b": 2})},
		"the past": {x(0, 1, map[string]int{"a": 1}, map[string]int{"a": 2}), x(2, 3, map[string]int{"a": 1}, nil)},
	} {
		if serialisable(h) == nil {
			t.Errorf("%s was not found", name)
		}
	}
	if c := serialisable([]attempt{x(0, 9, map[string]int{"a": 1}, map[string]int{"a": 2}),
		x(0, 9, map[string]int{"a": 2}, map[string]int{"a": 3}), x(0, 9, map[string]int{"a": 1}, nil)}); c != nil {
		t.Errorf("a cycle in a serial history: %v", c)
	}
}

// After a kill -9, each transaction has been committed as a whole or not at all, and those that were acknowledged have
// been.
func TestSQL_WritesKilled(t *testing.T) {
	dir := t.TempDir()
	acked := map[string]bool{}
	for round := range 3 {
		p := start(t, dir)
		c := p.client()
		if round == 0 {
			c.ok("PUT", "/db", "")
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for w := range 4 {
			conn := connect(t, p, "db", "ann")
			wg.Go(func() {
				for i := 0; ; i++ {
					id := fmt.Sprintf("r%dw%dn%d", round, w, i)
					err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
						for _, part := range []string{"a", "b", "c"} {
							_, err := tx.Exec(t.Context(), "INSERT INTO docs (id, doc) VALUES ($1, '{}')", id+part)
							if err != nil {
								return err
							}
						}
						_, err := tx.Exec(t.Context(), `UPDATE docs SET doc = '{"whole": true}' WHERE id = $1`,
							id+"a")
						return err
					})
					if err != nil {
						return // killed
					}
					mu.Lock()
					acked[id] = true
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(200+rand.IntN(400)) * time.Millisecond)
		p.kill()
		wg.Wait()
	}
	p := start(t, dir)
	conn := connect(t, p, "db", "ann")
	rows, err := conn.Query(t.Context(),
		"SELECT left(id, -1), count(*), bool_or(coalesce((doc->>'whole')::bool, false)) FROM docs GROUP BY 1")
	if err != nil {
		t.Fatal(err)
	}
	var id string
	var n int
	var whole bool
	found := map[string]bool{}
	if _, err := pgx.ForEachRow(rows, []any{&id, &n, &whole}, func() error {
		found[id] = true
		if n != 3 || !whole {
			t.Errorf("%s has %d parts, updated: %v", id, n, whole)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for id := range acked {
		if !found[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	t.Logf("%d acknowledged, %d found", len(acked), len(found))
	if len(acked) == 0 {
		t.Error("nothing was written")
	}
}
