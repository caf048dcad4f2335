package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// offsetModel compares the offsets of a database with plain counting, while its list is divided at random.
type offsetModel struct {
	s    *layer.Store
	e    kv.Engine
	d    *layer.Database
	live []string // sorted
}

// An id is a prefix of others, and some have the lowest and the highest characters.
func offsetID(t *rapid.T, label string) string {
	id := rapid.SampledFrom([]string{"_design/", "a", "b", "b\x00", "b\U0010ffff"}).Draw(t, label)
	return id + fmt.Sprint(rapid.IntRange(0, 12).Draw(t, label+" number"))
}

func offsetIDs(t *rapid.T, label string, most int) []string {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string { return offsetID(t, label) }), 1, most,
		rapid.ID).Draw(t, label+"s")
}

// listed reads the list as it is.
func (m *offsetModel) listed(t rapid.TB) {
	res, err := m.d.AllDocs(context.Background(), layer.AllDocsOptions{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	m.live = m.live[:0]
	for row, err := range res.Rows {
		if err != nil {
			t.Fatal(err)
		}
		m.live = append(m.live, row.ID)
	}
}

// write adds or removes documents, several at once.
func (m *offsetModel) write(t *rapid.T, ctx context.Context) {
	var edits []layer.Edit
	for _, id := range offsetIDs(t, "id", 8) {
		e := layer.Edit{ID: id, Body: []byte(`{}`)}
		if doc, err := m.d.Get(ctx, id, layer.GetOptions{}); err == nil {
			e.Rev, e.Deleted = doc.Rev, rapid.Bool().Draw(t, "delete")
		}
		edits = append(edits, e)
	}
	results, err := m.d.Bulk(ctx, edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// fork adds a branch, so that deletions may leave a document in the list.
func (m *offsetModel) fork(t *rapid.T, ctx context.Context) {
	e := layer.Edit{ID: offsetID(t, "id"), Body: []byte(`{}`), Deleted: rapid.Bool().Draw(t, "deleted"),
		Rev: layer.Rev{Pos: rapid.Int64Range(1, 3).Draw(t, "pos"), ID: fmt.Sprint(rapid.Int().Draw(t, "rev"))}}
	if _, err := m.d.Bulk(ctx, []layer.Edit{e}, layer.WriteOptions{Replicated: true}); err != nil {
		t.Fatal(err)
	}
}

func (m *offsetModel) purge(t *rapid.T, ctx context.Context) {
	id := offsetID(t, "id")
	answers, err := m.d.OpenRevs(ctx, id, nil, layer.GetOptions{})
	if err != nil {
		return
	}
	var revs []layer.Rev
	for _, a := range answers {
		if a.Doc != nil {
			revs = append(revs, a.Doc.Rev)
		}
	}
	if len(revs) > 0 {
		if _, err := m.d.Purge(ctx, id, revs[:rapid.IntRange(1, len(revs)).Draw(t, "revs")]); err != nil {
			t.Fatal(err)
		}
	}
}

// divide does a part of what readers do about a large range, and stops.
func (m *offsetModel) divide(t *rapid.T, ctx context.Context) {
	var err error
	switch rapid.IntRange(0, 4).Draw(t, "part") {
	case 0, 1, 2:
		err = layer.CutList(ctx, m.d, offsetID(t, "of"), offsetIDs(t, "first", 3)...)
	case 3:
		err = layer.SettleList(ctx, m.d, rapid.IntRange(1, 4).Draw(t, "most"))
	case 4:
		_, err = layer.MergeList(ctx, m.d, rapid.Int64Range(0, 9).Draw(t, "most"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read compares an offset.
func (m *offsetModel) read(t *rapid.T, ctx context.Context) {
	m.listed(t)
	start, skip, below := offsetID(t, "start"), rapid.IntRange(0, 3).Draw(t, "skip"), 0
	descending := rapid.Bool().Draw(t, "descending")
	for _, id := range m.live {
		if descending && id > start || !descending && id < start {
			below++
		}
	}
	res, err := m.d.AllDocs(ctx, layer.AllDocsOptions{Start: &start, Skip: skip, Limit: 0, Descending: descending,
		WithOffset: true})
	if err != nil {
		t.Fatal(err)
	}
	for range res.Rows {
		t.Fatal("a row beyond the limit")
	}
	if want := min(below+skip, len(m.live)); res.Offset != int64(want) || res.TotalRows != int64(len(m.live)) {
		t.Fatalf("the offset of %q, skip %d, descending %t, is %d of %d, should be %d of %d", start, skip, descending,
			res.Offset, res.TotalRows, want, len(m.live))
	}
}

// copied exports and imports the database. The copy has no ranges.
func (m *offsetModel) copied(t *rapid.T, ctx context.Context, name string) {
	var file bytes.Buffer
	if err := m.d.Export(ctx, &file, nil); err != nil {
		t.Fatal(err)
	}
	d, err := m.s.Import(ctx, name, bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if keys := checkDatabase(t, m.e, d); len(keys.ranges)+len(keys.rangeCounts) > 0 {
		t.Fatalf("the copy has ranges: %v", keys.ranges)
	}
	m.d = d
}

// Whatever is written, and however far the list has been divided, its offsets are those of plain counting. Divisions
// that were begun are continued by readers, and writers count for the right range at all times.
func TestAllDocs_offsetModel(t *testing.T) {
	for _, snapshots := range []bool{true, false} {
		t.Run(fmt.Sprint("snapshots ", snapshots), func(t *testing.T) {
			e := mustEngineWith(t, snapshots)
			s := mustStore(t, e, layer.Options{})
			var n atomic.Int64
			rapid.Check(t, func(t *rapid.T) {
				ctx := context.Background()
				layer.DivideListsInto(s, rapid.Int64Range(1, 4).Draw(t, "piece"))
				name := fmt.Sprint("db", n.Add(1))
				d, err := s.Create(ctx, name, layer.CreateOptions{Shards: rapid.IntRange(1, 3).Draw(t, "shards")})
				if err != nil {
					t.Fatal(err)
				}
				m := &offsetModel{s: s, e: e, d: d}
				for range rapid.IntRange(1, 25).Draw(t, "steps") {
					switch step := rapid.IntRange(0, 11).Draw(t, "step"); step {
					case 0, 1, 2, 3:
						m.write(t, ctx)
					case 4:
						m.fork(t, ctx)
					case 5:
						m.purge(t, ctx)
					case 6, 7, 8:
						m.divide(t, ctx)
					case 9, 10:
						m.read(t, ctx)
					case 11:
						if rapid.IntRange(0, 4).Draw(t, "copy") == 0 {
							m.copied(t, ctx, fmt.Sprint(name, "copy", n.Add(1)))
						} else if _, err := m.d.Reshard(ctx, rapid.IntRange(1, 3).Draw(t, "shards")); err != nil {
							t.Fatal(err)
						}
					}
					checkDatabase(t, e, m.d)
				}
				m.read(t, ctx)
			})
			if lines := verifyAll(t, s, false); len(lines) > 0 {
				t.Errorf("Verify says:\n%s", strings.Join(lines, "\n"))
			}
		})
	}
}

// Several handles and clients write, divide, merge and read at once. From one snapshot, an offset and the rows that
// follow add up. In the end every counter is right.
func TestAllDocs_offsetRaces(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	layer.DivideListsInto(s, 5)
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 2})
	_, exact, err := kv.OpenSnapshot(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	var edits []layer.Edit
	for i := range 200 {
		edits = append(edits, layer.Edit{ID: fmt.Sprintf("%c%03d", 'a'+i%6, i), Body: []byte(`{}`)})
	}
	if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for client := range 4 {
		random := rand.New(rand.NewPCG(1, uint64(client)))
		id := func() string { return fmt.Sprintf("%c%02d-", 'a'+random.IntN(6), random.IntN(40)) }
		work.Go(func() { // each has documents of its own
			revs := map[string]layer.Rev{}
			for range 60 {
				var edits []layer.Edit
				for range 1 + random.IntN(12) {
					of := fmt.Sprint(id(), client)
					if !slices.ContainsFunc(edits, func(e layer.Edit) bool { return e.ID == of }) {
						r, live := revs[of]
						edits = append(edits, layer.Edit{ID: of, Rev: r, Deleted: live && random.IntN(3) > 0, Body: []byte(`{}`)})
					}
				}
				results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				for i, r := range results {
					if r.Err != nil {
						t.Error(edits[i].ID, r.Err)
					}
					if revs[edits[i].ID] = r.Rev; edits[i].Deleted {
						delete(revs, edits[i].ID)
					}
				}
			}
		})
	}
	for reader := range 2 {
		random := rand.New(rand.NewPCG(2, uint64(reader)))
		work.Go(func() {
			for i := range 40 {
				if i%8 == 7 {
					if _, err := layer.MergeList(t.Context(), d, 3); err != nil {
						t.Error(err)
					}
				}
				start := fmt.Sprintf("%c%02d", 'a'+random.IntN(6), random.IntN(40))
				res, err := d.AllDocs(t.Context(), layer.AllDocsOptions{Start: &start, Limit: -1, WithOffset: true,
					Descending: i%2 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				n := int64(0)
				for _, err := range res.Rows {
					if err != nil {
						t.Error(err)
					}
					n++
				}
				if exact && res.Offset >= 0 && res.Offset+n != res.TotalRows {
					t.Errorf("offset %d and %d rows of %d", res.Offset, n, res.TotalRows)
				}
			}
		})
	}
	work.Wait()
	keys := checkDatabase(t, e, d)
	if len(keys.ranges) == 0 {
		t.Error("the list was never divided")
	}
}

// A database that has been divided has as many ranges as its size wants, also after most of its documents were removed
// and others were added elsewhere.
func TestAllDocs_offsetRanges(t *testing.T) {
	if testing.Short() {
		t.Skip("writes many documents")
	}
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	layer.DivideListsInto(s, 2)
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	offset := func(id string) int64 {
		res, err := d.AllDocs(t.Context(), layer.AllDocsOptions{Start: &id, WithOffset: true})
		if err != nil {
			t.Fatal(err)
		}
		return res.Offset
	}
	const batch, batches, kept = 400, 14, 2
	var revs [][]layer.Edit
	for n := range batches {
		var edits []layer.Edit
		for i := range batch {
			edits = append(edits, layer.Edit{ID: fmt.Sprintf("%02d%03d", n, i), Body: []byte(`{}`)})
		}
		results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range edits {
			edits[i].Rev, edits[i].Deleted = results[i].Rev, true
		}
		if revs = append(revs, edits); n >= kept {
			if _, err := d.Bulk(t.Context(), revs[n-kept], layer.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for i := 1; i < batch; i += 100 {
			if got, want := offset(fmt.Sprintf("%02d%03d", n, i)), int64(min(n, kept-1)*batch+i); got != want {
				t.Fatalf("batch %d: the offset of %d is %d, should be %d", n, i, got, want)
			}
		}
	}
	if keys := checkDatabase(t, e, d); len(keys.ranges) < 100 || len(keys.ranges) > 1000 {
		t.Errorf("%d ranges", len(keys.ranges))
	}
}

// fullStore is an engine that takes no writes once it is full, and calls before, if it is set, just before the next
// commit of a write.
type fullStore struct {
	kv.Engine
	full   atomic.Bool
	before atomic.Pointer[func()]
}

func (e *fullStore) Begin(ctx context.Context) kv.Transaction {
	return &fullTransaction{e.Engine.Begin(ctx), e}
}

type fullTransaction struct {
	kv.Transaction
	e *fullStore
}

func (t *fullTransaction) Commit() error {
	if t.e.full.Load() && t.Wrote() {
		return kv.NewError(kv.CodeDiskFull, "the disk is full", nil)
	}
	if t.Wrote() {
		if before := t.e.before.Swap(nil); before != nil {
			(*before)()
		}
	}
	return t.Transaction.Commit()
}

// Documents are added and removed between the reads of each step and its commit: every counter is right afterwards.
func TestAllDocs_offsetSteps(t *testing.T) {
	for name, step := range map[string]func(ctx context.Context, d *layer.Database) error{
		"cut":    func(ctx context.Context, d *layer.Database) error { return layer.CutList(ctx, d, "25", "30", "25") },
		"settle": func(ctx context.Context, d *layer.Database) error { return layer.SettleList(ctx, d, 9) },
		"merge": func(ctx context.Context, d *layer.Database) error {
			_, err := layer.MergeList(ctx, d, 25)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &fullStore{Engine: mustEngine(t)}
			d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
			for i := range 60 {
				put(t, d, fmt.Sprintf(`{"_id":"%02d"}`, i))
			}
			if err := layer.CutList(t.Context(), d, "", "20", "40", "50"); err != nil {
				t.Fatal(err)
			}
			if name != "settle" {
				if err := layer.SettleList(t.Context(), d, 9); err != nil {
					t.Fatal(err)
				}
			}
			write := func() {
				put(t, d, `{"_id":"45a"}`)
				put(t, d, `{"_id":"45b"}`)
				put(t, d, `{"_id":"26a"}`)
				save(t, d, `{"_id":"55","_deleted":true}`)
			}
			e.before.Store(&write)
			if err := step(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if e.before.Load() != nil {
				t.Fatal("nothing was committed")
			}
			checkDatabase(t, e.Engine, d)
			if err := layer.SettleList(t.Context(), d, 9); err != nil {
				t.Fatal(err)
			}
			keys := checkDatabase(t, e.Engine, d)
			// A range that is being written to is not merged.
			if want := map[string]int{"cut": 5, "settle": 3, "merge": 3}[name]; len(keys.ranges) != want {
				t.Errorf("%d ranges, should be %d", len(keys.ranges), want)
			}
			if merged, err := layer.MergeList(t.Context(), d, 25); err != nil || merged == 0 {
				t.Errorf("merged %d ranges, %v", merged, err)
			}
			checkDatabase(t, e.Engine, d)
		})
	}
}

// A list that cannot be divided is answered without an offset, unless its start is near an end.
func TestAllDocs_offsetUndivided(t *testing.T) {
	e := &fullStore{Engine: mustEngine(t)}
	s := mustStore(t, e, layer.Options{})
	layer.DivideListsInto(s, 10)
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	var edits []layer.Edit
	for i := range 100 {
		edits = append(edits, layer.Edit{ID: fmt.Sprintf("%02d", i), Body: []byte(`{}`)})
	}
	if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.full.Store(true)
	defer e.full.Store(false)
	for start, want := range map[string]int64{"": 0, "08": 8, "50": -1, "95": 95, "x": 100} {
		got, res := allDocs(t, d, layer.AllDocsOptions{Start: &start, WithOffset: true, Limit: 1})
		if res.Offset != want || res.TotalRows != 100 || len(got) > 2 {
			t.Errorf("from %q: offset %d, should be %d; %d rows in total: %s", start, res.Offset, want, res.TotalRows, got)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	middle := "50"
	if _, err := d.AllDocs(ended, layer.AllDocsOptions{Start: &middle, WithOffset: true}); err == nil {
		t.Error("a request that has ended was answered")
	}
}

// Writers of a database without ranges write no further key, and those of one with ranges one for each range, however
// many of its documents they add.
func TestAllDocs_offsetCosts(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	layer.DivideListsInto(s, 4)
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	bulk := func(prefix string) {
		var edits []layer.Edit
		for i := range 20 {
			edits = append(edits, layer.Edit{ID: fmt.Sprintf("%s%02d", prefix, i), Body: []byte(`{}`)})
		}
		if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	bulk("a")
	if keys := checkDatabase(t, e, d); len(keys.ranges)+len(keys.rangeCounts) > 0 {
		t.Errorf("ranges without a reader: %v", keys.ranges)
	}
	start := "a01"
	if _, res := allDocs(t, d, layer.AllDocsOptions{Start: &start, WithOffset: true}); res.Offset != 1 {
		t.Errorf("offset %d", res.Offset)
	}
	if keys := checkDatabase(t, e, d); len(keys.ranges)+len(keys.rangeCounts) > 0 {
		t.Errorf("ranges although the start is near: %v", keys.ranges)
	}
	start = "a10"
	if _, res := allDocs(t, d, layer.AllDocsOptions{Start: &start, WithOffset: true}); res.Offset != 10 {
		t.Errorf("offset %d", res.Offset)
	}
	keys := checkDatabase(t, e, d)
	bulk("b")
	after := checkDatabase(t, e, d)
	changed := 0
	for n, count := range after.rangeCounts {
		if keys.rangeCounts[n] != count {
			changed++
		}
	}
	if len(keys.ranges) != 4 || len(after.ranges) != 4 || changed != 1 {
		t.Errorf("%d ranges, then %d, of which %d have changed", len(keys.ranges), len(after.ranges), changed)
	}
}

// Verify finds a counter of a range that is wrong, and one of no range.
func TestVerify_docRanges(t *testing.T) {
	for _, snapshots := range []bool{true, false} {
		e := mustEngineWith(t, snapshots)
		s, err := layer.Open(t.Context(), e, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		layer.DivideListsInto(s, 10)
		d := mustCreate(t, s, "db", layer.CreateOptions{})
		var edits []layer.Edit
		for i := range 60 {
			edits = append(edits, layer.Edit{ID: fmt.Sprintf("%02d", i), Body: []byte(`{}`)})
		}
		if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		start := "30"
		if _, res := allDocs(t, d, layer.AllDocsOptions{Start: &start, WithOffset: true}); res.Offset != 30 {
			t.Errorf("offset %d", res.Offset)
		}
		if err := layer.CutList(t.Context(), d, "55", "55", "57"); err != nil {
			t.Fatal(err)
		}
		put(t, d, `{"_id":"56a"}`)
		if lines := verifyAll(t, s, false); len(lines) > 0 {
			t.Errorf("before: %v", lines)
		}
		for change, want := range map[string]string{
			"the middle":   `counters: the counter of the documents from "30" on is 11, but there are 10`,
			"an unsettled": `counters: the counter of the documents from "50" on is 12, but there are 11`,
			"no range":     `counters: there is a counter for range 99 of the documents, but no such range`,
		} {
			id := map[string]string{"the middle": "30", "an unsettled": "55", "no range": ""}[change]
			if err := layer.AddToRange(t.Context(), d, id, 1); err != nil {
				t.Fatal(err)
			}
			if lines := verifyAll(t, s, false); len(lines) != 1 || !strings.Contains(lines[0], want) {
				t.Errorf("%s, snapshots %t: %v", change, snapshots, lines)
			}
			if err := layer.AddToRange(t.Context(), d, id, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
}
