package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
	"github.com/divandb/divan/layer/tuple"
)

// remains is an engine that remembers which marks were cleared, and counts how many of them were in ranges that were
// read later: an engine with sorted tables steps over them until it has compacted them. It does not support snapshots.
type remains struct {
	kv.Engine
	mu      sync.Mutex
	marks   map[string]bool // whether it still exists
	stepped int

	hook     func() // called when the second transaction of a context of noteBegins begins
	atCommit func() // called before the next commit that concerns marks
}

func (e *remains) Begin(ctx context.Context) kv.Transaction {
	if n := notedBegins(ctx); n != nil && n.Add(1) == 2 && e.hook != nil {
		e.hook()
	}
	return &remainsTransaction{Transaction: e.Engine.Begin(ctx), e: e}
}

type remainsTransaction struct {
	kv.Transaction
	e      *remains
	writes []func(marks map[string]bool)
}

func (t *remainsTransaction) Atomic(op kv.AtomicOp, key, operand []byte) {
	if mark := string(key); inViewRange(key, keyspace.ViewMarks) {
		t.writes = append(t.writes, func(marks map[string]bool) { marks[mark] = true })
	}
	t.Transaction.Atomic(op, key, operand)
}

func (t *remainsTransaction) ClearRange(in kv.KeyRange) {
	t.writes = append(t.writes, func(marks map[string]bool) {
		for mark := range marks {
			if mark >= string(in.Begin) && mark < string(in.End) {
				marks[mark] = false
			}
		}
	})
	t.Transaction.ClearRange(in)
}

func (t *remainsTransaction) Commit() error {
	if hook := t.e.atCommit; hook != nil && len(t.writes) > 0 {
		t.e.atCommit = nil
		hook()
	}
	err := t.Transaction.Commit()
	if err == nil {
		t.e.mu.Lock()
		defer t.e.mu.Unlock()
		for _, write := range t.writes {
			write(t.e.marks)
		}
	}
	return err
}

func (t *remainsTransaction) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return remainsReader{t.Transaction, t.e}.GetRange(in, o)
}

func (t *remainsTransaction) Snapshot() kv.Reader {
	return remainsReader{t.Transaction.Snapshot(), t.e}
}

type remainsReader struct {
	kv.Reader
	e *remains
}

func (r remainsReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	begin, end := in.Selectors()
	for mark, there := range r.e.marks {
		if !there && mark >= string(begin.Key) && mark < string(end.Key) {
			r.e.stepped++
		}
	}
	return r.Reader.GetRange(in, o)
}

// After all documents were rewritten and the aggregates brought up to date, queries do not read where the marks were,
// also if documents were written while the aggregates were being brought up to date.
func TestIndex_Aggregate_clearedMarks(t *testing.T) {
	oneGoroutine(t)
	for _, c := range []struct {
		name  string
		docs  int
		while bool
	}{{"before", 20, false}, {"meanwhile", 100, true}} {
		t.Run(c.name, func(t *testing.T) {
			below := mustEngine(t)
			e := &remains{Engine: below, marks: map[string]bool{}}
			db := openAggregates(t, e, below, layer.CreateOptions{Shards: 2})
			save(t, db, aggregateDesign())
			loadRows(t, db, c.docs)
			ix := db.Index(mustDesign(t, db, "d"))
			build(t, ix, 1, 50)
			rewrite := func() {
				for i := range c.docs {
					save(t, db, fmt.Sprintf(`{"_id":"%04d",
						"rows":[[["a",%[1]d],6],[["b",%[1]d],7],[["c",%[1]d],8],[%[1]d,9],["z",10]]}`, i))
				}
				build(t, ix, 2, 50)
			}
			if c.while {
				e.hook = rewrite
			} else {
				rewrite()
			}
			ctx, _ := noteBegins(t.Context())
			if err := ix.Aggregate(ctx); err != nil {
				t.Fatal(err)
			}
			// five in each of four views that use values
			if n := viewKeys(t, below, keyspace.ViewMarks); n > 0 || len(e.marks) < 20*c.docs {
				t.Fatalf("%d marks are left of %d", n, len(e.marks))
			}
			save(t, db, `{"_id":"x","rows":[[["b",5.5],1]]}`)
			if ok, err := ix.CatchUp(t.Context(), 10); !ok || err != nil {
				t.Fatal(ok, err)
			}
			e.stepped = 0
			if lines, offset := pageOf(t, ix,
				layer.ViewQuery{View: "sum", Key: []byte(`["c",7]`), Limit: 1, WithOffset: true}); len(
				lines) != 1 || offset != int64(4*c.docs+8) {
				t.Errorf("%q at offset %d", lines, offset)
			}
			got := reduceLines(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "sum", Limit: -1}})
			if want := fmt.Sprintf("[null %d]", c.docs*(6+7+8+9+10)+1); fmt.Sprint(got) != want {
				t.Errorf("sum %s, want %s", got, want)
			}
			if e.stepped > 0 {
				t.Errorf("queries read where %d marks were, of %d", e.stepped, len(e.marks))
			}
		})
	}
}

