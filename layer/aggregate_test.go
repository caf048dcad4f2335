package layer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/reduce"
	"github.com/divandb/divan/layer/script"
)

// aggregateViews have the same rows except for their values, and every kind of reduction.
var aggregateViews = map[string]string{
	"none": "", "count": "_count", "sum": "_sum", "stats": "_stats", "distinct": "_approx_count_distinct",
	"objects": "_sum", "arrays": "_stats", "top": "_top_3", "bottom": "_bottom_2", "first": "_first", "last": "_last",
	"js": "function(keys, values, again) { return sum(values); }",
}

func aggregateDesign() string {
	views := map[string]any{}
	for name, f := range aggregateViews {
		value := "row[1]"
		switch name {
		case "objects":
			value = "{n: row[1], of: {x: [row[1]]}}"
		case "arrays":
			value = "[row[1], 1]"
		}
		v := map[string]string{"map": "function(doc) { (doc.rows || []).forEach(function(row) { emit(row[0], " + value +
			"); }); }"}
		if f != "" {
			v["reduce"] = f
		}
		views[name] = v
	}
	design, err := json.Marshal(map[string]any{"_id": "_design/d", "views": views})
	if err != nil {
		panic(err)
	}
	return string(design)
}

// openAggregates opens a database with small partials, so that few rows fill all levels. below is the engine without
// its faults.
func openAggregates(tb testing.TB, engine, below kv.Engine, o layer.CreateOptions) *layer.Database {
	tb.Helper()
	sandbox := script.New(script.Options{})
	tb.Cleanup(func() {
		if err := sandbox.Close(); err != nil {
			tb.Error(err)
		}
	})
	store, err := layer.Open(tb.Context(), faultkv.InSuite(tb, engine),
		layer.Options{Scripts: sandbox, Validator: layer.NewValidator(sandbox), PartialRows: 8})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
		checkStore(tb, below)
	})
	return mustCreate(tb, store, "db", o)
}

// interruptible can end a context after a number of transactions. It does not support snapshots.
type interruptible struct {
	kv.Engine
	left   atomic.Int64
	cancel atomic.Pointer[context.CancelFunc]
}

func (e *interruptible) Begin(ctx context.Context) kv.Transaction {
	if e.left.Add(-1) == 0 {
		(*e.cancel.Load())()
	}
	return e.Engine.Begin(ctx)
}

// after returns a context that ends with the n-th transaction.
func (e *interruptible) after(ctx context.Context, n int) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	e.cancel.Store(&cancel)
	e.left.Store(int64(n))
	return ctx
}

// mapRow is a row of a view. sortKey is its sort key.
type mapRow struct {
	id, key, value string
	sortKey        []byte
}

func allRows(tb testing.TB, ix *layer.Index, view string) []mapRow {
	tb.Helper()
	result := fresh(tb, func() (*layer.ViewResult, error) {
		return ix.Query(tb.Context(), layer.ViewQuery{View: view, Limit: -1, Fresh: true})
	})
	var all []mapRow
	for row, err := range result.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, mapRow{row.ID, string(row.Key), string(row.Value), sortKey(tb, row.Key)})
	}
	return all
}

// fresh begins a query of one state. During a build, and without snapshots, such a query maps what the index lacks, and
// is refused if that takes too long: on a busy machine it is repeated.
func fresh[T any](tb testing.TB, begin func() (T, error)) T {
	tb.Helper()
	result, err := layer.BeginEnsured(func() error { return nil }, begin)
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

func sortKey(tb testing.TB, key []byte) []byte {
	tb.Helper()
	k, err := collate.AppendKey(nil, key)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// backwards reverses rows, except that rows of one document and key keep their order.
func backwards(all []mapRow) {
	slices.Reverse(all)
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].id == all[from].id && bytes.Equal(all[to].sortKey, all[from].sortKey) {
			to++
		}
		slices.Reverse(all[from:to])
		from = to
	}
}

