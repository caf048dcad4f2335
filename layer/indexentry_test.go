package layer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// indexWrites counts what transactions write to indexes.
type indexWrites struct {
	kv.Engine
	rows, entries, marks, before atomic.Int64
}

func (w *indexWrites) Begin(ctx context.Context) kv.Transaction {
	return &indexWritesTransaction{w.Engine.Begin(ctx), w}
}

func (w *indexWrites) note(key []byte) {
	for r, n := range map[keyspace.ViewRange]*atomic.Int64{keyspace.ViewRows: &w.rows, keyspace.ViewIDs: &w.entries,
		keyspace.ViewMarks: &w.marks, keyspace.ViewBefore: &w.before} {
		if inViewRange(key, r) {
			n.Add(1)
		}
	}
}

// take returns the counts since the last call as text.
func (w *indexWrites) take() string {
	return fmt.Sprintf("rows %d, entries %d, marks %d, before %d", w.rows.Swap(0), w.entries.Swap(0), w.marks.Swap(0),
		w.before.Swap(0))
}

type indexWritesTransaction struct {
	kv.Transaction
	w *indexWrites
}

func (t *indexWritesTransaction) Set(key, value []byte) {
	t.w.note(key)
	t.Transaction.Set(key, value)
}

func (t *indexWritesTransaction) Clear(key []byte) {
	t.w.note(key)
	t.Transaction.Clear(key)
}

func (t *indexWritesTransaction) Atomic(op kv.AtomicOp, key, operand []byte) {
	t.w.note(key)
	t.Transaction.Atomic(op, key, operand)
}

