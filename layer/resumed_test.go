package layer_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// severing is an engine whose snapshots end on demand, as those of a remote engine do with its connection.
type severing struct {
	kv.Engine
	generation atomic.Int64
	opening    atomic.Int64 // snapshots that end at their first read
}

// severable returns a severing engine. It skips the test if the engine below holds no snapshots.
func severable(t *testing.T) *severing {
	t.Helper()
	e := &severing{Engine: mustEngine(t)}
	if s, ok, err := kv.OpenSnapshot(t.Context(), e.Engine); err != nil {
		t.Fatal(err)
	} else if !ok {
		t.Skip("this engine holds no long snapshots: the test runs on the embedded one")
	} else {
		s.Close()
	}
	return e
}

// sever ends all open snapshots.
func (e *severing) sever() { e.generation.Add(1) }

func (e *severing) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, _, err := kv.OpenSnapshot(ctx, e.Engine)
	born := e.generation.Load()
	if e.opening.Add(-1) >= 0 {
		born--
	}
	return severed{s, e, born}, err
}

// severed has no GetRanges, like a remote engine's snapshots.
type severed struct {
	kv.Snapshot
	e    *severing
	born int64
}

func (s severed) Lost() bool { return s.e.generation.Load() != s.born }

func (s severed) err() error {
	if s.Lost() {
		return kv.NewError(kv.CodeTooOld, "the transaction is lost", kv.ErrConnectionLost)
	}
	return nil
}

func (s severed) Get(key []byte) kv.Future[[]byte] { return severedFuture{s.Snapshot.Get(key), s} }

func (s severed) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return &severedRows{RangeIterator: s.Snapshot.GetRange(r, o), s: s}
}

type severedFuture struct {
	kv.Future[[]byte]
	s severed
}

func (f severedFuture) Wait() ([]byte, error) {
	if err := f.s.err(); err != nil {
		return nil, err
	}
	return f.Future.Wait()
}

type severedRows struct {
	kv.RangeIterator
	s   severed
	err error
}

func (r *severedRows) Next() bool {
	r.err = r.s.err()
	return r.err == nil && r.RangeIterator.Next()
}

func (r *severedRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.RangeIterator.Err()
}

// C6: if the connection to the store breaks during a response, the response continues after its last row.
func TestResumed(t *testing.T) {
	const docs = 600
	e := severable(t)
	d := mustCreate(t, openViewStore(t, e), "db", layer.CreateOptions{})
	var all []string
	for i := range docs {
		all = append(all, fmt.Sprintf("%03d", i))
		put(t, d, fmt.Sprintf(`{"_id":%q,"text":"%0200d"}`, all[i], i))
	}
	down := slices.Clone(all)
	slices.Reverse(down)
	few := []string{"007", "599", "008", "007", "300", "001", "002"}
	for len(few) < 500 {
		few = append(few, fmt.Sprintf("%03d", 599-len(few)))
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(few)))
	list := func(o layer.AllDocsOptions) func(func(string, error) bool) error {
		return func(yield func(string, error) bool) error {
			o.IncludeDocs = true
			pass, err := d.AllDocs(t.Context(), o)
			if err == nil {
				pass.Rows(func(r layer.AllDocsRow, err error) bool { return yield(r.ID, err) })
			}
			return err
		}
	}
	feed := func(o layer.ChangesOptions) func(func(string, error) bool) error {
		return func(yield func(string, error) bool) error {
			pass, err := d.Changes(t.Context(), o)
			if err == nil {
				pass.Rows(func(c layer.Change, err error) bool { return yield(c.ID, err) })
			}
			return err
		}
	}
	for _, tc := range []struct {
		name string
		read func(func(string, error) bool) error
		want []string
	}{
		{"documents", list(layer.AllDocsOptions{Limit: -1}), all},
		{"documents, descending", list(layer.AllDocsOptions{Limit: -1, Descending: true}), down},
		{"some documents", list(layer.AllDocsOptions{Limit: 500, Skip: 20}), all[20:520]},
		{"some documents, descending", list(layer.AllDocsOptions{Limit: 500, Skip: 20, Descending: true}), down[20:520]},
		{"documents by key", list(layer.AllDocsOptions{Limit: 400, Skip: 3, Keys: few}), few[3:403]},
		{"changes", feed(layer.ChangesOptions{Limit: -1, IncludeDocs: true}), all},
		{"changes without documents", feed(layer.ChangesOptions{Limit: -1}), all},
		{"changes, descending", feed(layer.ChangesOptions{Limit: -1, Descending: true}), down},
		{"some changes", feed(layer.ChangesOptions{Limit: 500, IncludeDocs: true}), all[:500]},
		{"changes of some documents", feed(layer.ChangesOptions{Limit: -1, IDs: few, IncludeDocs: true}), sorted},
	} {
		for _, after := range []int{0, 1, 40, 399} {
			t.Run(fmt.Sprintf("%s, after %d", tc.name, after), func(t *testing.T) {
				var got []string
				e.opening.Store(1 - min(int64(after), 1)) // the first snapshot ends at its first read
				err := tc.read(func(id string, err error) bool {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, id); len(got) == after {
						e.sever()
					}
					return true
				})
				if err != nil || !slices.Equal(got, tc.want) {
					t.Errorf("%v; %d rows, want %d: %v", err, len(got), len(tc.want), got)
				}
			})
		}
	}
}

// A query with the documents that an index was made from does not use a snapshot of them that has ended.
func TestResumed_published(t *testing.T) {
	e := severable(t)
	d := mustCreate(t, openViewStore(t, e), "db", layer.CreateOptions{})
	save(t, d, `{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc._id) }"}}}`)
	put(t, d, `{"_id":"a"}`)
	ix := d.Index(mustDesign(t, d, "d"))
	build(t, ix, 1, 1000)
	for range 2 {
		result, err := ix.Query(t.Context(), layer.ViewQuery{View: "v", Limit: -1, IncludeDocs: true})
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range result.Rows {
			if err != nil || row.ID != "a" {
				t.Errorf("row %s: %v", row.ID, err)
			}
		}
		e.sever()
	}
}