// selected returns the rows of a query without skip and limit, divided by its keys, and how many rows come before the
// first one.
func selected(tb testing.TB, all []mapRow, q *layer.ViewQuery) (parts [][]mapRow, before int) {
	tb.Helper()
	all = slices.Clone(all)
	if q.Descending {
		backwards(all)
	}
	compare := func(r mapRow, key []byte) int {
		c := bytes.Compare(r.sortKey, sortKey(tb, key))
		if q.Descending {
			return -c
		}
		return c
	}
	if q.Keys != nil {
		for _, key := range q.Keys {
			var part []mapRow
			for i, r := range all {
				if compare(r, key) == 0 {
					if part == nil && !slices.ContainsFunc(parts, func(p []mapRow) bool { return p != nil }) {
						before = i
					}
					part = append(part, r)
				}
			}
			parts = append(parts, part)
		}
		return parts, before
	}
	var part []mapRow
	for _, r := range all {
		switch {
		case q.StartKey != nil && compare(r, q.StartKey) < 0:
			before++
		case q.EndKey != nil && (compare(r, q.EndKey) > 0 || q.ExcludeEnd && compare(r, q.EndKey) == 0):
		default:
			part = append(part, r)
		}
	}
	return [][]mapRow{part}, before
}

// reduced computes the expected answer of a reduce query from the rows.
func reduced(tb testing.TB, parts [][]mapRow, function string, level int, descending bool) []string {
	tb.Helper()
	var out []string
	for _, part := range parts {
		for len(part) > 0 {
			n := 1
			for n < len(part) && groupOf(tb, &part[n], level) == groupOf(tb, &part[0], level) {
				n++
			}
			out = append(out, shownGroup(tb, &part[0], level)+" "+reduceRows(tb, function, part[:n], descending))
			part = part[n:]
		}
	}
	return out
}

func reduceRows(tb testing.TB, function string, rows []mapRow, descending bool) string {
	tb.Helper()
	if strings.HasPrefix(function, "function") {
		function = "_sum" // its effect
	}
	a := reduce.New(function)
	if descending { // as they were before they were turned around
		rows = slices.Clone(rows)
		backwards(rows)
	}
	for _, r := range rows {
		if err := a.Add([]byte(r.key), []byte(r.value)); err != nil {
			tb.Fatal(err)
		}
	}
	return string(a.AppendJSON(nil))
}

// groupOf identifies a group; shownGroup is the group as returned.
func groupOf(tb testing.TB, r *mapRow, level int) string {
	if level == layer.GroupExact {
		return string(r.sortKey)
	}
	if level > 0 && !strings.HasPrefix(r.key, "[") {
		return string(r.sortKey)
	}
	return string(sortKey(tb, []byte(shownGroup(tb, r, level))))
}

