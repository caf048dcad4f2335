package layer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// withoutSnapshots is an engine that does not support long snapshots, like FoundationDB: responses are stitched from
// transactions.
type withoutSnapshots struct{ kv.Engine }

// mustFaulty opens a store on an engine with faults, and checks it through the engine below.
func mustFaulty(t *testing.T, o faultkv.Options) (*layer.Store, faultkv.Engine) {
	t.Helper()
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	t.Logf("seed %d", o.Seed)
	below := mustEngine(t)
	faulty := faultkv.New(below, o)
	s, err := layer.Open(t.Context(), withoutSnapshots{faulty}, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		checkStore(t, below)
	})
	return s, faulty
}

// C4: half of all commits end with an unknown result, whether committed or not. Every writer gets a correct answer:
// each acknowledged edit is in the history exactly once, no other edit is, no writer gets a conflict that no other
// writer caused, and the store's subspaces agree (checkStore).
func TestUnknownResults(t *testing.T) {
	s, faulty := mustFaulty(t,
		faultkv.Options{Rates: faultkv.Rates{UnknownLost: 0.25, UnknownCommitted: 0.25, Conflict: 0.02, TooOld: 0.01}})
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 2})
	const writers, edits, shared = 16, 25, 4
	var acked [shared]atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 0))
			own := layer.Rev{}
			id := fmt.Sprintf("own%d", w)
			for i := range edits {
				// No other writer writes this document: any conflict is a false one.
				e := layer.Edit{ID: id, Rev: own, Body: fmt.Appendf(nil, `{"i":%d}`, i),
					Deleted: rng.IntN(8) == 0 && !own.IsZero()}
				rev, err := d.Put(t.Context(), e, layer.WriteOptions{})
				if err != nil {
					t.Errorf("%s, edit %d: %v", id, i, err)
					return
				}
				if rev.Pos != int64(i+1) {
					t.Errorf("%s, edit %d became %v", id, i, rev)
				}
				if own = rev; e.Deleted {
					own = layer.Rev{}
				}
				updateShared(t, d, rng.IntN(shared), w, i, &acked)
			}
		})
	}
	wg.Wait()
	for i := range shared {
		doc, err := d.Get(t.Context(), fmt.Sprintf("shared%d", i), layer.GetOptions{Revs: true, Conflicts: true})
		if err != nil {
			t.Fatal(err)
		}
		if doc.Rev.Pos != acked[i].Load() || int64(len(doc.Revs)) != doc.Rev.Pos || len(doc.Conflicts) > 0 {
			t.Errorf("shared%d: %d edits acknowledged, winner %v with %d revisions, conflicts %v", i, acked[i].Load(),
				doc.Rev, len(doc.Revs), doc.Conflicts)
		}
	}
	rows, _ := feedOf(t, d, layer.ChangesOptions{})
	if len(rows) != writers+shared {
		t.Errorf("%d rows in the feed", len(rows))
	}
	if n := faulty.Injected(); n[faultkv.UnknownCommitted] < 50 || n[faultkv.UnknownLost] < 50 {
		t.Errorf("the test met too few faults: %v", n)
	}
}

// updateShared tries one edit of a document that others write too.
func updateShared(t *testing.T, d *layer.Database, doc, w, i int, acked *[4]atomic.Int64) {
	id := fmt.Sprintf("shared%d", doc)
	var parent layer.Rev
	switch now, err := d.Get(t.Context(), id, layer.GetOptions{}); {
	case err == nil:
		parent = now.Rev
	case layer.KindOf(err) != layer.NotFound:
		t.Errorf("%s: %v", id, err)
		return
	}
	_, err := d.Put(t.Context(), layer.Edit{ID: id, Rev: parent, Body: fmt.Appendf(nil, `{"w":%d,"i":%d}`, w, i)},
		layer.WriteOptions{})
	switch {
	case err == nil:
		acked[doc].Add(1)
	case layer.KindOf(err) != layer.Conflict:
		t.Errorf("%s: %v", id, err)
	}
}

