package sqlreads_test

import (
	"context"
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
		Store: store, IDs: new(docids.IDs),
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

// TestDatabase_Sizes checks that the sizes are those of the store: documents as stored, and rows of built views only.
func TestDatabase_Sizes(t *testing.T) {
	s := newSource(t)
	filled := create(t, s, "db", `{"_id":"_design/by","views":{"n":{"map":"function (d) { emit(d.n, null) }"}}}`)
	put(t, filled, `{"_id":"a","n":1,"text":"`+strings.Repeat("x", 1000)+`"}`, false)
	db := open(t, s, "db")
	sizes := func() (int64, map[[2]string]int64) {
		t.Helper()
		documents, views, err := db.(interface {
			Sizes(ctx context.Context) (int64, map[[2]string]int64, error)
		}).Sizes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return documents, views
	}
	info, err := filled.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := [2]string{"by", "n"}
	if n, views := sizes(); n != info.FileSize || n < 100 || views[name] != 0 {
		t.Errorf("sizes %d, %v; the database has %d", n, views, info.FileSize)
	}
	rows, err := db.View(t.Context(), exec.ViewRead{Design: "by", View: "n"})
	drain(t, rows, err, id)
	if _, views := sizes(); views[name] == 0 {
		t.Errorf("a view with a row has no size: %v", views)
	}
	if db.(interface{ ReadOnly() bool }).ReadOnly() {
		t.Error("documents can be written")
	}
}
