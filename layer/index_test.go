package layer_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
)

// openViews opens a database in a store that runs design functions.
func openViews(tb testing.TB, o layer.CreateOptions) *layer.Database {
	tb.Helper()
	return openViewsOn(tb, mustEngine(tb), o)
}

// openViewsOn is openViews on an engine.
func openViewsOn(tb testing.TB, engine kv.Engine, o layer.CreateOptions) *layer.Database {
	tb.Helper()
	return mustCreate(tb, openViewStore(tb, engine), "db", o)
}

func openViewStore(tb testing.TB, engine kv.Engine) *layer.Store {
	tb.Helper()
	// long enough that a busy machine does not look like an endless loop
	sandbox := script.New(script.Options{Limits: script.Limits{Time: time.Minute}})
	tb.Cleanup(func() {
		if err := sandbox.Close(); err != nil {
			tb.Error(err)
		}
	})
	return mustStore(tb, engine, layer.Options{Scripts: sandbox, Validator: layer.NewValidator(sandbox)})
}

// openFaultyViews is openViews on an engine without snapshots that injects faults by a seed, which is logged.
func openFaultyViews(t *testing.T, o layer.CreateOptions) *layer.Database {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	below := mustEngine(t)
	faulty := faultkv.New(below, faultkv.Options{Seed: seed, Rates: faultkv.Rates{
		Conflict: 0.05, TooOld: 0.004, FutureVersion: 0.05, UnknownLost: 0.05, UnknownCommitted: 0.05}})
	return openViewsOn(t, faultyEngine{withoutSnapshots{faulty}, below}, o)
}

// faultyEngine is an engine that is checked without its faults.
type faultyEngine struct {
	kv.Engine
	below kv.Engine
}

// save writes a document's newest revision, whatever its last one is.
func save(tb testing.TB, db *layer.Database, doc string) {
	tb.Helper()
	e := edit(tb, doc)
	if old, err := db.Get(tb.Context(), e.ID, layer.GetOptions{}); err == nil {
		e.Rev = old.Rev
	}
	if _, err := db.Put(tb.Context(), e, layer.WriteOptions{}); err != nil {
		tb.Fatalf("save %s: %v", doc, err)
	}
}

func mustDesign(tb testing.TB, db *layer.Database, name string) *layer.Design {
	tb.Helper()
	design, err := db.Design(tb.Context(), name)
	if err != nil {
		tb.Fatal(err)
	}
	return design
}

// build runs a whole build, in steps of n documents.
func build(tb testing.TB, ix *layer.Index, token int64, n int) {
	tb.Helper()
	b, err := ix.StartBuild(tb.Context(), token)
	if err != nil {
		tb.Fatal(err)
	}
	defer b.Close()
	finish(tb, b, n)
}

