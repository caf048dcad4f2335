package sqlreads_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/docids"
	"github.com/divandb/divan/node/sqlreads"
	"github.com/divandb/divan/query/exec"
)

var (
	root = layer.UserCtx{Name: "root", Roles: []string{"_admin"}}
	jan  = layer.UserCtx{Name: "jan", Roles: []string{"dev"}}
)

// newSource returns a source over an embedded store. It builds indexes within the request and wakes listeners every 5
// ms.
func newSource(t testing.TB) *sqlreads.Source {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	engine, err := embedded.Open(t.TempDir(), embedded.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	sandbox := script.New(script.Options{})
	t.Cleanup(func() { sandbox.Close() })
	store, err := layer.Open(t.Context(), engine, layer.Options{Logger: log, Scripts: sandbox,
		Validator: layer.NewValidator(sandbox)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &sqlreads.Source{
		Store: store, IDs: new(docids.Sequence),
		Ensure: func(ctx context.Context, db *layer.Database, design *layer.Design, mode exec.UpdateMode) error {
			if mode != exec.UpdateTrue {
				return nil
			}
			_, err := db.Index(design).CatchUp(ctx, 1000)
			return err
		},
		Listen: func(*layer.Database, ...layer.ShardID) (<-chan struct{}, func()) {
			woken, done := make(chan struct{}, 1), make(chan struct{})
			go func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(5 * time.Millisecond):
						select {
						case woken <- struct{}{}:
						default:
						}
					}
				}
			}()
			return woken, func() { close(done) }
		},
	}
}

func create(t *testing.T, s *sqlreads.Source, name string, docs ...string) *layer.Database {
	t.Helper()
	db, err := s.Store.Create(t.Context(), name, layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		put(t, db, doc, false)
	}
	return db
}

