package layer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// stale is an engine whose next commits with writes fail because they are too old.
type stale struct {
	kv.Engine
	commits atomic.Int64
}

func (e *stale) Begin(ctx context.Context) kv.Transaction {
	return staleTransaction{e.Engine.Begin(ctx), e}
}

type staleTransaction struct {
	kv.Transaction
	e *stale
}

func (t staleTransaction) Commit() error {
	if t.Wrote() && t.e.commits.Add(-1) >= 0 {
		return kv.NewError(kv.CodeTooOld, "too old", nil)
	}
	return t.Transaction.Commit()
}

// The validation functions of design documents are called once for an edit, however many attempts its transaction takes
// and however it is divided. They are called again if their input has changed.
func TestValidate_keptOverAttempts(t *testing.T) {
	if faultkv.Enabled() || faultkv.Short() {
		t.Skip("it counts calls")
	}
	for _, replicated := range []bool{false, true} {
		e := &stale{Engine: mustEngine(t)}
		v := &wordValidator{}
		s := mustStore(t, e, layer.Options{Validator: v})
		d := mustCreate(t, s, "db", layer.CreateOptions{})
		put(t, d, `{"_id":"_design/d","refuse":"bad"}`)
		as := layer.WriteOptions{User: &layer.UserCtx{Name: "u"}, Replicated: replicated}
		const docs = 50
		var edits []layer.Edit
		for i := range docs {
			edits = append(edits, layer.Edit{ID: fmt.Sprint(i), Body: []byte(`{}`)})
			if i%10 == 0 {
				edits[i].Body = []byte(`{"x":"bad"}`)
			}
			if replicated {
				edits[i].Rev = layer.Rev{Pos: 1, ID: "a"}
			}
		}
		v.seen = nil
		e.commits.Store(5)
		results, err := d.Bulk(t.Context(), edits, as)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if refused := i%10 == 0; refused != (layer.KindOf(r.Err) == layer.Forbidden) || !refused && r.Err != nil {
				t.Errorf("%d: %v", i, r.Err)
			}
		}
		if len(v.seen) != docs {
			t.Errorf("replicated %t: the function was called %d times for %d documents", replicated, len(v.seen), docs)
		}
	}
}