// finish takes a build to its end, in steps of n documents.
func finish(tb testing.TB, b *layer.Build, n int) {
	tb.Helper()
	for _, shard := range b.Shards {
		for r := (layer.StepResult{}); !r.Done; {
			var err error
			if r, err = b.Step(tb.Context(), shard, n); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := b.Finish(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// rows returns the rows of a query as "id key value", with the document's body if there is one. Without a limit it
// returns all.
func rows(tb testing.TB, ix *layer.Index, q layer.ViewQuery) []string {
	tb.Helper()
	if q.Limit == 0 {
		q.Limit = -1
	}
	lines, _ := pageOf(tb, ix, q)
	return lines
}

// pageOf is rows with the query's own limit. It also returns the offset.
func pageOf(tb testing.TB, ix *layer.Index, q layer.ViewQuery) (lines []string, offset int64) {
	tb.Helper()
	result := fresh(tb, func() (*layer.ViewResult, error) { return ix.Query(tb.Context(), q) })
	for row, err := range result.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		line := fmt.Sprintf("%s %s %s", row.ID, row.Key, row.Value)
		if row.Doc != nil {
			line += " " + string(row.Doc.Body)
		}
		lines = append(lines, line)
	}
	return lines, result.Offset
}

const byN = `{"_id":"_design/d","views":{"n":{"map":"function(doc) { if ('n' in doc) emit(doc.n, doc.v); }"}}}`

func TestIndex_Query(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	save(t, db, byN)
	for i, n := range []string{`null`, `false`, `true`, `-1`, `0`, `1.5`, `10`, `"a"`, `"B"`, `"b"`, `[]`, `[1]`,
		`[1,2]`, `{}`, `{"a":1}`} {
		save(t, db, fmt.Sprintf(`{"_id":"%c","n":%s}`, 'a'+i, n))
	}
	save(t, db, `{"_id":"same","n":10,"v":{"_id":"a"}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 4)

	key := func(s string) []byte { return []byte(s) }
	for name, test := range map[string]struct {
		q    layer.ViewQuery
		want string // ids
	}{
		"all":              {layer.ViewQuery{}, "a b c d e f g same h j i k l m n o"},
		"descending":       {layer.ViewQuery{Descending: true}, "o n m l k i j h same g f e d c b a"},
		"limit and skip":   {layer.ViewQuery{Limit: 3, Skip: 2}, "c d e"},
		"one key":          {layer.ViewQuery{Key: key(`10`)}, "g same"},
		"one key, float":   {layer.ViewQuery{Key: key(`10.0`)}, "g same"},
		"range":            {layer.ViewQuery{StartKey: key(`0`), EndKey: key(`10`)}, "e f g same"},
		"exclusive end":    {layer.ViewQuery{StartKey: key(`0`), EndKey: key(`10`), ExcludeEnd: true}, "e f"},
		"descending range": {layer.ViewQuery{StartKey: key(`10`), EndKey: key(`0`), Descending: true}, "same g f e"},
		"descending, open": {layer.ViewQuery{StartKey: key(`10`), EndKey: key(`0`), Descending: true,
			ExcludeEnd: true}, "same g f"},
		"start document":      {layer.ViewQuery{StartKey: key(`10`), StartDocID: "h", EndKey: key(`"a"`)}, "same h"},
		"end document":        {layer.ViewQuery{StartKey: key(`10`), EndKey: key(`10`), EndDocID: "g"}, "g"},
		"document, no key":    {layer.ViewQuery{StartDocID: "zzz", EndKey: key(`null`)}, "a"},
		"keys, as asked":      {layer.ViewQuery{Keys: [][]byte{key(`"b"`), key(`7`), key(`10`)}}, "j g same"},
		"keys, twice":         {layer.ViewQuery{Keys: [][]byte{key(`1.5`), key(`1.5`)}, Limit: 5}, "f f"},
		"arrays by prefix":    {layer.ViewQuery{StartKey: key(`[1]`), EndKey: key(`[1,{}]`)}, "l m"},
		"nothing":             {layer.ViewQuery{Key: key(`"zz"`)}, ""},
		"skip beyond":         {layer.ViewQuery{Skip: 100}, ""},
		"keys, none":          {layer.ViewQuery{Keys: [][]byte{}}, ""},
		"strings with suffix": {layer.ViewQuery{StartKey: key(`"a"`), EndKey: key(`"a\ufff0"`)}, "h"},
	} {
		t.Run(name, func(t *testing.T) {
			test.q.View = "n"
			var ids []string
			for _, row := range rows(t, ix, test.q) {
				ids = append(ids, strings.Fields(row)[0])
			}
			if got := strings.Join(ids, " "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	t.Run("documents", func(t *testing.T) {
		got := rows(t, ix, layer.ViewQuery{View: "n", Key: key(`10`), IncludeDocs: true})
		want := []string{`g 10 null {"n":10}`, `same 10 {"_id":"a"} {"n":null}`}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("refused", func(t *testing.T) {
		for _, q := range []layer.ViewQuery{
			{View: "n", StartKey: key(`2`), EndKey: key(`1`)},
			{View: "n", StartKey: key(`1`), EndKey: key(`2`), Descending: true},
			{View: "n", Key: key(`{`)},
		} {
			if _, err := ix.Query(t.Context(), q); layer.KindOf(err) != layer.Invalid {
				t.Errorf("%+v: %v, want an Invalid", q, err)
			}
		}
		if _, err := ix.Query(t.Context(), layer.ViewQuery{View: "m"}); layer.KindOf(err) != layer.NotFound {
			t.Errorf("unknown view: %v", err)
		}
	})
}

func TestIndex_EmitTwice(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	save(t, db,
		`{"_id":"_design/d","views":{"v":{"map":"function(doc) { for (var i = 0; i < doc.n; i++) { emit('k', i); emit(1.0, i); emit(1, -i); } }"}}}`)
	save(t, db, `{"_id":"x","n":3}`)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 10)
	want := []string{"x 1 -2", "x 1 -1", "x 1 0", "x 1 0", "x 1 1", "x 1 2", `x "k" 0`, `x "k" 1`, `x "k" 2`}
	if got := rows(t, ix, layer.ViewQuery{View: "v"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	save(t, db, `{"_id":"x","n":1}`)
	build(t, ix, 2, 10)
	want = []string{"x 1 0", "x 1 0", `x "k" 0`}
	if got := rows(t, ix, layer.ViewQuery{View: "v"}); !slices.Equal(got, want) {
		t.Errorf("after the update: got %q, want %q", got, want)
	}
}

// A document that fails in one view is skipped in that view only, listed, and counted. When it is fixed, all three end
// (V10).
func TestIndex_Errors(t *testing.T) {
	oneGoroutine(t)
	db := openViews(t, layer.CreateOptions{})
	save(t, db, `{"_id":"_design/d","views":{
		"bad":{"map":"function(doc) { emit(doc._id, 1); if (doc.bad) throw new Error('no'); }"},
		"big":{"map":"function(doc) { emit(new Array((doc.key || 1) + 1).join('x'), new Array((doc.value || 1) + 1).join('y')); }"},
		"many":{"map":"function(doc) { for (var i = 0; i < (doc.many || 1); i++) emit(i, null); }"}}}`)
	save(t, db, `{"_id":"a","bad":true}`)
	save(t, db, `{"_id":"b","key":8193}`)
	save(t, db, `{"_id":"c","value":70000}`)
	save(t, db, `{"_id":"d","many":100000}`)
	save(t, db, `{"_id":"e"}`)
	design := mustDesign(t, db, "d")
	ix := db.Index(design)
	build(t, ix, 1, 2)

	var got []string
	for e, err := range ix.Errors(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Error == "" || e.Seq.IsZero() {
			t.Errorf("%+v has too little detail", e)
		}
		got = append(got, e.DocID+" "+e.View)
	}
	if want := []string{"a bad", "b big", "c big", "d many"}; !slices.Equal(got, want) {
		t.Errorf("errors %q, want %q", got, want)
	}
	state, err := ix.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []layer.ViewState{{Name: "bad", Rows: 4, Errors: 1}, {Name: "big", Rows: 3, Errors: 2},
		{Name: "many", Rows: 4, Errors: 1}} {
		v := state.Views[i]
		if v.Name != want.Name || v.Rows != want.Rows || v.Errors != want.Errors {
			t.Errorf("view %+v, want %+v", v, want)
		}
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		save(t, db, `{"_id":"`+id+`"}`)
	}
	if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for e, err := range ix.Errors(t.Context()) {
		t.Errorf("still listed: %+v %v", e, err)
	}
	if state, _ = ix.State(t.Context()); !state.Current() || state.Views[0].Rows != 5 || state.Views[0].Errors != 0 {
		t.Errorf("state after mending: %+v", state)
	}
}

// Of two builds of one index the older one stops, and its work is neither lost nor repeated (fencing).
func TestBuild_Fenced(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	save(t, db, byN)
	for i := range 20 {
		save(t, db, fmt.Sprintf(`{"_id":"%02d","n":%d}`, i, i))
	}
	ix := db.Index(mustDesign(t, db, "d"))
	old, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := old.Step(t.Context(), old.Shards[0], 5); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.StartBuild(t.Context(), 0); layer.KindOf(err) != layer.Conflict {
		t.Errorf("an older token: %v", err)
	}
	if ok, err := ix.CatchUp(t.Context(), 1000); ok || err != nil {
		t.Errorf("caught up during a build: %v %v", ok, err)
	}
	save(t, db, `{"_id":"00","n":100}`) // was indexed by the old build
	build(t, ix, 2, 7)
	if _, err := old.Step(t.Context(), old.Shards[0], 5); layer.KindOf(err) != layer.Conflict {
		t.Errorf("a step of the old build: %v", err)
	}
	if err := old.Finish(t.Context()); layer.KindOf(err) != layer.Conflict {
		t.Errorf("the end of the old build: %v", err)
	}
	build(t, ix, 3, 7) // the one before may have ended where the old one was to end
	got := rows(t, ix, layer.ViewQuery{View: "n"})
	if len(got) != 20 || got[0] != "01 1 null" || got[19] != "00 100 null" {
		t.Errorf("rows %q", got)
	}
}

func TestDatabase_CleanupViews(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	save(t, db, byN)
	save(t, db, `{"_id":"a","n":1}`)
	was := db.Index(mustDesign(t, db, "d"))
	build(t, was, 1, 10)
	save(t, db, strings.Replace(byN, "emit(doc.n", "emit(-doc.n", 1))
	now := db.Index(mustDesign(t, db, "d"))
	build(t, now, 2, 10)
	if got := rows(t, was, layer.ViewQuery{View: "n"}); len(got) != 1 {
		t.Fatalf("before the cleanup: %q", got)
	}
	if err := db.CleanupViews(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, was, layer.ViewQuery{View: "n"}); len(got) != 0 {
		t.Errorf("the unused index still has %q", got)
	}
	state, err := was.State(t.Context())
	if err != nil || state.Views[0].Rows != 0 || !state.Seq.IsZero() {
		t.Errorf("its state is %+v %v", state, err)
	}
	if got := rows(t, now, layer.ViewQuery{View: "n"}); len(got) != 1 || got[0] != "a -1 null" {
		t.Errorf("the index in use has %q", got)
	}
}

// Whatever is written, and in whatever order builds and catch-ups come, the index equals a new mapping of the
// documents, in collation order.
func TestIndex_Model(t *testing.T) {
	db := openViews(t, layer.CreateOptions{Shards: 3})
	save(t, db,
		`{"_id":"_design/d","views":{"v":{"map":"function(doc) { for (var i in doc.keys) emit(doc.keys[i], i); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	docs := map[string][]string{}
	token := int64(0)
	keys := []string{`null`, `1`, `1.5`, `"a"`, `"A"`, `"ä"`, `[1]`, `["a",2]`, `{"x":1}`, `true`}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 12).Draw(rt, "writes") {
			id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}).Draw(rt, "id")
			if _, live := docs[id]; live && rapid.IntRange(0, 2).Draw(rt, "delete") == 0 {
				save(t, db, `{"_id":"`+id+`","_deleted":true}`)
				delete(docs, id)
				continue
			}
			docs[id] = rapid.SliceOfN(rapid.SampledFrom(keys), 0, 4).Draw(rt, "keys")
			save(t, db, `{"_id":"`+id+`","keys":[`+strings.Join(docs[id], ",")+`]}`)
		}
		if rapid.Bool().Draw(rt, "reshard") {
			if _, err := db.Reshard(t.Context(), rapid.IntRange(1, 4).Draw(rt, "shards")); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(rt, "build") {
			token++
			build(t, ix, token, rapid.IntRange(1, 5).Draw(rt, "n"))
		} else if ok, err := ix.CatchUp(t.Context(), 1000); !ok || err != nil {
			t.Fatal(ok, err)
		}
		want := expectedRows(docs)
		if got := rows(t, ix, layer.ViewQuery{View: "v"}); !slices.Equal(got, want) {
			rt.Fatalf("got  %q\nwant %q", got, want)
		}
		state, err := ix.State(t.Context())
		if err != nil || !state.Current() || state.Views[0].Rows != int64(len(want)) {
			rt.Fatalf("state %+v %v, want %d rows", state, err, len(want))
		}
	})
}

func expectedRows(docs map[string][]string) []string {
	type row struct {
		id, key string
		n       int
	}
	var all []row
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		for i, key := range docs[id] {
			all = append(all, row{id, key, i})
		}
	}
	slices.SortStableFunc(all, func(a, b row) int {
		ka, _ := collate.AppendKey(nil, []byte(a.key))
		kb, _ := collate.AppendKey(nil, []byte(b.key))
		if c := bytes.Compare(ka, kb); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	})
	var out []string
	for _, r := range all {
		out = append(out, fmt.Sprintf(`%s %s "%d"`, r.id, r.key, r.n))
	}
	return out
}

// For rows that may be old, CurrentDocs returns the current documents: none for one that was deleted since.
func TestIndex_Query_currentDocs(t *testing.T) {
	for _, snapshots := range []bool{true, false} {
		t.Run(fmt.Sprintf("snapshots %v", snapshots), func(t *testing.T) {
			db := openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{})
			save(t, db, `{"_id":"_design/d","views":{"v":{"map":"function (doc) { emit(doc._id) }"}}}`)
			save(t, db, `{"_id":"a","n":1}`)
			save(t, db, `{"_id":"b","n":1}`)
			ix := db.Index(mustDesign(t, db, "d"))
			build(t, ix, 1, 100)
			save(t, db, `{"_id":"a","n":2}`)
			save(t, db, `{"_id":"b","_deleted":true}`)
			result, err := ix.Query(t.Context(),
				layer.ViewQuery{View: "v", Limit: -1, IncludeDocs: true, CurrentDocs: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for row, err := range result.Rows {
				if err != nil {
					t.Fatal(err)
				}
				body := "none"
				if row.Doc != nil {
					body = string(row.Doc.Body)
				}
				got = append(got, row.ID+" "+body)
			}
			if want := []string{`a {"n":2}`, "b none"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
