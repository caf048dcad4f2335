package layer_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// ageing is an engine without long snapshots whose transactions become too old on demand, as FoundationDB's do after
// five seconds.
type ageing struct {
	kv.Engine
	generation atomic.Int64
	row        func() // unless nil, called before each row of a range
}

// age makes all open transactions too old.
func (e *ageing) age() { e.generation.Add(1) }

func (e *ageing) Begin(ctx context.Context) kv.Transaction {
	return &ageingTransaction{e.Engine.Begin(ctx), e, e.generation.Load()}
}

type ageingTransaction struct {
	kv.Transaction
	e    *ageing
	born int64
}

func (t *ageingTransaction) err() error {
	if t.e.generation.Load() == t.born {
		return nil
	}
	return kv.NewError(kv.CodeTooOld, "too old", nil)
}

func (t *ageingTransaction) Snapshot() kv.Reader { return ageingReader{t.Transaction.Snapshot(), t} }
func (t *ageingTransaction) Get(key []byte) kv.Future[[]byte] {
	return ageingReader{t.Transaction, t}.Get(key)
}
func (t *ageingTransaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return ageingReader{t.Transaction, t}.GetRange(r, o)
}
func (t *ageingTransaction) Commit() error {
	if err := t.err(); err != nil {
		return err
	}
	return t.Transaction.Commit()
}

type ageingReader struct {
	kv.Reader
	t *ageingTransaction
}

func (r ageingReader) Get(key []byte) kv.Future[[]byte] {
	return ageingFuture{r.Reader.Get(key), r.t}
}

func (r ageingReader) GetRange(kr kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return &ageingRows{RangeIterator: r.Reader.GetRange(kr, o), t: r.t}
}

type ageingFuture struct {
	kv.Future[[]byte]
	t *ageingTransaction
}

func (f ageingFuture) Wait() ([]byte, error) {
	if err := f.t.err(); err != nil {
		return nil, err
	}
	return f.Future.Wait()
}

type ageingRows struct {
	kv.RangeIterator
	t    *ageingTransaction
	aged error
}

func (r *ageingRows) Next() bool {
	if r.t.e.row != nil {
		r.t.e.row()
	}
	if r.aged = r.t.err(); r.aged != nil {
		return false
	}
	return r.RangeIterator.Next()
}

func (r *ageingRows) Err() error {
	if r.aged != nil {
		return r.aged
	}
	return r.RangeIterator.Err()
}