// Every operation returns the same result with occasional faults of every kind as without faults.
func TestFaults(t *testing.T) {
	s, faulty := mustFaulty(t,
		faultkv.Options{Rates: faultkv.Rates{Conflict: 0.1, TooOld: 0.004, FutureVersion: 0.15, UnknownLost: 0.1,
			UnknownCommitted: 0.1}})
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 3})
	const n = 120
	var edits []layer.Edit
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("%03d", i))
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"%03d","v":%d}`, i, i)))
	}
	results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil || r.Rev.Pos != 1 {
			t.Fatalf("%+v", r)
		}
		if i%3 == 0 {
			put(t, d, fmt.Sprintf(`{"_id":"%s","_rev":"%s","v":-1}`, r.ID, r.Rev))
		}
	}
	for range 5 {
		for _, o := range []layer.AllDocsOptions{{IncludeDocs: true, Conflicts: true}, {Keys: keys, IncludeDocs: true},
			{Descending: true}} {
			if got, _ := allDocs(t, d, o); len(got) < n*3 {
				t.Fatalf("%d bytes of rows: %s", len(got), got)
			}
		}
		for _, o := range []layer.ChangesOptions{{IncludeDocs: true}, {AllLeaves: true}, {Descending: true}} {
			rows, pass := feedOf(t, d, o)
			if len(rows) != n {
				t.Fatalf("%d rows", len(rows))
			}
			if last, err := d.LastSeq(t.Context()); err != nil || !o.Descending && pass.LastSeq() != last {
				t.Fatalf("the pass ended at %v, the database at %v, %v", pass.LastSeq(), last, err)
			}
		}
		var refs []layer.DocRef
		for _, k := range keys {
			refs = append(refs, layer.DocRef{ID: k})
		}
		i := 0
		for row, err := range d.BulkGet(t.Context(), refs, layer.GetOptions{Revs: true}) {
			if err != nil || row.Ref != refs[i] || len(row.Docs) != 1 || row.Docs[0].Doc == nil {
				t.Fatalf("%+v, %v", row, err)
			}
			i++
		}
		if i != n {
			t.Fatalf("%d rows", i)
		}
	}
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Reshard(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		if i%10 == 0 {
			if purged, err := d.Purge(t.Context(), k, leafRevs(t, d, k)); err != nil || len(purged) != 1 {
				t.Fatalf("%v, %v", purged, err)
			}
		}
	}
	if rows, _ := feedOf(t, d, layer.ChangesOptions{}); len(rows) != n-n/10 {
		t.Fatalf("%d rows", len(rows))
	}
	if err := s.Delete(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	d = mustCreate(t, s, "db", layer.CreateOptions{})
	for _, f := range []faultkv.Fault{faultkv.Conflict, faultkv.TooOld, faultkv.FutureVersion, faultkv.UnknownLost,
		faultkv.UnknownCommitted} {
		// Some hundred commits meet every kind, with rare exceptions.
		for i := 0; faulty.Injected()[f] == 0 && i < 10_000; i++ {
			put(t, d, fmt.Sprintf(`{"_id":"%v-%d"}`, f, i))
		}
		if faulty.Injected()[f] == 0 {
			t.Errorf("the test met no fault of kind %v", f)
		}
	}
}

func leafRevs(t *testing.T, d *layer.Database, id string) (revs []layer.Rev) {
	t.Helper()
	answers, err := d.OpenRevs(t.Context(), id, nil, layer.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		revs = append(revs, a.Rev)
	}
	return revs
}

// A cancelled request leaves no transaction id behind, whatever the result of its commit.
func TestTransactionIDs_cancelled(t *testing.T) {
	s, _ := mustFaulty(t, faultkv.Options{Rates: faultkv.Rates{UnknownLost: 0.4, UnknownCommitted: 0.4, Slow: 0.5}})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	for i := range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = d.Put(ctx, layer.Edit{ID: fmt.Sprint(i), Body: []byte("{}")}, layer.WriteOptions{})
		}()
		if i%2 == 0 {
			<-done
		}
		cancel()
		<-done
	}
}
