package layer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// commits is an engine that counts the results of commits, and makes those larger than an optional limit fail. It does
// not support snapshots.
type commits struct {
	kv.Engine
	largest   atomic.Int64
	conflicts atomic.Int64
	refused   atomic.Int64
}

func (c *commits) Begin(ctx context.Context) kv.Transaction {
	return &countedCommit{c.Engine.Begin(ctx), c}
}

type countedCommit struct {
	kv.Transaction
	c *commits
}

func (t *countedCommit) Commit() error {
	if most := t.c.largest.Load(); most > 0 && int64(t.Size()) > most {
		t.c.refused.Add(1)
		return kv.NewError(kv.CodeTooOld, "it takes too long", nil)
	}
	err := t.Transaction.Commit()
	if kv.IsCode(err, kv.CodeNotCommitted) {
		t.c.conflicts.Add(1)
	}
	return err
}

// numbered returns a number from the environment, or a default.
func numbered(tb testing.TB, name string, otherwise int) int {
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// fillFor writes documents whose body a map function emits.
func fillFor(tb testing.TB, db *layer.Database, docs int) {
	tb.Helper()
	for from := 0; from < docs; from += 500 {
		edits := make([]layer.Edit, min(500, docs-from))
		for i := range edits {
			edits[i].ID = fmt.Sprintf("%08x", uint32(from+i)*2654435761)
			edits[i].Body = fmt.Appendf(nil, `{"n":%d,"pad":"%0200d"}`, from+i, 0)
		}
		if _, err := db.Bulk(tb.Context(), edits, layer.WriteOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
}

// writeUntil makes eight clients write until stop is closed; three of ten writes are edits.
func writeUntil(tb testing.TB, db *layer.Database, docs int, stop <-chan struct{}) (wait func() (written int64)) {
	var work sync.WaitGroup
	var written atomic.Int64
	for w := range 8 {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				e := layer.Edit{ID: fmt.Sprintf("new %d %d", w, n)}
				e.Body = fmt.Appendf(nil, `{"n":%d,"pad":"%0200d"}`, -n, 0)
				if rng.IntN(10) < 3 {
					e.ID = fmt.Sprintf("%08x", uint32(rng.IntN(docs))*2654435761)
					old, err := db.Get(tb.Context(), e.ID, layer.GetOptions{})
					if err != nil {
						tb.Error(err)
						return
					}
					e.Rev = old.Rev
				}
				switch _, err := db.Put(tb.Context(), e, layer.WriteOptions{}); {
				case err == nil:
					written.Add(1)
				case layer.KindOf(err) != layer.Conflict:
					tb.Error(err)
					return
				}
			}
		})
	}
	return func() int64 {
		work.Wait()
		return written.Load()
	}
}

// A first build while eight clients write as fast as they can, on an engine without snapshots: no step meets a
// conflict, none is repeated, and the index is ready as soon as the documents are done that the database had when the
// build began. Times are reported for manual runs, for example on a cluster: DIVAN_TEST_BUILD_DOCS and
// DIVAN_TEST_BUILD_LOOPS make it larger, and its map function slower.
func TestBuild_underWrites(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	docs, loops := numbered(t, "DIVAN_TEST_BUILD_DOCS", 3000), numbered(t, "DIVAN_TEST_BUILD_LOOPS", 100)
	below := mustEngine(t)
	db := openViewsOn(t, withoutSnapshots{below}, layer.CreateOptions{Shards: 4})
	e := &commits{Engine: below}
	there, err := openBeside(t, e).Database(t.Context(), db.Name())
	if err != nil {
		t.Fatal(err)
	}
	fillFor(t, db, docs)
	var took [2]time.Duration
	for i, written := range []bool{false, true} {
		function := fmt.Sprintf(
			"function(doc) { var x = %d; for (var i = 0; i < %d; i++) x += i; emit(doc.n, x); }", i, loops)
		save(t, db, fmt.Sprintf(`{"_id":"_design/d","views":{"n":{"map":"%s"}}}`, function))
		ix := there.Index(mustDesign(t, there, "d"))
		stop := make(chan struct{})
		wait := func() int64 { return 0 }
		if written {
			wait = writeUntil(t, db, docs, stop)
		}
		begin := time.Now()
		b, err := ix.StartBuild(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		e.conflicts.Store(0)
		n := int64(0)
		var steps sync.WaitGroup
		var stepped atomic.Int64
		for _, shard := range b.Shards {
			steps.Go(func() {
				for done := false; !done; {
					r, err := b.Step(t.Context(), shard, 500)
					if err != nil {
						t.Error(err)
						return
					}
					stepped.Add(int64(r.Documents))
					done = r.Done
				}
			})
		}
		steps.Wait()
		conflicts := e.conflicts.Load()
		err = b.Finish(t.Context())
		took[i] = time.Since(begin)
		close(stop)
		n = wait()
		t.Logf("%d documents in %v, %d written meanwhile", stepped.Load(), took[i], n)
		if err != nil || conflicts > 0 || stepped.Load() > int64(2*docs) {
			t.Fatalf("the end: %v; %d documents of %d, %d conflicts", err, stepped.Load(), docs, conflicts)
		}
		state, err := ix.State(t.Context())
		if err != nil || state.Building || state.Seq != b.Goal || state.Views[0].Rows < int64(docs) {
			t.Errorf("state %+v, %v; the goal was %s", state, err, b.Goal)
		}
	}
	t.Logf("with writers it takes %.2f times as long", took[1].Seconds()/took[0].Seconds())
}

// A step whose transactions do not succeed is repeated in smaller ones.
func TestBuild_smallerSteps(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &commits{Engine: mustEngine(t)}
	db := openViewsOn(t, e, layer.CreateOptions{})
	const docs = 300
	fillFor(t, db, docs)
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, doc.pad); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	e.largest.Store(20_000)
	for done := false; !done; {
		r, err := b.Step(t.Context(), b.Shards[0], docs)
		if err != nil {
			t.Fatalf("step %+v, %v, after %d refusals", r, err, e.refused.Load())
		}
		done = r.Done
	}
	if n := e.refused.Load(); n == 0 {
		t.Error("every transaction succeeded")
	}
	e.largest.Store(0)
	if err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(rows(t, ix, layer.ViewQuery{View: "n"})); n != docs {
		t.Errorf("%d rows, want %d", n, docs)
	}
}