// C6: a response that takes longer than a transaction continues after the last row. If the database is deleted in the
// meantime it ends with an error, also if there is a new database of the same name, whose rows are never returned.
func TestStitched(t *testing.T) {
	oneGoroutine(t)
	const docs = 300
	for name, open := range map[string]func(ctx context.Context,
		d *layer.Database) (func(yield func(id string, err error) bool), error){
		"changes": func(ctx context.Context, d *layer.Database) (func(func(string, error) bool), error) {
			pass, err := d.Changes(ctx, layer.ChangesOptions{Limit: -1, IncludeDocs: true})
			if err != nil {
				return nil, err
			}
			return func(yield func(string, error) bool) {
				pass.Rows(func(c layer.Change, err error) bool { return yield(c.ID, err) })
			}, nil
		},
		"all documents": func(ctx context.Context, d *layer.Database) (func(func(string, error) bool), error) {
			pass, err := d.AllDocs(ctx, layer.AllDocsOptions{Limit: -1, IncludeDocs: true})
			if err != nil {
				return nil, err
			}
			return func(yield func(string, error) bool) {
				pass.Rows(func(r layer.AllDocsRow, err error) bool { return yield(r.ID, err) })
			}, nil
		},
		"view": func(ctx context.Context, d *layer.Database) (func(func(string, error) bool), error) {
			result, err := d.Index(mustDesign(t, d, "d")).Query(ctx,
				layer.ViewQuery{View: "v", Limit: -1, IncludeDocs: true})
			if err != nil {
				return nil, err
			}
			return func(yield func(string, error) bool) {
				result.Rows(func(r layer.ViewRow, err error) bool { return yield(r.ID, err) })
			}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &ageing{Engine: withoutSnapshots{mustEngine(t)}}
			s := openViewStore(t, e)
			fresh := func() *layer.Database {
				d := mustCreate(t, s, "db", layer.CreateOptions{})
				save(t, d, `{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc._id) }"}}}`)
				return d
			}
			d := fresh()
			for i := range docs {
				put(t, d, fmt.Sprintf(`{"_id":"%03d"}`, i))
			}
			build(t, d.Index(mustDesign(t, d, "d")), 1, 1000)

			// The transaction ends every 40 rows.
			rows, err := open(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for id, err := range rows {
				if err != nil {
					t.Fatal(err)
				}
				if id == "_design/d" {
					continue
				}
				if want := fmt.Sprintf("%03d", seen); id != want {
					t.Fatalf("row %d is %s", seen, id)
				}
				if seen++; seen%40 == 0 {
					e.age()
				}
			}
			if seen != docs {
				t.Errorf("%d rows, want %d", seen, docs)
			}

			// The database is deleted while it is read, and another one is created.
			if rows, err = open(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			seen = 0
			var last error
			for id, err := range rows {
				if last = err; err != nil {
					break
				}
				if id >= "900" && id < "_" {
					t.Fatalf("row %s is of another database", id)
				}
				if seen++; seen == 40 {
					if err := s.Delete(t.Context(), "db"); err != nil {
						t.Fatal(err)
					}
					other := fresh()
					for i := range docs {
						put(t, other, fmt.Sprintf(`{"_id":"9%03d"}`, i))
					}
					e.age()
				}
			}
			if last == nil || layer.KindOf(last) != layer.NotFound {
				t.Errorf("after %d rows the response of a deleted database ends with %v", seen, last)
			}
		})
	}
}

// P8: if a reduction takes longer than a transaction, and its index is updated meanwhile, a group is of one sequence
// nevertheless, and so is an answer without groups: that which it names.
func TestStitched_reduce(t *testing.T) {
	oneGoroutine(t)
	const docs, groups = 60, 3
	for name, q := range map[string]layer.ReduceQuery{
		"sum":            {ViewQuery: layer.ViewQuery{View: "sum"}},
		"descending sum": {ViewQuery: layer.ViewQuery{View: "sum", Descending: true}},
		"count":          {ViewQuery: layer.ViewQuery{View: "count"}},
		"sums":           {ViewQuery: layer.ViewQuery{View: "sum"}, GroupLevel: 1},
		"last sums":      {ViewQuery: layer.ViewQuery{View: "sum", Descending: true, Skip: 1}, GroupLevel: 1},
		"script":         {ViewQuery: layer.ViewQuery{View: "script"}},
		"scripts":        {ViewQuery: layer.ViewQuery{View: "script"}, GroupLevel: 1},
		"ranges": {ViewQuery: layer.ViewQuery{View: "sum", Ranges: []layer.KeyRange{
			{StartKey: []byte(`[0]`), EndKey: []byte(`[1,30]`)}, {StartKey: []byte(`[1,30.5]`), EndKey: []byte(`[9]`)}}}},
	} {
		for _, after := range []int{1, 5, 15, 30, 55} {
			t.Run(fmt.Sprintf("%s, after %d rows", name, after), func(t *testing.T) {
				below := mustEngine(t)
				e := &ageing{Engine: withoutSnapshots{below}}
				db := mustCreate(t, openPartials(t, e, 4), "db", layer.CreateOptions{})
				other, err := openPartials(t, withoutSnapshots{below}, 4).Database(t.Context(), "db")
				if err != nil {
					t.Fatal(err)
				}
				save(t, other, `{"_id":"_design/d","views":{`+
					`"sum":{"map":"function(doc) { emit(doc.key, doc.n) }","reduce":"_sum"},`+
					`"count":{"map":"function(doc) { for (var i = 0; i < doc.n; i++) emit(doc.key) }","reduce":"_count"},`+
					`"script":{"map":"function(doc) { emit(doc.key, doc.n) }",`+
					`"reduce":"function(keys, values) { return sum(values) }"}}}`)
				sums := map[layer.Seq]int{}
				// Later, every second document comes before all that were in its group.
				update := func(n int) {
					for i := range docs {
						save(t, other, fmt.Sprintf(`{"_id":"%03d","key":[%d,%d],"n":%d}`,
							i, i*groups/docs, i-(n-1)*docs*(i%2), n))
					}
					ix := other.Index(mustDesign(t, other, "d"))
					build(t, ix, int64(n), 1000)
					info, err := other.Info(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					sums[info.UpdateSeq] = n
				}
				update(1)
				ix := db.Index(mustDesign(t, db, "d"))
				// The store reads in the background too, also when the test ends.
				var reading sync.Mutex
				rows := 0
				e.row = func() {
					reading.Lock()
					defer reading.Unlock()
					if rows++; rows == after {
						update(3)
						e.age()
					}
				}
				defer func() {
					reading.Lock()
					defer reading.Unlock()
					rows = after
				}()
				q.Limit = -1
				result, err := ix.Reduce(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				got := 0
				for row, err := range result.Rows {
					if err != nil {
						t.Fatal(err)
					}
					got++
					value := string(row.Value)
					if q.GroupLevel == 0 {
						if want := fmt.Sprint(docs * sums[result.UpdateSeq]); value != want {
							t.Errorf("%s, want %s at %s", value, want, result.UpdateSeq)
						}
					} else if value != fmt.Sprint(docs/groups) && value != fmt.Sprint(3*docs/groups) {
						t.Errorf("the group %s has %s", row.Key, value)
					}
				}
				if want := max(1, (groups-q.Skip)*q.GroupLevel); got != want {
					t.Errorf("%d groups, want %d", got, want)
				}
			})
		}
	}
}