// A writer of rows that has not seen an epoch begin does not leave its marks in the previous one, which may have been
// drained in the meantime.
func TestIndex_Aggregate_lateWriter(t *testing.T) {
	below := mustEngine(t)
	e := &remains{Engine: below, marks: map[string]bool{}}
	db := openAggregates(t, e, below, layer.CreateOptions{})
	save(t, db, aggregateDesign())
	loadRows(t, db, 20)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 50)
	for i := range 10 {
		save(t, db, fmt.Sprintf(`{"_id":"x%d","rows":[[["b",%d.5],1],[["c",%d.5],1]]}`, i, i, i))
	}
	build(t, ix, 2, 50)
	save(t, db, `{"_id":"0007","rows":[[["a",7],100]]}`)
	e.atCommit = func() {
		if err := ix.Aggregate(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if ok, err := ix.CatchUp(t.Context(), 10); !ok || err != nil || e.atCommit != nil {
		t.Fatal(ok, err)
	}
	for view, want := range map[string]int{"sum": 19*15 + 10*2 + 100, "count": 19*5 + 10*2 + 1} {
		if got := fmt.Sprint(reduceLines(t, ix,
			layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: view, Limit: -1}})); got != fmt.Sprintf("[null %d]",
			want) {
			t.Errorf("%s %s, want %d", view, got, want)
		}
	}
}

