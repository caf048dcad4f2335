package layer_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// A first build reads the bodies, adjacent ones as ranges, and each entry of the feed twice if there is no snapshot. It
// writes each row and where it is listed. It leaves no marks, although partials are requested in the meantime, as the
// actors do after a while.
func TestBuild_cost(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &costEngine{Engine: mustEngine(t)}
	db := openViewsOn(t, e, layer.CreateOptions{})
	const docs, views = 1000, 3
	loadCities(t, db, docs)
	save(t, db, `{"_id":"_design/d","views":{
		"country":{"map":"function(doc) { if (doc.country) emit(doc.country, null); }"},
		"path":{"map":"function(doc) { emit([doc.country, doc.lat, doc.lng], 1); }","reduce":"_count"},
		"name":{"map":"function(doc) { if (doc.name) emit(doc.name, doc.lat); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := ix.Aggregate(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.forget()
	for done := false; !done; {
		r, err := b.Step(t.Context(), b.Shards[0], 250)
		if err != nil {
			t.Fatal(err)
		}
		done = r.Done
	}
	perDoc := func(c *atomic.Int64) float64 { return float64(c.Load()) / docs }
	t.Logf("of a document: %.2f reads of a key, %.2f of rows of ranges, %.2f sets, %.2f atomic operations, %.0f "+
		"bytes set; %d transactions, %d ranges",
		perDoc(&e.gets), perDoc(&e.rows), perDoc(&e.sets), perDoc(&e.atomics), perDoc(&e.bytes), e.transactions.Load(),
		e.ranges.Load())
	for _, most := range []struct {
		what  string
		count *atomic.Int64
		of    float64
	}{{"sets", &e.sets, 2*views + 0.1}, {"atomic operations", &e.atomics, 0.1}, {"reads of a key", &e.gets, 0.1},
		{"rows of ranges", &e.rows, 3.1}} {
		if n := perDoc(most.count); n > most.of {
			t.Errorf("%s of a document: %.2f, at most %.2f", most.what, n, most.of)
		}
	}
	if err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(rows(t, ix, layer.ViewQuery{View: "path"})); n != docs {
		t.Errorf("%d rows, want %d", n, docs)
	}
}

// A first build goes by ids, so it reads documents as ranges even if their ids are unrelated to the order in which they
// were written. Later builds go by the feed: distant bodies are then read one by one, without repeated attempts to find
// adjacent ones.
func TestBuild_scattered(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &costEngine{Engine: mustEngine(t)}
	db := openViewsOn(t, e, layer.CreateOptions{})
	const docs, batch = 4000, 100
	id := func(i int) string { return fmt.Sprintf("%08x", uint32(i)*2654435761) }
	edits := make([]layer.Edit, docs)
	write := func(generation int) {
		t.Helper()
		for i := range edits {
			rev := edits[i].Rev
			edits[i] = edit(t, fmt.Sprintf(`{"_id":%q,"n":%d,"generation":%d}`, id(i), i, generation))
			edits[i].Rev = rev
		}
		results, err := db.Bulk(t.Context(), edits, layer.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			edits[i].Rev = r.Rev
		}
	}
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, doc.generation); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	for generation, most := range []struct{ gets, rows float64 }{
		// the winner, the body, the winner once more because there is no snapshot, and the row for the aggregates
		{0.1, 4.2},
		// The body, the document's entry in the index, its row, and whether the build has indexed it; its entry in the
		// feed, twice.
		{4.2, 2.3},
	} {
		write(generation)
		e.forget()
		build(t, ix, int64(1+generation), batch)
		if gets, ranged := float64(e.gets.Load())/docs, float64(e.rows.Load())/docs; gets > most.gets ||
			ranged > most.rows {
			t.Errorf("build %d: of a document %.2f reads of a key and %.2f of rows of ranges", generation, gets, ranged)
		}
		got := rows(t, ix, layer.ViewQuery{View: "n"})
		if len(got) != docs {
			t.Fatalf("%d rows, want %d", len(got), docs)
		}
		for i, row := range got {
			if want := fmt.Sprintf("%s %d %d", id(i), i, generation); row != want {
				t.Fatalf("row %d is %s, want %s", i, row, want)
			}
		}
	}
}

// brokenEngine can make commits with many writes fail.
type brokenEngine struct {
	kv.Engine
	broken func() bool
}

func (e *brokenEngine) Begin(ctx context.Context) kv.Transaction {
	return &brokenTransaction{e.Engine.Begin(ctx), e}
}

type brokenTransaction struct {
	kv.Transaction
	e *brokenEngine
}

func (t *brokenTransaction) Commit() error {
	if t.Size() > 50_000 && t.e.broken() {
		return kv.NewError(kv.CodeIOError, "the disk failed", nil)
	}
	return t.Transaction.Commit()
}

// A step writes in parts. The parts written before a failure count, and the next step continues after them.
func TestBuild_Step_inPart(t *testing.T) {
	e := &brokenEngine{Engine: mustEngine(t), broken: func() bool { return false }}
	db := openViewsOn(t, e, layer.CreateOptions{})
	const docs = 2000
	loadCities(t, db, docs)
	save(t, db,
		`{"_id":"_design/d","views":{"name":{"map":"function(doc) { if (doc.name) emit(doc.name, doc.lat); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	commits := 0
	e.broken = func() bool { commits++; return commits > 1 }
	first, err := b.Step(t.Context(), b.Shards[0], docs)
	if err != nil || first.Documents == 0 || first.Documents >= docs || first.Done {
		t.Fatalf("the step that failed midway: %+v, %v", first, err)
	}
	if r, err := b.Step(t.Context(), b.Shards[0], docs); err == nil || r.Documents != 0 {
		t.Fatalf("the step that failed at once: %+v, %v", r, err)
	}
	e.broken = func() bool { return false }
	last, err := b.Step(t.Context(), b.Shards[0], docs)
	if err != nil || !last.Done || first.Documents+last.Documents < docs {
		t.Fatalf("the last step: %+v, %v", last, err)
	}
	if err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(rows(t, ix, layer.ViewQuery{View: "name"})); n != docs {
		t.Errorf("%d rows, want %d", n, docs)
	}
}

// panickingEngine makes reads of long snapshots panic while it is armed.
type panickingEngine struct {
	kv.Engine
	armed atomic.Bool
}

func (e *panickingEngine) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, _, err := kv.OpenSnapshot(ctx, e.Engine)
	return panickingSnapshot{s, e}, err
}

type panickingSnapshot struct {
	kv.Snapshot
	e *panickingEngine
}

func (s panickingSnapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if s.e.armed.Load() {
		panic("a defect")
	}
	return s.Snapshot.GetRange(r, o)
}

// A panic on a goroutine of a step becomes the step's error. It does not end the node.
func TestBuild_Step_panic(t *testing.T) {
	below := mustEngine(t)
	if s, ok, err := kv.OpenSnapshot(t.Context(), below); err != nil {
		t.Fatal(err)
	} else if !ok {
		t.Skip("builds read long snapshots where the engine holds them")
	} else {
		s.Close()
	}
	e := &panickingEngine{Engine: below}
	db := openViewsOn(t, e, layer.CreateOptions{})
	loadCities(t, db, 100)
	save(t, db, `{"_id":"_design/d","views":{"name":{"map":"function(doc) { emit(doc.name); }"}}}`)
	b, err := db.Index(mustDesign(t, db, "d")).StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	e.armed.Store(true)
	if r, err := b.Step(t.Context(), b.Shards[0], 100); err == nil || !strings.Contains(err.Error(), "a defect") {
		t.Fatalf("%+v, %v", r, err)
	}
	e.armed.Store(false)
	if r, err := b.Step(t.Context(), b.Shards[0], 200); err != nil || !r.Done {
		t.Fatalf("after it: %+v, %v", r, err)
	}
}

// A step maps all of its documents, however few of them fit into a part.
func TestBuild_Step_largeDocuments(t *testing.T) {
	oneGoroutine(t)
	db := openViewsOn(t, mustEngine(t), layer.CreateOptions{})
	const docs, size = 60, 700_000
	for i := range docs {
		save(t, db, fmt.Sprintf(`{"_id":"%02d","n":%d,"text":"%s"}`, i, i, strings.Repeat("x", size)))
	}
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, doc.text.length); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if r, err := b.Step(t.Context(), b.Shards[0], 1000); err != nil || !r.Done || r.Rows != docs {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(rows(t, ix, layer.ViewQuery{View: "n"})); n != docs {
		t.Errorf("%d rows of %d", n, docs)
	}
}