func put(t *testing.T, db *layer.Database, doc string, replicated bool) layer.Rev {
	t.Helper()
	e, err := layer.ParseEdit([]byte(doc), replicated)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(e.ID, "_local/") {
		_, err = db.PutLocal(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return layer.Rev{}
	}
	rev, err := db.Put(t.Context(), e, layer.WriteOptions{Replicated: replicated})
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return rev
}

func open(t testing.TB, s *sqlreads.Source, name string) exec.Database {
	t.Helper()
	db, err := s.Catalog(root, nil).Database(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// drain reads rows to their end and formats each with show.
func drain(t *testing.T, rows exec.Rows, err error, show func(exec.Row) string) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for {
		var row exec.Row
		err := rows.Next(t.Context(), &row)
		if errors.Is(err, io.EOF) {
			return strings.Join(all, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, show(row))
	}
}

func id(r exec.Row) string { return r.ID }

func TestDatabase_AllDocs(t *testing.T) {
	s := newSource(t)
	create(t, s, "db", `{"_id":"a","n":1}`, `{"_id":"b"}`, `{"_id":"c"}`, `{"_id":"d"}`, `{"_id":"_design/x"}`,
		`{"_id":"_local/l","v":1}`)
	db := open(t, s, "db")
	for _, c := range []struct {
		name string
		read exec.DocsRead
		want string
	}{
		{"all", exec.DocsRead{}, "_design/x a b c d"},
		{"backwards", exec.DocsRead{Descending: true}, "d c b a _design/x"},
		{"without designs", exec.DocsRead{NoDesigns: true, Skip: 1, Limit: 2}, "b c"},
		{"without designs, backwards", exec.DocsRead{NoDesigns: true, Descending: true}, "d c b a"},
		{"set without designs", exec.DocsRead{NoDesigns: true, IDs: []string{"_design/x", "a"}}, "a"},
		{"range", exec.DocsRead{Low: "b", High: "d"}, "b c"},
		{"range backwards", exec.DocsRead{Low: "b", High: "d", Descending: true}, "c b"},
		{"range backwards, limited", exec.DocsRead{Low: "a", High: "d", Descending: true, Limit: 2}, "c b"},
		{"range to nothing in between", exec.DocsRead{Low: "a", High: "bb", Descending: true, Limit: 2}, "b a"},
		{"limit", exec.DocsRead{Low: "a", Limit: 2}, "a b"},
		{"skip", exec.DocsRead{Low: "a", Skip: 1, Limit: 2}, "b c"},
		{"skip alone", exec.DocsRead{Skip: 4}, "d"},
		{"set", exec.DocsRead{IDs: []string{"a", "none", "d"}}, "a d"},
		{"set backwards", exec.DocsRead{IDs: []string{"d", "none", "a"}, Descending: true}, "d a"},
		{"set, limited", exec.DocsRead{IDs: []string{"none", "a", "d"}, Limit: 1}, "a"},
		{"empty set", exec.DocsRead{IDs: []string{}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := db.AllDocs(t.Context(), c.read)
			if got := drain(t, rows, err, id); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	rows, err := db.AllDocs(t.Context(), exec.DocsRead{Low: "a", High: "b", WithDoc: true, WithRev: true})
	got := drain(t, rows, err, func(r exec.Row) string { return string(r.Doc) })
	if want := `"n":1}`; !strings.HasPrefix(got, `{"_id":"a","_rev":"1-`) || !strings.HasSuffix(got, want) {
		t.Errorf("body %s", got)
	}
	rows, err = db.LocalDocs(t.Context(), exec.DocsRead{WithDoc: true, WithRev: true})
	if got := drain(t, rows, err, func(r exec.Row) string {
		return r.ID + string(r.Doc)
	}); !strings.HasPrefix(got, `_local/l{"_id":"_local/l"`) {
		t.Errorf("local documents: %s", got)
	}
}

func TestDatabase_Document(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", `{"_id":"a","n":1}`, `{"_id":"_local/l"}`)
	rev := put(t, d, `{"_id":"gone"}`, false)
	put(t, d, `{"_id":"gone","_rev":"`+rev.String()+`","_deleted":true}`, false)
	db := open(t, s, "db")
	var row exec.Row
	found, err := db.Document(t.Context(), "a", true, &row)
	if err != nil || !found || row.ID != "a" || !strings.HasPrefix(row.Rev, "1-") ||
		!strings.Contains(string(row.Doc), `"n":1`) {
		t.Errorf("a: %v %+v %v", found, row, err)
	}
	for _, id := range []string{"none", "gone", "", "_local/l", "_odd", strings.Repeat("x", 600), "\xff"} {
		if found, err := db.Document(t.Context(), id, true, &row); found || err != nil {
			t.Errorf("%.20q: %v, %v", id, found, err)
		}
	}
}

func TestDatabase_Conflicts(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", `{"_id":"plain"}`)
	rev := func(c string) string { return strings.Repeat(c, 32) }
	put(t, d, `{"_id":"x","_rev":"1-`+rev("a")+`","v":"a"}`, true)
	put(t, d, `{"_id":"x","_rev":"1-`+rev("c")+`","v":"c"}`, true)
	put(t, d, `{"_id":"x","_rev":"1-`+rev("b")+`","v":"b"}`, true)
	put(t, d,
		`{"_id":"x","_rev":"2-`+rev("d")+`","_deleted":true,"_revisions":{"start":2,"ids":["`+rev("d")+`","`+rev("e")+
			`"]}}`, true)
	db := open(t, s, "db")
	show := func(r exec.Row) string { return fmt.Sprint(r.ID, " ", r.Rev[:3], " ", r.Deleted) }
	rows, err := db.Conflicts(t.Context(), exec.DocsRead{})
	if got, want := drain(t, rows, err, show), "x 1-a false x 1-b false x 2-d true"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	rows, err = db.Conflicts(t.Context(), exec.DocsRead{WithDoc: true, Descending: true, Skip: 1, Limit: 1})
	if got := drain(t, rows, err, func(r exec.Row) string {
		return string(r.Doc)
	}); !strings.HasSuffix(got, `"v":"b"}`) {
		t.Errorf("body %s", got)
	}
	rows, err = db.Conflicts(t.Context(), exec.DocsRead{High: "x"})
	if got := drain(t, rows, err, id); got != "" {
		t.Errorf("outside the range: %s", got)
	}
}

const viewsOf = `{"_id":"_design/by","views":{"n":{"map":"function (doc) { if (doc.n) emit(doc.n, doc._id) }"},` +
	`"r":{"map":"function (doc) { emit(1) }","reduce":"_count"},"j":{"map":"function (doc) { emit(1) }","reduce":"function (k, v) { return 1 }"}}}`

func TestDatabase_View(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", viewsOf, `{"_id":"none"}`, `{"_id":"_design/other"}`)
	for i := 1; i <= 9; i++ {
		put(t, d, fmt.Sprintf(`{"_id":"d%d","n":%d}`, i, i), false)
	}
	put(t, d, `{"_id":"text","n":"x"}`, false)
	db := open(t, s, "db")
	key := func(text string) json.RawMessage { return json.RawMessage(text) }
	for _, c := range []struct {
		name string
		read exec.ViewRead
		want string
	}{
		{"all", exec.ViewRead{}, "d1 d2 d3 d4 d5 d6 d7 d8 d9 text"},
		{"backwards", exec.ViewRead{Descending: true, Limit: 2}, "text d9"},
		{"range", exec.ViewRead{Low: key("3"), High: key("5")}, "d3 d4 d5"},
		{"range backwards", exec.ViewRead{Low: key("3"), High: key("5"), Descending: true}, "d5 d4 d3"},
		{"open range", exec.ViewRead{Low: key("9")}, "d9 text"},
		{"empty range", exec.ViewRead{Low: key("5"), High: key("3")}, ""},
		{"keys", exec.ViewRead{Keys: []json.RawMessage{key("2"), key(`"x"`), key("77")}}, "d2 text"},
		{"no keys", exec.ViewRead{Keys: []json.RawMessage{}}, ""},
		{"skip and limit", exec.ViewRead{Skip: 2, Limit: 2}, "d3 d4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.read.Design, c.read.View = "by", "n"
			rows, err := db.View(t.Context(), c.read)
			if got := drain(t, rows, err, id); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	rows, err := db.View(t.Context(), exec.ViewRead{Design: "by", View: "n", Limit: 1, WithDoc: true})
	got := drain(t, rows, err, func(r exec.Row) string { return fmt.Sprintf("%s %s %s", r.Key, r.Value, r.Doc) })
	if !strings.HasPrefix(got, `1 "d1" {"_id":"d1","_rev":"1-`) {
		t.Errorf("row %s", got)
	}
	for _, missing := range []exec.ViewRead{{Design: "nope", View: "n"}, {Design: "by", View: "nope"}} {
		if _, err := db.View(t.Context(), missing); exec.KindOf(err) != exec.NotFound {
			t.Errorf("%+v: %v", missing, err)
		}
	}

	designs, err := db.Designs(t.Context())
	for i := range designs {
		for j := range designs[i].Views {
			if v := &designs[i].Views[j]; v.Shape == nil {
				t.Errorf("the rows of view %s are not described", v.Name)
			} else {
				v.Shape = nil
			}
		}
	}
	if err != nil || len(designs) != 1 ||
		fmt.Sprint(designs[0]) != "{by [{j javascript false <nil>} {n  false <nil>} {r _count false <nil>}] false }" {
		t.Errorf("designs %v, %v", designs, err)
	}
	if one, err := db.Design(t.Context(), "by"); err != nil || one.Name != "by" || len(one.Views) != 3 {
		t.Errorf("design %v, %v", one, err)
	}
	if _, err := db.Design(t.Context(), "nope"); exec.KindOf(err) != exec.NotFound {
		t.Errorf("an unknown design: %v", err)
	}
}

func TestDatabase_Reduce(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db",
		`{"_id":"_design/by","views":{"k":{"map":"function (doc) { if (doc.k) emit(doc.k, 1) }","reduce":"_count"},
			"s":{"map":"function (doc) { if (doc.k) emit(doc.k, 'x') }","reduce":"_stats"},
			"n":{"map":"function (doc) { if (doc.k) emit(doc.k) }"}}}`)
	for i, k := range []string{`["a",1]`, `["a",2]`, `["a",2]`, `["b",1]`, `["c",1]`} {
		put(t, d, fmt.Sprintf(`{"_id":"d%d","k":%s}`, i, k), false)
	}
	db, ok := open(t, s, "db").(exec.Reducer)
	if !ok {
		t.Fatal("no Reducer")
	}
	show := func(r exec.Row) string { return fmt.Sprintf("%s=%s", r.Key, r.Value) }
	for _, c := range []struct {
		name string
		read exec.ReduceRead
		want string
	}{
		{"all", exec.ReduceRead{}, "=5"},
		{"level 1", exec.ReduceRead{GroupLevel: 1}, `["a"]=3 ["b"]=1 ["c"]=1`},
		{"level 1, backwards", exec.ReduceRead{GroupLevel: 1, Descending: true, Limit: 2}, `["c"]=1 ["b"]=1`},
		{"whole keys", exec.ReduceRead{GroupLevel: -1, Skip: 1, Limit: 2}, `["a",2]=2 ["b",1]=1`},
		{"range", exec.ReduceRead{Low: []byte(`["a",2]`), High: []byte(`["b",{}]`)}, "=3"},
		{"range, backwards", exec.ReduceRead{Low: []byte(`["a",2]`), High: []byte(`["b",{}]`), Descending: true}, "=3"},
		{"range from end to start", exec.ReduceRead{Low: []byte(`["b"]`), High: []byte(`["a"]`)}, ""},
		{"ranges", exec.ReduceRead{Ranges: []exec.KeyRange{{High: []byte(`["a",1]`)}, {Low: []byte(`["c"]`)}}}, "=2"},
		{"ranges, level 1", exec.ReduceRead{GroupLevel: 1,
			Ranges: []exec.KeyRange{{High: []byte(`["a",1]`)}, {Low: []byte(`["a",2]`), High: []byte(`["b",{}]`)}}},
			`["a"]=3 ["b"]=1`},
		{"keys", exec.ReduceRead{Keys: []json.RawMessage{[]byte(`["a",2]`), []byte(`["x"]`)}, GroupLevel: -1},
			`["a",2]=2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.read.Design, c.read.View = "by", "k"
			rows, err := db.Reduce(t.Context(), c.read)
			if got := drain(t, rows, err, show); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	// Rows are counted whatever the reduce function says, but reduced only if it can.
	counted := func(r exec.Row) string { return fmt.Sprintf("%s=%d", r.Key, r.Count) }
	for _, view := range []string{"k", "s", "n"} {
		rows, err := db.Reduce(t.Context(), exec.ReduceRead{Design: "by", View: view, GroupLevel: 1, Count: true})
		if got := drain(t, rows, err, counted); got != `["a"]=3 ["b"]=1 ["c"]=1` {
			t.Errorf("counts of %s: %s", view, got)
		}
	}
	for _, level := range []int{0, 1} {
		rows, err := db.Reduce(t.Context(), exec.ReduceRead{Design: "by", View: "s", GroupLevel: level})
		if err == nil {
			var row exec.Row
			err = rows.Next(t.Context(), &row)
			rows.Close()
		}
		if exec.KindOf(err) != exec.Irreducible {
			t.Errorf("_stats of texts by level %d: %v", level, err)
		}
	}
	if _, err := db.Reduce(t.Context(),
		exec.ReduceRead{Design: "by", View: "k", Keys: []json.RawMessage{}}); exec.KindOf(err) != exec.Unsupported {
		t.Errorf("several keys without groups: %v", err)
	}
}

func TestDatabase_Changes(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", `{"_id":"a"}`, `{"_id":"b"}`, `{"_id":"c"}`)
	rows, err := open(t, s, "db").Changes(t.Context(), exec.ChangesRead{})
	seqs := strings.Fields(drain(t, rows, err, func(r exec.Row) string { return r.Seq }))
	rev := put(t, d, `{"_id":"e","x":1}`, false)
	put(t, d, `{"_id":"e","_rev":"`+rev.String()+`","_deleted":true,"why":"x"}`, false)
	db := open(t, s, "db")
	for _, c := range []struct {
		name string
		read exec.ChangesRead
		want string
	}{
		{"all", exec.ChangesRead{}, "a b c e"},
		{"since", exec.ChangesRead{Since: seqs[1]}, "c e"},
		{"since zero", exec.ChangesRead{Since: "0", Limit: 1}, "a"},
		{"backwards", exec.ChangesRead{Descending: true, Limit: 2}, "e c"},
		{"a shard that never existed", exec.ChangesRead{Shard: "nope"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := db.Changes(t.Context(), c.read)
			if got := drain(t, rows, err, id); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	rows, err = db.Changes(t.Context(), exec.ChangesRead{Since: seqs[2], WithDoc: true, WithRev: true})
	got := drain(t, rows, err, func(r exec.Row) string {
		return fmt.Sprint(r.Deleted, r.Rev[:2], r.Shard != "", string(r.Doc))
	})
	if !strings.HasPrefix(got, "true2-true{") || !strings.Contains(got, `"why":"x"`) {
		t.Errorf("a tombstone: %s", got)
	}
	if _, err := db.Changes(t.Context(), exec.ChangesRead{Since: "soon"}); exec.KindOf(err) != exec.Invalid {
		t.Errorf("a malformed sequence: %v", err)
	}
}

// A followed feed waits, continues across a reshard, ends with its context or with Close, and does not read ahead.
func TestDatabase_Follow(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", `{"_id":"a"}`)
	db := open(t, s, "db")
	opened, cancelOpen := context.WithCancel(t.Context())
	rows, err := db.Changes(opened, exec.ChangesRead{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cancelOpen() // the statement that opened the portal has ended; the portal lives on
	next := func(want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var row exec.Row
		if err := await(ctx, rows, &row); err != nil || row.ID != want {
			t.Fatalf("got %q, %v; want %q", row.ID, err, want)
		}
	}
	next("a")
	put(t, d, `{"_id":"b"}`, false)
	next("b")
	if _, err := d.Reshard(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		id := fmt.Sprint("c", i)
		put(t, d, `{"_id":"`+id+`"}`, false)
		next(id)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var row exec.Row
	if err := await(ctx, rows, &row); exec.KindOf(err) != exec.Timeout {
		t.Errorf("without further changes: %+v, %v", row, err)
	}
}

// await calls Next until it returns something other than ErrIdle, which comes once before each wait.
func await(ctx context.Context, rows exec.Rows, row *exec.Row) error {
	err := rows.Next(ctx, row)
	if errors.Is(err, exec.ErrIdle) {
		err = rows.Next(ctx, row)
	}
	return err
}

func TestDatabase_FollowAShardToItsEnd(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", `{"_id":"a"}`)
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := open(t, s, "db").Changes(t.Context(), exec.ChangesRead{Follow: true, Shard: string(maps[0].Shards[0])})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Reshard(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	put(t, d, `{"_id":"elsewhere"}`, false)
	if got := drain(t, rows, nil, id); got != "a" {
		t.Errorf("rows of the replaced shard: %q", got)
	}
}

func TestCatalog_WhoMayRead(t *testing.T) {
	s := newSource(t)
	create(t, s, "open")
	create(t, s, "_users")
	shut := create(t, s, "shut")
	if err := shut.SetSecurity(t.Context(), []byte(`{"members":{"roles":["_admin"]}}`)); err != nil {
		t.Fatal(err)
	}
	team := create(t, s, "team")
	if err := team.SetSecurity(t.Context(), []byte(`{"members":{"roles":["dev"]}}`)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user layer.UserCtx
		want string
	}{{root, "_users open shut team"}, {jan, "open team"}, {layer.UserCtx{}, "open"}} {
		names, err := s.Catalog(c.user, nil).Databases(t.Context())
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%s sees %q, %v; want %q", c.user.Name, got, err, c.want)
		}
	}
	for _, c := range []struct {
		user layer.UserCtx
		db   string
		want exec.Kind
	}{{jan, "shut", exec.Forbidden}, {jan, "_users", exec.Forbidden}, {jan, "nope", exec.NotFound},
		{root, "nope", exec.NotFound}, {root, "Not A Name", exec.NotFound}} {
		if _, err := s.Catalog(c.user, nil).Database(t.Context(), c.db); exec.KindOf(err) != c.want {
			t.Errorf("%s opens %s: %v", c.user.Name, c.db, err)
		}
	}
}

// A partitioned view is read in the named partition, or in all of them one after the other. Its rows are ordered within
// each partition.
func TestView_partitioned(t *testing.T) {
	s := newSource(t)
	db, err := s.Store.Create(t.Context(), "parts", layer.CreateOptions{Partitioned: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{
		`{"_id":"p:1","n":1}`, `{"_id":"q:1","n":1}`, `{"_id":"q:2","n":0}`, `{"_id":"q-:3","n":2}`,
		`{"_id":"Z:4","n":1}`,
		`{"_id":"_design/own","views":{"n":{"map":"function (doc) { emit(doc.n) }","reduce":"_count"}}}`,
		`{"_id":"_design/whole","options":{"partitioned":false},"views":{"n":{"map":"function (doc) { emit(doc.n) }","reduce":"_count"}}}`,
	} {
		put(t, db, doc, false)
	}
	put(t, db, `{"_id":"gone:1","_rev":"1-0123456789abcdef0123456789abcdef","_deleted":true}`, true)
	opened := open(t, s, "parts")
	for _, c := range []struct {
		read exec.ViewRead
		want string
	}{
		{exec.ViewRead{}, "Z:4 p:1 q-:3 q:2 q:1"},
		{exec.ViewRead{Limit: 2}, "Z:4 p:1"},
		{exec.ViewRead{Limit: 2, Skip: 2}, "q-:3 q:2"},
		{exec.ViewRead{Skip: 4}, "q:1"},
		{exec.ViewRead{Descending: true, Low: []byte("1")}, "Z:4 p:1 q-:3 q:1"},
		{exec.ViewRead{Keys: []json.RawMessage{[]byte("0"), []byte("2")}}, "q-:3 q:2"},
		{exec.ViewRead{Low: []byte("3")}, ""},
		{exec.ViewRead{Partition: "q", Limit: 1}, "q:2"},
	} {
		c.read.Design, c.read.View = "own", "n"
		rows, err := opened.View(t.Context(), c.read)
		if got := drain(t, rows, err, id); got != c.want {
			t.Errorf("%+v: %s, not %s", c.read, got, c.want)
		}
	}
	counts, err := opened.(exec.Reducer).Reduce(t.Context(), exec.ReduceRead{Design: "own", View: "n"})
	if got := drain(t, counts, err, func(r exec.Row) string { return string(r.Value) }); got != "1 1 1 2" {
		t.Errorf("reductions of all partitions: %s", got)
	}
	rows, err := opened.View(t.Context(), exec.ViewRead{Design: "own", View: "n", Partition: "p"})
	if got := drain(t, rows, err, id); got != "p:1" {
		t.Errorf("partition p of a view has %s", got)
	}
	reduced, err := opened.(exec.Reducer).Reduce(t.Context(), exec.ReduceRead{Design: "own", View: "n", Partition: "q"})
	if got := drain(t, reduced, err, func(r exec.Row) string { return string(r.Value) }); got != "2" {
		t.Errorf("partition q of a view has the reduction %s", got)
	}
	rows, err = opened.View(t.Context(), exec.ViewRead{Design: "whole", View: "n", Partition: "p"})
	if got := drain(t, rows, err, id); !strings.Contains(got, "p:1") || !strings.Contains(got, "q:1") {
		t.Errorf("a view of the whole database has %s", got)
	}
}

// Rows that are read in batches are those that are read one by one, also with both in turns, skips and limits.
func TestDatabase_Batches(t *testing.T) {
	s := newSource(t)
	filled := create(t, s, "db")
	for i := range 300 {
		put(t, filled, fmt.Sprintf(`{"_id":"d%03d","n":%d}`, i, i), false)
	}
	db := open(t, s, "db")
	show := func(r exec.Row) string { return r.ID + r.Rev + string(r.Doc) }
	for _, read := range []exec.DocsRead{
		{}, {WithDoc: true}, {WithDoc: true, WithRev: true, Descending: true}, {Skip: 7, Limit: 3}, {Limit: 1},
		{Limit: 64}, {Limit: 65, WithDoc: true}, {Skip: 290}, {Skip: 300}, {Low: "d1", High: "d11", WithDoc: true},
	} {
		rows, err := db.AllDocs(t.Context(), read)
		want := drain(t, rows, err, show)
		for _, step := range []int{1, 2, 5} { // every step-th read is one of a batch
			rows, err := db.AllDocs(t.Context(), read)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for n := 0; err == nil; n++ {
				var batch []exec.Row
				if n%step == 0 {
					batch, err = rows.(exec.Batcher).Batch(t.Context())
					if err == nil && len(batch) == 0 {
						t.Fatal("an empty batch")
					}
				} else {
					batch = make([]exec.Row, 1)
					if err = rows.Next(t.Context(), &batch[0]); err != nil {
						batch = nil
					}
				}
				for _, row := range batch {
					got = append(got, show(row))
				}
			}
			if all := strings.Join(got, " "); !errors.Is(err, io.EOF) || all != want {
				t.Errorf("%+v, a batch every %d: %v\n%s\nwant\n%s", read, step, err, all, want)
			}
			if n := rows.(exec.Skipper).Skipped(); n != read.Skip {
				t.Errorf("%+v: skipped %d", read, n)
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