// If no transaction succeeds, a few edits are tried one by one, but not all of them, and the request ends with an
// error.
func TestBulk_nothingGetsThrough(t *testing.T) {
	oneGoroutine(t)
	if faultkv.Enabled() {
		t.Skip("it counts commits")
	}
	e := &stale{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	edits := make([]layer.Edit, 100)
	for i := range edits {
		edits[i].ID = fmt.Sprint(i)
	}
	const commits = 1_000_000
	e.commits.Store(commits)
	_, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
	if layer.KindOf(err) != layer.Unavailable || !kv.TooMuch(err) || kv.MaybeCommitted(err) {
		t.Errorf("%v", err)
	}
	// The store's background upkeep is included.
	if tried := commits - e.commits.Swap(0); tried > 250 {
		t.Errorf("%d commits were tried", tried)
	}
	mustBulk(t, d, edits, layer.WriteOptions{}) // none was written
}

// Compaction succeeds, whatever the time limit of transactions is.
func TestCompact_divided(t *testing.T) {
	below := mustEngine(t)
	d := mustCreate(t, mustStore(t, below, layer.Options{}), "db", layer.CreateOptions{})
	const docs, edits = 30, 10
	for i := range docs {
		e := layer.Edit{ID: fmt.Sprint(i)}
		for range edits {
			e.Body = fmt.Appendf(nil, `{"x":"%030000d"}`, i)
			e.Rev = mustBulk(t, d, []layer.Edit{e}, layer.WriteOptions{})[0].Rev
		}
	}
	if err := openFar(t, faultkv.WithLife(below, time.Millisecond)).Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countKeys(t, below, "documents"); n != docs {
		t.Errorf("%d bodies are left of %d documents", n, docs)
	}
}

// Any number of leaves can be purged at once, and indexes see all purges.
func TestPurge_divided(t *testing.T) {
	d := mustDatabase(t)
	const leaves = 2*layer.PurgeRevs + 50
	branchy(t, d, 1, leaves, 2)
	revs := leafRevs(t, d, "doc0000")
	keep := revs[7]
	asked := slices.Concat(revs[:7], revs[8:])
	purged, err := d.Purge(t.Context(), "doc0000", asked)
	if err != nil || len(purged) != leaves-1 {
		t.Fatalf("%d purged, %v", len(purged), err)
	}
	if left := leafRevs(t, d, "doc0000"); !slices.Equal(left, []layer.Rev{keep}) {
		t.Errorf("left: %v", left)
	}
	noted := map[layer.Rev]bool{}
	for p, err := range d.Purges(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Revs {
			noted[r] = true
		}
	}
	if len(noted) != leaves-1 {
		t.Errorf("%d revisions are noted", len(noted))
	}
}

// interrupted calls a function before each transaction while it is enabled.
type interrupted struct {
	kv.Engine
	on     atomic.Bool
	mu     sync.Mutex
	before func() // called with mu locked
}

func (e *interrupted) Begin(ctx context.Context) kv.Transaction {
	if e.on.Load() {
		e.mu.Lock()
		e.before()
		e.mu.Unlock()
	}
	return e.Engine.Begin(ctx)
}

// A pass over many documents takes as many transactions as it needs, and is still as of one version: documents that
// move in the meantime come once, at their newest place, and a reader that continues from the end misses nothing.
func TestChanges_manyIDs(t *testing.T) {
	oneGoroutine(t)
	below := mustEngine(t)
	d := mustCreate(t, mustStore(t, below, layer.Options{}), "db", layer.CreateOptions{Shards: 3})
	const docs, asked = 300, 100_000
	ids := make([]string, asked)
	for i := range ids {
		ids[i] = fmt.Sprintf("%06d", i*7919%asked)
	}
	var edits []layer.Edit
	for _, id := range ids[:docs] {
		edits = append(edits, layer.Edit{ID: id}, layer.Edit{ID: "other" + id})
	}
	mustBulk(t, d, edits, layer.WriteOptions{})
	e := &interrupted{Engine: faultkv.WithLife(withoutSnapshots{below}, 200*time.Millisecond)}
	next, moves := 0, 0
	e.before = func() { // another document is written before every transaction
		id := ids[next%docs]
		next += 11
		now, err := d.Get(t.Context(), id, layer.GetOptions{})
		if err == nil {
			_, err = d.Put(t.Context(), layer.Edit{ID: id, Rev: now.Rev}, layer.WriteOptions{})
		}
		if err != nil {
			t.Error(err)
		}
		moves++
	}
	far := openFar(t, e)
	for _, descending := range []bool{false, true} {
		e.mu.Lock()
		moves = 0
		e.mu.Unlock()
		e.on.Store(true)
		got, last := changesOf(t, far, layer.ChangesOptions{IDs: ids, Descending: descending, Limit: -1})
		e.on.Store(false)
		e.mu.Lock()
		moves := moves
		e.mu.Unlock()
		if moves < 5 || len(got) != docs {
			t.Fatalf("%d rows in %d transactions", len(got), moves)
		}
		seen := map[string]layer.Rev{}
		for i, c := range got {
			if i > 0 && (got[i-1].Seq.Compare(c.Seq) < 0) == descending {
				t.Errorf("%s comes after %s", c.Seq, got[i-1].Seq)
			}
			seen[c.ID] = c.Rev
		}
		if len(seen) != docs {
			t.Errorf("%d documents in %d rows", len(seen), docs)
		}
		if descending {
			continue
		}
		news, _ := changesOf(t, d, layer.ChangesOptions{Since: last, Limit: -1})
		for _, c := range news {
			seen[c.ID] = c.Rev
		}
		t.Logf("%d transactions, %d documents have moved since the last", moves, len(news))
		all, _ := changesOf(t, d, layer.ChangesOptions{IDs: ids[:docs], Limit: -1})
		for _, c := range all {
			if seen[c.ID] != c.Rev {
				t.Errorf("%s is at %s, and was seen at %s", c.ID, c.Rev, seen[c.ID])
			}
		}
	}
}

func changesOf(t *testing.T, d *layer.Database, o layer.ChangesOptions) (rows []layer.Change, last layer.Seq) {
	t.Helper()
	pass, err := d.Changes(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		c.Leaves = nil
		rows = append(rows, c)
	}
	return rows, pass.LastSeq()
}

// fullDisk is an engine whose disk has room for a number of commits.
type fullDisk struct {
	kv.Engine
	room atomic.Int64
}

func (e *fullDisk) Begin(ctx context.Context) kv.Transaction {
	return fullDiskTransaction{e.Engine.Begin(ctx), e}
}

type fullDiskTransaction struct {
	kv.Transaction
	e *fullDisk
}

func (t fullDiskTransaction) Commit() error {
	if t.Wrote() && t.e.room.Add(-1) < 0 {
		return kv.NewError(kv.CodeDiskFull, "the disk is full", nil)
	}
	return t.Transaction.Commit()
}

// Compaction on a full disk ends with an error that says so, whichever commit fails. Nothing is lost, and once there is
// room it removes the rest.
func TestCompact_fullDisk(t *testing.T) {
	below := mustEngine(t)
	d := mustCreate(t, mustStore(t, below, layer.Options{}), "db", layer.CreateOptions{Shards: 2})
	const docs, edits = 40, 8
	for i := range docs {
		for n := range edits {
			save(t, d, fmt.Sprintf(`{"_id":"%d","n":%d,"x":"%020000d","_attachments":{"f":{"data":"aGVsbG8="}}}`, i, n,
				n))
		}
	}
	e := &fullDisk{Engine: below}
	far := openFar(t, e)
	for commits, full := int64(0), true; full; commits++ {
		e.room.Store(commits)
		err := far.Compact(t.Context())
		if full = err != nil; full && layer.KindOf(err) != layer.Full {
			t.Fatalf("with room for %d commits: %v", commits, err)
		}
		if !full && commits < 2 {
			t.Errorf("compaction took %d commits", commits)
		}
		for i := range docs {
			doc, err := d.Get(t.Context(), fmt.Sprint(i), layer.GetOptions{})
			if err != nil || len(doc.Attachments) != 1 || doc.Rev.Pos != edits {
				t.Fatalf("with room for %d commits, document %d: %v, %v", commits, i, doc, err)
			}
		}
	}
	bodies, data := countKeys(t, below, "documents"), countKeys(t, below, "attachments")
	if bodies != docs || data != docs {
		t.Errorf("%d bodies and %d attachments of %d documents are left", bodies, data, docs)
	}
	e.room.Store(1 << 30) // so that the store can close
}