// The key of a row may be as long as a key of the store can be, and the key of its mark is not longer, in any epoch.
func TestIndex_Aggregate_longKeys(t *testing.T) {
	oneGoroutine(t)
	if fdbtest.Enabled() {
		t.Skip("the suite's range takes a part of each key")
	}
	below := mustEngine(t)
	db := openAggregates(t, below, below, layer.CreateOptions{})
	save(t, db,
		`{"_id":"_design/d","views":{"v":{"map":"function(doc) { if (doc.value) emit(Array(doc.items).fill(7), doc.value); }","reduce":"_sum"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	save(t, db, `{"_id":"a","items":1,"value":1}`)
	build(t, ix, 1, 50)
	sevens := func(n int) int { return len(sortKey(t, []byte("["+strings.Repeat("7,", n-1)+"7]"))) }
	items := 1 + (kv.MaxKeySize-150-sevens(1))/(sevens(2)-sevens(1))
	const docs, turns = 150, 3
	for turn := range turns {
		for i := range docs { // one of them has the longest key
			save(t, db, fmt.Sprintf(`{"_id":"%s","items":%d,"value":%d}`, strings.Repeat("x", i+1), items, turn+1))
		}
		build(t, ix, int64(turn)+2, 50)
		if err := ix.Aggregate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	failed := 0
	for _, err := range ix.Errors(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		failed++
	}
	if failed == 0 || failed == docs {
		t.Fatalf("%d keys are too long, of %d", failed, docs)
	}
	got := reduceLines(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "v", Limit: -1}})
	if want := fmt.Sprintf("[null %d]", 1+turns*(docs-failed)); fmt.Sprint(got) != want {
		t.Errorf("sum %s, want %s", got, want)
	}
}

// Partials of an older format are neither used nor kept: writers, or the next aggregation, remove them.
func TestIndex_Aggregate_format(t *testing.T) {
	oneGoroutine(t)
	for name, written := range map[string]bool{"found by a writer": true, "found by Aggregate": false} {
		t.Run(name, func(t *testing.T) {
			below := mustEngine(t)
			e := &costEngine{Engine: below}
			db := openAggregates(t, e, below, layer.CreateOptions{})
			save(t, db, aggregateDesign())
			loadRows(t, db, 100)
			ix := db.Index(mustDesign(t, db, "d"))
			build(t, ix, 1, 50)
			ageAggregates(t, below)
			want := 500
			check := func() {
				t.Helper()
				q := layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "count", Limit: -1}}
				if got := fmt.Sprint(reduceLines(t, ix, q)); got != fmt.Sprintf("[null %d]", want) {
					t.Errorf("count %s, want %d", got, want)
				}
				if _, offset := pageOf(t, ix,
					layer.ViewQuery{View: "count", Key: []byte(`"z"`), Limit: 1, WithOffset: true}); offset != 100 {
					t.Errorf("offset %d", offset)
				}
			}
			check()
			if written {
				save(t, db, `{"_id":"x","rows":[[["b",5.5],1]]}`)
				if ok, err := ix.CatchUp(t.Context(), 10); !ok || err != nil {
					t.Fatal(ok, err)
				}
				want++
				if n := viewKeys(t, below, keyspace.ViewPartials) + viewKeys(t, below, keyspace.ViewMarks); n > 0 {
					t.Errorf("%d keys of the older format are left", n)
				}
				check()
			}
			if err := ix.Aggregate(t.Context()); err != nil {
				t.Fatal(err)
			}
			check()
			e.rows.Store(0)
			check()
			if n := e.rows.Load(); n > 200 || viewKeys(t, below, keyspace.ViewPartials) == 0 {
				t.Errorf("%d rows were read with new aggregates", n)
			}
		})
	}
}

// ageAggregates turns all partials into ones of format 1, which counted rows that no longer exist.
func ageAggregates(tb testing.TB, engine kv.Engine) {
	tb.Helper()
	aged, _, err := kv.Transact(tb.Context(), engine, kv.TransactOptions{},
		func(tx kv.Transaction) (aged int, err error) {
			it := tx.GetRange(kv.KeyRange{Begin: []byte{0}, End: []byte{0xff}}, kv.RangeOptions{Mode: kv.ModeWantAll})
			defer it.Close()
			for it.Next() {
				row := it.KeyValue()
				key, value := bytes.Clone(row.Key), bytes.Clone(row.Value)
				switch {
				case inViewInfo(key, keyspace.ViewAggregated):
					value = tuple.AppendInt(nil, 1)
				case inViewRange(key, keyspace.ViewPartials), inViewRange(key, keyspace.ViewPartials+1),
					inViewRange(key, keyspace.ViewPartials+2):
					value[0]--
					value[1]++ // rows
				default:
					continue
				}
				tx.Set(key, value)
				aged++
			}
			return aged, it.Err()
		})
	if err != nil || aged < 10 {
		tb.Fatal(aged, err)
	}
}

// inViewInfo reports whether a key is (Data, database, Views, ViewInfo, what, ...).
func inViewInfo(key []byte, what keyspace.ViewInfoKey) bool {
	for _, want := range []int64{int64(keyspace.Data), -1, int64(keyspace.Views), int64(keyspace.ViewInfo),
		int64(what)} {
		n, rest, err := tuple.TakeInt(key)
		if err != nil || want >= 0 && n != want {
			return false
		}
		key = rest
	}
	return true
}