func shownGroup(tb testing.TB, r *mapRow, level int) string {
	tb.Helper()
	if level == 0 {
		return "null"
	}
	if level == layer.GroupExact || !strings.HasPrefix(r.key, "[") {
		return r.key
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(r.key), &items); err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, item := range items[:min(level, len(items))] {
		out = append(out, string(item))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// sameGroups compares answers: numbers by value, because JavaScript writes 2.0 as 2, and objects regardless of the
// order of their members.
func sameGroups(tb testing.TB, got, want []string) bool {
	tb.Helper()
	parse := func(lines []string) (out []any) {
		for _, line := range lines {
			var v any
			if err := json.Unmarshal([]byte("["+strings.Replace(line, " ", ",", 1)+"]"), &v); err != nil {
				tb.Fatal(line, err)
			}
			out = append(out, v)
		}
		return out
	}
	return reflect.DeepEqual(parse(got), parse(want))
}

func page(lines []string, skip, limit int) []string {
	lines = lines[min(skip, len(lines)):]
	if limit >= 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return lines
}

var aggregateKeys = []string{`null`, `1`, `1.0`, `2`, `"a"`, `"A"`, `["a"]`, `["a",1]`, `["a",1.0]`, `["a",2]`,
	`["a",2,"x"]`, `["a",2,"y"]`, `["b",1]`, `["b",1,{}]`, `["c"]`, `{"x":1}`}

// checkAggregates runs random queries and compares the answers with the rows.
func checkAggregates(tb testing.TB, rt *rapid.T, ix *layer.Index) {
	view := rapid.SampledFrom(slices.Sorted(maps.Keys(aggregateViews))).Draw(rt, "view")
	all := allRows(tb, ix, view)
	for range 4 {
		q := layer.ViewQuery{View: view, Limit: -1, WithOffset: true, Fresh: true,
			Descending: rapid.Bool().Draw(rt, "descending"), ExcludeEnd: rapid.Bool().Draw(rt, "exclude end")}
		key := func() []byte { return []byte(rapid.SampledFrom(aggregateKeys).Draw(rt, "key")) }
		switch rapid.IntRange(0, 3).Draw(rt, "range") {
		case 0:
			q.StartKey = key()
		case 1:
			q.StartKey, q.EndKey = key(), key()
			if c := bytes.Compare(sortKey(tb, q.StartKey), sortKey(tb, q.EndKey)); c == 0 || (c > 0) != q.Descending {
				q.StartKey, q.EndKey = q.EndKey, q.StartKey
			}
			if bytes.Equal(sortKey(tb, q.StartKey), sortKey(tb, q.EndKey)) {
				q.ExcludeEnd = false
			}
		case 2:
			for range rapid.IntRange(1, 3).Draw(rt, "keys") {
				q.Keys = append(q.Keys, key())
			}
			q.ExcludeEnd = false
		}
		if rapid.Bool().Draw(rt, "paged") {
			q.Skip, q.Limit = rapid.IntRange(0, 200).Draw(rt, "skip"), rapid.IntRange(0, 5).Draw(rt, "limit")
		}
		parts, before := selected(tb, all, &q)
		if aggregateViews[view] != "" {
			r := layer.ReduceQuery{ViewQuery: q, GroupLevel: rapid.IntRange(-1, 3).Draw(rt, "level"),
				Count: rapid.Bool().Draw(rt, "count")}
			if r.Skip > 5 {
				r.Skip %= 7
			}
			function := aggregateViews[view]
			if r.Count {
				function = "_count"
			}
			want := page(reduced(tb, parts, function, r.GroupLevel, q.Descending), r.Skip, r.Limit)
			if got := reduceLines(tb, ix, r); !sameGroups(tb, got, want) {
				rt.Fatalf("%s level %d %s: got\n%q, want\n%q", view, r.GroupLevel, describe(&q), got, want)
			}
		}
		var want []string
		for _, r := range slices.Concat(parts...) {
			want = append(want, r.id+" "+r.key+" "+r.value)
		}
		got, offset := pageOf(tb, ix, q)
		if want = page(want, q.Skip, q.Limit); !slices.Equal(got, want) {
			rt.Fatalf("%s %s: got\n%q, want\n%q", view, describe(&q), got, want)
		}
		if len(slices.Concat(parts...)) > 0 && offset != int64(min(before+q.Skip, len(all))) {
			rt.Fatalf("%s %s: offset %d, want %d and the skip, of %d", view, describe(&q), offset, before, len(all))
		}
	}
}

func describe(q *layer.ViewQuery) string {
	return fmt.Sprintf("from %s to %s keys %q descending %v exclusive %v skip %d limit %d", q.StartKey, q.EndKey,
		q.Keys, q.Descending, q.ExcludeEnd, q.Skip, q.Limit)
}

func reduceLines(tb testing.TB, ix *layer.Index, q layer.ReduceQuery) []string {
	tb.Helper()
	result := fresh(tb, func() (*layer.ReduceResult, error) { return ix.Reduce(tb.Context(), q) })
	var out []string
	for row, err := range result.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s", row.Key, row.Value))
	}
	return out
}

func drawDocument(rt *rapid.T) string {
	id := rapid.IntRange(0, 80).Draw(rt, "id")
	if rapid.IntRange(0, 5).Draw(rt, "delete") == 0 {
		return fmt.Sprintf(`{"_id":"%02d"}`, id)
	}
	var rows []string
	for range rapid.IntRange(0, 6).Draw(rt, "rows") {
		// Sums of these are exact in any order, so answers can be compared exactly.
		value := rapid.SampledFrom([]string{`1`, `2.5`, `-3`, `0.25`, `1048577`, `0`}).Draw(rt, "value")
		rows = append(rows, "["+rapid.SampledFrom(aggregateKeys).Draw(rt, "row")+","+value+"]")
	}
	return fmt.Sprintf(`{"_id":"%02d","rows":[%s]}`, id, strings.Join(rows, ","))
}

// Whatever has been written, by builds, by requests or by both, whether or not partials have been brought up to date,
// and whatever their shape, answers are the reductions of the rows.
func TestIndex_Aggregate_model(t *testing.T) {
	oneGoroutine(t)
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			engine := mustEngine(t)
			interrupted := &interruptible{Engine: engine}
			top := engine
			if !snapshots {
				top = interrupted
			}
			db := openAggregates(t, top, engine, layer.CreateOptions{Shards: 3})
			save(t, db, aggregateDesign())
			ix := db.Index(mustDesign(t, db, "d"))
			token := int64(0)
			// A Fresh query of an index that nobody has built is refused.
			token++
			build(t, ix, token, 10)
			rapid.Check(t, func(rt *rapid.T) {
				for range rapid.IntRange(1, 15).Draw(rt, "writes") {
					save(t, db, drawDocument(rt))
				}
				if rapid.IntRange(0, 9).Draw(rt, "reshard") == 0 {
					if _, err := db.Reshard(t.Context(), rapid.IntRange(1, 4).Draw(rt, "shards")); err != nil {
						t.Fatal(err)
					}
				}
				switch rapid.IntRange(0, 3).Draw(rt, "update") {
				case 0:
					token++
					build(t, ix, token, rapid.IntRange(1, 30).Draw(rt, "n"))
				case 1: // cancelled midway
					token++
					b, err := ix.StartBuild(t.Context(), token)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := b.Step(t.Context(), b.Shards[0], 5); err != nil {
						t.Fatal(err)
					}
					b.Close()
				default:
					if _, err := ix.CatchUp(t.Context(), 1000); err != nil {
						t.Fatal(err)
					}
				}
				checkAggregates(t, rt, ix)
				if rapid.IntRange(0, 2).Draw(rt, "aggregate") == 0 {
					ctx := t.Context()
					if !snapshots {
						ctx = interrupted.after(ctx, rapid.IntRange(1, 40).Draw(rt, "transactions"))
					}
					if err := ix.Aggregate(ctx); err != nil && ctx.Err() == nil {
						t.Fatal(err)
					}
					checkAggregates(t, rt, ix)
				}
			})
		})
	}
}

