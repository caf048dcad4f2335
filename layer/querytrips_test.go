package layer_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// mustDistant returns an engine whose round trips are counted. It holds snapshots if the engine of the tests does.
func mustDistant(tb testing.TB) (e *distant, open kv.Engine) {
	tb.Helper()
	e = &distant{Engine: mustEngine(tb)}
	if _, ok := e.Engine.(kv.Snapshotter); ok {
		return e, distantSnapshots{e}
	}
	return e, e
}

// distantSnapshots is distant with snapshots.
type distantSnapshots struct{ *distant }

func (e distantSnapshots) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, err := e.Engine.(kv.Snapshotter).OpenSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	return distantSnapshot{s, distantReader{s, e.distant}}, nil
}

type distantSnapshot struct {
	kv.Snapshot
	reader distantReader
}

func (s distantSnapshot) Get(key []byte) kv.Future[[]byte] { return s.reader.Get(key) }
func (s distantSnapshot) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return s.reader.GetRange(in, o)
}

// What a query of a view reads is read together where it can be: on a node that has the store elsewhere, round trips
// take most of its time.
func TestQuery_roundTrips(t *testing.T) {
	if faultkv.Enabled() || faultkv.Short() {
		t.Skip("attempts that fail take round trips")
	}
	const docs, many = 2000, 40
	e, engine := mustDistant(t)
	_, snapshots := engine.(kv.Snapshotter)
	s := openViewStore(t, engine)
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	put(t, d, `{"_id":"_design/v","views":{"n":{"map":"function(doc) { emit(doc.n, 1) }"}}}`)
	var edits []layer.Edit
	for i := range docs {
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"doc%04d","n":%d}`, i, i)))
	}
	mustBulk(t, d, edits, layer.WriteOptions{})
	ix := d.Index(mustDesign(t, d, "v"))
	build(t, ix, 1, docs)
	var keys [][]byte
	for i := range many {
		keys = append(keys, []byte(strconv.Itoa(3*i)))
	}
	for _, c := range []struct {
		name  string
		q     layer.ViewQuery
		rows  int
		first string // id of the first row
		trips int64
	}{
		{"one key", layer.ViewQuery{StartKey: []byte("77"), EndKey: []byte("77"), Limit: -1}, 1, "doc0077", 2},
		{"a limit", layer.ViewQuery{StartKey: []byte("77"), Limit: 20}, 20, "doc0077", 2},
		{"few are skipped", layer.ViewQuery{StartKey: []byte("77"), Skip: 3, Limit: 20}, 20, "doc0080", 2},
		{"many are skipped", layer.ViewQuery{StartKey: []byte("77"), Skip: 999, Limit: 20}, 20, "doc1076", 10},
		{"many keys", layer.ViewQuery{Keys: keys, Limit: -1}, many, "doc0000", 3 + many/8},
		{"few of many keys", layer.ViewQuery{Keys: keys, Limit: 5}, 5, "doc0000", 3},
		{"some of many keys", layer.ViewQuery{Keys: keys, Skip: 15, Limit: 3}, 3, "doc0045", 3 + 16 + 1},
		{"documents", layer.ViewQuery{StartKey: []byte("77"), EndKey: []byte("77"), Limit: -1, IncludeDocs: true}, 1,
			"doc0077", 4},
	} {
		c.q.View, c.q.WithOffset, c.q.Current, c.q.Fresh = "n", true, true, true
		var n int64
		for range 12 { // then the ranks of rows are known
			before := e.clock.Load()
			result, err := ix.Query(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			rows := 0
			for row, err := range result.Rows {
				if err != nil {
					t.Fatal(err)
				}
				if rows++; rows == 1 && row.ID != c.first {
					t.Errorf("%s: the first row is of %s", c.name, row.ID)
				}
			}
			if n = e.clock.Load() - before; rows != c.rows || result.TotalRows != docs {
				t.Errorf("%s: %d rows of %d", c.name, rows, result.TotalRows)
			}
		}
		if !snapshots { // the offset and the state of the index are read one after the other, in a transaction
			c.trips += 6
		}
		if n > c.trips {
			t.Errorf("%s: %d round trips, want %d", c.name, n, c.trips)
		}
	}
}

// The conflicts of many documents are read together.
func TestAllDocs_RowConflicts(t *testing.T) {
	const docs = 500
	e, engine := mustDistant(t)
	s := openViewStore(t, engine)
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	var edits []layer.Edit
	for i := range docs {
		id := fmt.Sprintf("doc%03d", i)
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":%q,"_rev":"1-b"}`, id)))
		if i%2 == 0 {
			edits = append(edits, edit(t, fmt.Sprintf(`{"_id":%q,"_rev":"1-a"}`, id)))
		}
		if i%5 == 0 {
			edits = append(edits, edit(t, fmt.Sprintf(`{"_id":%q,"_rev":"3-c","_deleted":true}`, id)))
		}
	}
	mustBulk(t, d, edits, layer.WriteOptions{Replicated: true})
	before := e.clock.Load()
	result, err := d.AllDocs(t.Context(), layer.AllDocsOptions{Limit: -1, RowConflicts: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for row, err := range result.Rows {
		if err != nil {
			t.Fatal(err)
		}
		var live, deleted []string
		if n%2 == 0 {
			live = []string{"1-a"}
		}
		if n%5 == 0 {
			deleted = []string{"3-c"}
		}
		if got, want := fmt.Sprint(row.Conflicts, row.DeletedConflicts), fmt.Sprint(live, deleted); got != want {
			t.Errorf("%s has %s, want %s", row.ID, got, want)
		}
		n++
	}
	trips := e.clock.Load() - before
	if n != docs || trips > docs/16 && !faultkv.Enabled() && !faultkv.Short() {
		t.Errorf("%d documents were read in %d round trips", n, trips)
	}
}
