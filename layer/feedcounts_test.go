package layer_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/tuple"
)

// checkCounts compares the counts of entries by blocks with the entries.
func (d *keyDump) checkCounts(tb rapid.TB, name string, shape layer.FeedShape) {
	tb.Helper()
	want := [3]map[string]map[int64]int64{{}, {}, {}}
	for seq, e := range d.entries {
		incarnation, stamp, _ := strings.Cut(seq, "/")
		raw, err := hex.DecodeString(stamp[:16])
		if err != nil {
			tb.Fatal(err)
		}
		of, version := e.shard+"/"+incarnation, int64(0)
		for _, b := range raw {
			version = version<<8 | int64(b)
		}
		if uint64(version)>>shape.LeafBits >= d.marks[of] {
			continue
		}
		for level := range want {
			if want[level][of] == nil {
				want[level][of] = map[int64]int64{}
			}
			want[level][of][version>>(shape.LeafBits+level*shape.LevelBits)]++
		}
	}
	for of, mark := range d.marks {
		// Blocks of lower levels inside a sparse block of a higher level are not counted any more.
		sparse := func(level int, block int64) bool {
			for above := level + 1; above < 3; above++ {
				b := block >> (shape.LevelBits * (above - level))
				if uint64(b+1)<<(shape.LevelBits*above) <= mark && want[above][of][b] <= shape.Sparse {
					return true
				}
			}
			return false
		}
		for level := range want {
			blocks := map[int64]bool{}
			for b := range want[level][of] {
				blocks[b] = true
			}
			for b := range d.counted[level][of] {
				blocks[b] = true
			}
			for b := range blocks {
				if uint64(b+1)<<(shape.LevelBits*level) > mark || sparse(level, b) {
					continue
				}
				if got, want := d.counted[level][of][b], want[level][of][b]; got != want {
					tb.Errorf("%s, %s: block %d of level %d has %d entries, counted as %d", name, of, b, level, want,
						got)
				}
			}
		}
	}
}

// feedModel writes to one database through several stores, and compares the pending count with the entries that follow.
type feedModel struct {
	e      kv.Engine
	stores []*layer.Store
	name   string
	revs   map[string]layer.Rev // of live documents
	gone   map[string]layer.Rev
	n      int
}

func (m *feedModel) database(t *rapid.T) *layer.Database {
	d, err := m.stores[rapid.IntRange(0, len(m.stores)-1).Draw(t, "store")].Database(context.Background(), m.name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (m *feedModel) id(t *rapid.T) string {
	return fmt.Sprintf("d%02d", rapid.IntRange(0, 30).Draw(t, "id"))
}

// write puts a few documents, in one transaction or one by one.
func (m *feedModel) write(t *rapid.T) {
	ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 30), 1, 8, rapid.ID[int]).Draw(t, "ids")
	deleted := rapid.IntRange(0, 4).Draw(t, "delete") == 0
	var edits []layer.Edit
	for _, n := range ids {
		id := fmt.Sprintf("d%02d", n)
		m.n++
		e := layer.Edit{ID: id, Rev: m.revs[id], Body: fmt.Appendf(nil, `{"n":%d}`, m.n)}
		if _, live := m.revs[id]; live && deleted {
			e.Deleted = true
		}
		edits = append(edits, e)
	}
	results, err := m.database(t).Bulk(context.Background(), edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("%+v: %v", edits[i], r.Err)
		}
		delete(m.revs, edits[i].ID)
		delete(m.gone, edits[i].ID)
		if edits[i].Deleted {
			m.gone[edits[i].ID] = r.Rev
		} else {
			m.revs[edits[i].ID] = r.Rev
		}
	}
}

func (m *feedModel) purge(t *rapid.T) {
	id := m.id(t)
	rev, ok := m.revs[id]
	if !ok {
		if rev, ok = m.gone[id]; !ok {
			return
		}
	}
	if _, err := m.database(t).Purge(context.Background(), id, []layer.Rev{rev}); err != nil {
		t.Fatal(err)
	}
	delete(m.revs, id)
	delete(m.gone, id)
}

func (m *feedModel) reshard(t *rapid.T) {
	if _, err := m.database(t).Reshard(context.Background(), rapid.IntRange(1, 3).Draw(t, "shards")); err != nil {
		t.Fatal(err)
	}
}

// close counts some entries, and stops.
func (m *feedModel) close(t *rapid.T) {
	d, most := m.database(t), rapid.SampledFrom([]int{1, 3, 10, 4096}).Draw(t, "most")
	for range rapid.IntRange(1, 4).Draw(t, "times") {
		if more, err := layer.CloseFeed(context.Background(), d, most); err != nil {
			t.Fatal(err)
		} else if !more {
			return
		}
	}
}