// Several callers bring partials up to date while several others write documents, with faults in every call of the
// engine. No partial is left that differs from its rows and has no mark.
func TestIndex_Aggregate_concurrent(t *testing.T) {
	for name, rates := range map[string]faultkv.Rates{"snapshots": {},
		"faults": {UnknownLost: 0.02, UnknownCommitted: 0.02, Conflict: 0.02, TooOld: 0.02}} {
		t.Run(name, func(t *testing.T) {
			below := mustEngine(t)
			engine := below
			if rates != (faultkv.Rates{}) {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				engine = withoutSnapshots{faultkv.New(below, faultkv.Options{Seed: seed, Rates: rates})}
			}
			db := openAggregates(t, engine, below, layer.CreateOptions{Shards: 2})
			save(t, db, aggregateDesign())
			ix := db.Index(mustDesign(t, db, "d"))
			build(t, ix, 1, 10)
			const writers = 3
			docs := 60
			if raceDetector {
				docs = 15
			}
			drawn := rapid.Custom(drawDocument)
			var done sync.WaitGroup
			for w := range writers {
				done.Go(func() {
					for i := range docs {
						doc := drawn.Example(w*1000 + i)
						doc = strings.Replace(doc, `"_id":"`, fmt.Sprintf(`"_id":"%d-`, w), 1)
						save(t, db, doc)
						if _, err := ix.CatchUp(t.Context(), 1000); err != nil {
							t.Error(err)
						}
					}
				})
			}
			stop := make(chan struct{})
			var aggregating sync.WaitGroup
			for range 2 {
				aggregating.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if err := ix.Aggregate(t.Context()); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			done.Wait()
			close(stop)
			aggregating.Wait()
			build(t, ix, 2, 100)
			rapid.Check(t, func(rt *rapid.T) { checkAggregates(t, rt, ix) })
		})
	}
}