// Indexing a document again writes only emissions that are new or have another value: in builds, with or without
// readers, in requests that catch up, and in writes of interactive indexes. In an index written before entries recorded
// values, all rows of the document are written once.
func TestIndex_unchangedRows(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	long := strings.Repeat("long ", 10)
	doc := func(other int, values ...string) string {
		return fmt.Sprintf(`{"_id":"a","other":%d,"rows":[%s]}`, other, strings.Join(values, ","))
	}
	first := doc(1, `["k",1]`, `["k","`+long+`"]`, `["l","`+long+`"]`)
	for _, how := range []string{"catch-up", "build", "interactive"} {
		t.Run(how, func(t *testing.T) {
			w := &indexWrites{Engine: mustEngine(t)}
			db := openAggregates(t, w, w, layer.CreateOptions{})
			save(t, db, `{"_id":"_design/d","options":{"interactive":`+fmt.Sprint(how == "interactive")+`},"views":{
				"n":{"map":"function(doc) { (doc.rows || []).forEach(function(r) { emit(r[0], r[1]); }); }","reduce":"_count"},
				"none":{"map":"function(doc) { if (doc.bad) emit(doc.bad); }"}}}`)
			save(t, db, first)
			ix := db.Index(mustDesign(t, db, "d"))
			token := int64(1)
			update := func() {
				t.Helper()
				if token++; how == "build" || token == 2 {
					build(t, ix, token, 10)
				} else if ok, err := ix.CatchUp(t.Context(), 10); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			update()
			if err := ix.Aggregate(t.Context()); err != nil {
				t.Fatal(err)
			}
			check := func(what, doc string, rows, entries, marks, before int) {
				t.Helper()
				w.take()
				save(t, db, doc)
				update()
				if how != "build" {
					before = 0
				}
				want := fmt.Sprintf("rows %d, entries %d, marks %d, before %d", rows, entries, marks, before)
				if got := w.take(); got != want {
					t.Errorf("%s: %s, want %s", what, got, want)
				}
			}
			check("nothing", doc(2, `["k",1]`, `["k","`+long+`"]`, `["l","`+long+`"]`), 0, 0, 0, 0)
			check("another value of one", doc(2, `["k",1]`, `["k","`+long+`"]`, `["l","`+long+`!"]`), 2, 1, 0, 1)
			check("the same in another order", doc(3, `["l","`+long+`!"]`, `["k","`+long+`"]`, `["k",1]`), 0, 0, 0, 0)
			check("one more", doc(3, `["k",1]`, `["k","`+long+`"]`, `["l","`+long+`!"]`, `["m",1]`), 1, 1, 1, 1)
			check("one less", doc(3, `["k",1]`, `["l","`+long+`!"]`, `["m",1]`), 1, 1, 1, 1)
			if err := layer.SignIndex(t.Context(), ix); err != nil {
				t.Fatal(err)
			}
			check("of before", doc(4, `["k",1]`, `["l","`+long+`!"]`, `["m",1]`), rowsOfBefore(how), 1, 0, 0)
			check("of before, again", doc(5, `["k",1]`, `["l","`+long+`!"]`, `["m",1]`), 0, 0, 0, 0)
			want := []string{`a "k" 1`, fmt.Sprintf(`a "l" "%s!"`, long), `a "m" 1`}
			if got := values(t, ix); !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
		})
	}
}

// rowsOfBefore returns how many rows are written for a document with three rows whose entry does not record their
// values: a build with readers has read them.
func rowsOfBefore(how string) int {
	if how == "build" {
		return 0
	}
	return 6
}

// However the emissions of documents change, an index that is brought up to date in any way has the same rows, counters
// and reductions as a new one.
func TestIndex_unchangedRowsModel(t *testing.T) {
	oneGoroutine(t)
	key := rapid.SampledFrom([]string{"1", "1.0", `"a"`, `"A"`, "[1]", "null"})
	value := rapid.SampledFrom([]string{"1", "2", "12345678901234567", "12345678901234568", "1234567890123456"})
	for _, how := range []string{"snapshots", "no snapshots", "interactive"} {
		t.Run(how, func(t *testing.T) {
			below := mustEngineWith(t, how != "no snapshots")
			db := openAggregates(t, below, below, layer.CreateOptions{})
			designs := 0
			design := func(id string, interactive bool) *layer.Index {
				designs++
				save(t, db,
					fmt.Sprintf(`{"_id":"_design/%s","options":{"interactive":%v},"views":{"n":{"map":"function(doc) { `+
						`(doc.rows || []).forEach(function(r) { emit(r[0], r[1]); }); } // %d","reduce":"_stats"}}}`,
						id, interactive, designs))
				return db.Index(mustDesign(t, db, id))
			}
			catchUp := func(ix *layer.Index) {
				t.Helper()
				if ok, err := ix.CatchUp(t.Context(), 1000); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			q := layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "n", Limit: -1}}
			all := func(ix *layer.Index) []string {
				state, err := ix.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return append(append(values(t, ix), reduceLines(t, ix, q)...), fmt.Sprint(state.Views))
			}
			ix, token := design("d", how == "interactive"), int64(0)
			rapid.Check(t, func(rt *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(rt, "steps") {
					switch rapid.IntRange(0, 9).Draw(rt, "step") {
					case 0:
						token++
						build(t, ix, token, 1)
					case 1, 2:
						catchUp(ix)
					case 3:
						if err := ix.Aggregate(t.Context()); err != nil {
							t.Fatal(err)
						}
					case 4:
						if err := layer.SignIndex(t.Context(), ix); err != nil {
							t.Fatal(err)
						}
					default:
						rows := make([]string, rapid.IntRange(0, 4).Draw(rt, "rows"))
						for i := range rows {
							rows[i] = "[" + key.Draw(rt, "key") + "," + value.Draw(rt, "value") + "]"
						}
						id := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "id")
						save(t, db, fmt.Sprintf(`{"_id":"%s","rows":[%s]}`, id, strings.Join(rows, ",")))
					}
				}
				catchUp(ix)
				again := design("again", false)
				catchUp(again)
				if got, want := all(ix), all(again); !slices.Equal(got, want) {
					rt.Fatalf("got  %q\nwant %q", got, want)
				}
				if err := db.CleanupViews(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