// relocate continues with a copy, in which all entries so far belong to an earlier incarnation.
func (m *feedModel) relocate(t *rapid.T) {
	ctx := context.Background()
	var file bytes.Buffer
	if err := m.database(t).Export(ctx, &file, nil); err != nil {
		t.Fatal(err)
	}
	m.n++
	s := m.stores[rapid.IntRange(0, len(m.stores)-1).Draw(t, "importer")]
	name := m.name + "-" + strconv.Itoa(m.n)
	if _, err := s.Import(ctx, name, bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	m.name = name
}

// check compares the pending count after some pages with the entries that follow.
func (m *feedModel) check(t *rapid.T) {
	d := m.database(t)
	all := feedRows(t, d, layer.ChangesOptions{Limit: -1})
	for range 3 {
		o := layer.ChangesOptions{Limit: rapid.IntRange(0, 5).Draw(t, "limit")}
		if n := len(all); n > 0 {
			if i := rapid.IntRange(-1, n-1).Draw(t, "since"); i >= 0 {
				o.Since = all[i].Seq
			}
			if i := rapid.IntRange(-n, n-1).Draw(t, "until"); i >= 0 {
				o.Until = all[i].Seq
			}
			if i := rapid.IntRange(-n, n-1).Draw(t, "shard"); i >= 0 {
				o.Shard = all[i].Shard
			}
		}
		o.Descending = rapid.IntRange(0, 3).Draw(t, "descending") == 0
		whole := o
		whole.Limit = -1
		want := len(feedRows(t, d, whole))
		pass, err := d.Changes(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range pass.Rows {
			if err != nil {
				t.Fatal(err)
			}
			want--
		}
		if got, err := pass.Pending(context.Background()); err != nil || int(got) != want {
			t.Fatalf("%+v leaves %d pending, %v; there are %d", o, got, err, want)
		}
	}
}

func feedRows(t rapid.TB, d *layer.Database, o layer.ChangesOptions) (rows []layer.Change) {
	pass, err := d.Changes(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, c)
	}
	return rows
}

// The pending count of a page is the number of entries that follow, whatever was written, purged, resharded and
// relocated, wherever counting was interrupted, on any of several nodes, also if their calls of the store fail.
func TestPending_model(t *testing.T) {
	// Leaves of 64 microseconds, and 4 blocks per block of the next level: a case fills some of each level.
	shape := layer.FeedShape{LeafBits: 6, LevelBits: 2, Sparse: 2, Least: 1}
	e := mustEngine(t)
	engines := []kv.Engine{e, withoutSnapshots{e}, faultkv.New(e, faultkv.Options{Seed: 1, Rates: faultkv.Rates{
		Conflict: 0.02, TooOld: 0.001, FutureVersion: 0.01, UnknownLost: 0.01, UnknownCommitted: 0.01,
	}})}
	var stores []*layer.Store
	for _, e := range engines {
		s, err := layer.Open(t.Context(), e, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		layer.SetFeedShape(s, shape)
		stores = append(stores, s)
	}
	cases := 0
	rapid.Check(t, func(t *rapid.T) {
		cases++
		m := &feedModel{e: e, stores: stores, name: fmt.Sprintf("db%d", cases), revs: map[string]layer.Rev{},
			gone: map[string]layer.Rev{}}
		if _, err := stores[0].Create(context.Background(), m.name,
			layer.CreateOptions{Shards: rapid.IntRange(1, 2).Draw(t, "shards")}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 15).Draw(t, "step") {
			case 0:
				m.purge(t)
			case 1:
				m.reshard(t)
			case 2:
				if m.n%3 == 0 {
					m.relocate(t)
				}
			case 3, 4, 5:
				m.close(t)
			case 6, 7:
				m.check(t)
			default:
				m.write(t)
			}
		}
		m.check(t)
	})
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if marks := checkFeedCounts(t, e, shape); marks < cases {
		t.Errorf("%d marks after %d cases", marks, cases)
	}
}

// checkFeedCounts compares the counts of all databases with their entries, and returns the number of marks.
func checkFeedCounts(tb testing.TB, e kv.Engine, shape layer.FeedShape) (marks int) {
	tb.Helper()
	tx := e.Begin(faultkv.Forever(context.Background()))
	defer tx.Cancel()
	databases := map[int64]*keyDump{}
	for _, row := range dump(tb, tx) {
		if row.key[0] != int64(keyspace.Data) {
			continue
		}
		n := row.key[1].(int64)
		if databases[n] == nil {
			databases[n] = newKeyDump()
		}
		databases[n].add(tb, keyspace.Subspace(row.key[2].(int64)), row.key[3:], row.value)
	}
	for n, d := range databases {
		d.checkCounts(tb, fmt.Sprintf("database %d", n), shape)
		marks += len(d.marks)
	}
	return marks
}

// Counts are exact while several clients write and others count.
func TestPending_underLoad(t *testing.T) {
	shape := layer.FeedShape{LeafBits: 8, LevelBits: 3, Sparse: 4, Least: 1}
	e := &costEngine{Engine: mustEngine(t)}
	open := func() *layer.Store {
		s, err := layer.Open(t.Context(), e, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		layer.SetFeedShape(s, shape)
		return s
	}
	stores := []*layer.Store{open(), open()}
	mustCreate(t, stores[0], "db", layer.CreateOptions{Shards: 2})
	var writers, closers sync.WaitGroup
	stop := make(chan struct{})
	for i, s := range stores {
		d, err := s.Database(t.Context(), "db")
		if err != nil {
			t.Fatal(err)
		}
		closers.Go(func() {
			for {
				if _, err := layer.CloseFeed(t.Context(), d, 1+i*20); err != nil {
					t.Error(err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		for w := range 2 {
			writers.Go(func() {
				var revs [10]layer.Rev
				for n := range 300 {
					id := fmt.Sprintf("%d-%d-%d", i, w, n%len(revs))
					rev, err := d.Put(t.Context(), layer.Edit{ID: id, Rev: revs[n%len(revs)], Body: []byte("{}")},
						layer.WriteOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					revs[n%len(revs)] = rev
				}
			})
		}
	}
	writers.Wait()
	close(stop)
	closers.Wait()
	d, err := stores[0].Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	if _, pending, _, err := feedPage(t.Context(), d, layer.ChangesOptions{Limit: 7}); err != nil || pending != 33 {
		t.Errorf("%d pending, %v", pending, err)
	}
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if checkFeedCounts(t, e, shape) == 0 {
		t.Error("nothing was counted")
	}
}

// Counting conflicts with other counting of the same shard, but not with writers.
func TestCloseFeed_conflictsWithNoWriter(t *testing.T) {
	e := &footprintEngine{Engine: mustEngine(t)}
	d := mustQuietDatabase(t, e, layer.CreateOptions{Shards: 2})
	writeFeed(t, e, d, 5000, 10_000)
	e.take()
	if _, err := layer.CloseFeed(t.Context(), d, 4096); err != nil {
		t.Fatal(err)
	}
	f := e.take()
	for _, r := range f.reads {
		key, err := tuple.Unpack(bytes.TrimSuffix(r.End, []byte{0}))
		if err != nil || key[2] != int64(keyspace.Stamp) &&
			(key[2] != int64(keyspace.FeedCounts) || key[3] != int64(0)) {
			t.Errorf("%v is read with conflict, %v", key, err)
		}
	}
	if f.atomics < 5 {
		t.Errorf("%d additions", f.atomics)
	}
}

// The feed of a database from before sharding is counted too.
func TestPending_deprecated(t *testing.T) {
	e := mustEngine(t)
	d := openDeprecated(t, e)
	pending := func(o layer.ChangesOptions, want int64) (last layer.Seq) {
		t.Helper()
		_, n, last, err := feedPage(t.Context(), d, o)
		if err != nil || n != want {
			t.Errorf("%+v: %d pending, %v, want %d", o, n, err, want)
		}
		return last
	}
	first := pending(layer.ChangesOptions{Limit: 1}, 1)
	put(t, d, `{"_id":"c"}`)
	for range 2 {
		pending(layer.ChangesOptions{Since: first, Limit: 1}, 1)
		pending(layer.ChangesOptions{Limit: 1, Descending: true}, 2)
		if _, err := layer.CloseFeed(t.Context(), d, 100); err != nil {
			t.Fatal(err)
		}
	}
	put(t, d, `{"_id":"a","_rev":"1-00000000000000000000000000000000","v":2}`) // moves to after what is counted
	pending(layer.ChangesOptions{Limit: 1}, 2)
	pending(layer.ChangesOptions{Since: first, Limit: 1}, 2)
	pending(layer.ChangesOptions{Limit: 1, Descending: true}, 2)
	if checkFeedCounts(t, e, layer.DefaultFeedShape) == 0 {
		t.Error("nothing was counted")
	}
}

// A store counts by itself the databases that have been written or read.
func TestPending_upkeep(t *testing.T) {
	e := mustEngine(t)
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, written := range []bool{true, false} {
		d := mustCreate(t, s, fmt.Sprintf("written-%t", written), layer.CreateOptions{})
		if written {
			fill(t, d, 17_000)
			put(t, d, `{"_id":"x"}`) // the last leaf is open until another one begins
		} else {
			writeFeed(t, e, d, 15_000, 10_000)
		}
		marks := tuple.Tuple{int64(keyspace.Data), d.Number(), int64(keyspace.FeedCounts), int64(0)}.Pack()
		begin, end := tuple.Range(marks)
		first := feedRows(t, d, layer.ChangesOptions{Limit: 1})[0].Seq
		for counted := false; !counted; {
			if !written { // reading this much causes it to be counted
				_, pending, _, err := feedPage(t.Context(), d, layer.ChangesOptions{Since: first, Limit: 4999})
				if err != nil || pending != 10_000 {
					t.Fatalf("%d pending, %v", pending, err)
				}
			}
			tx := e.Begin(t.Context())
			rows := tx.GetRange(kv.KeyRange{Begin: begin, End: end}, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
			counted = rows.Next()
			if err := rows.Err(); err != nil && !kv.Retryable(err) {
				t.Fatal(err)
			}
			rows.Close()
			tx.Cancel()
		}
	}
}
