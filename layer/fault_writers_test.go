package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// transactionIDs counts the ids in the store.
func transactionIDs(tb testing.TB, e kv.Engine) (n int) {
	tb.Helper()
	tx := e.Begin(faultkv.Forever(context.Background()))
	defer tx.Cancel()
	for _, row := range dump(tb, tx) {
		if row.key[0] == int64(keyspace.Transactions) {
			n++
		}
	}
	return n
}

// workload has writers of every kind, each with its own documents, so that every answer can be checked.
type workload struct {
	s       *layer.Store
	d       *layer.Database
	purged  atomic.Int64
	entries atomic.Int64 // documents that must be in the feed
}

const rounds = 12

// single creates, updates, deletes and recreates one document.
func (w *workload) single(t *testing.T, id string) {
	var rev layer.Rev
	for i := range rounds {
		e := layer.Edit{ID: id, Rev: rev, Body: fmt.Appendf(nil, `{"i":%d}`, i), Deleted: i%5 == 4}
		r, err := w.d.Put(t.Context(), e, layer.WriteOptions{})
		if err != nil || r.Pos != int64(i+1) {
			t.Errorf("%s, edit %d: %v, %v", id, i, r, err)
			return
		}
		if rev = r; e.Deleted {
			rev = layer.Rev{}
		}
	}
	w.entries.Add(1)
}

// bulk writes many documents at a time, one of which always conflicts; every other batch is all or nothing.
func (w *workload) bulk(t *testing.T, id string) {
	const docs = 6
	revs := make([]layer.Rev, docs)
	for i := range rounds {
		edits := make([]layer.Edit, docs, docs+1)
		for j := range edits {
			edits[j] = layer.Edit{ID: fmt.Sprintf("%s.%d", id, j), Rev: revs[j], Body: fmt.Appendf(nil, `{"i":%d}`, i)}
		}
		atomically := i%2 == 1
		if !atomically {
			edits = append(edits, layer.Edit{ID: edits[0].ID, Rev: layer.Rev{Pos: 99, ID: "x"}, Body: []byte("{}")})
		}
		results, err := w.d.Bulk(t.Context(), edits, layer.WriteOptions{Atomic: atomically})
		if err != nil {
			t.Errorf("%s, round %d: %v", id, i, err)
			return
		}
		for j := range revs {
			if results[j].Err != nil || results[j].Rev.Pos != int64(i+1) {
				t.Errorf("%s, round %d, document %d: %+v", id, i, j, results[j])
				return
			}
			revs[j] = results[j].Rev
		}
		if !atomically && layer.KindOf(results[docs].Err) != layer.Conflict {
			t.Errorf("%s, round %d: no conflict: %+v", id, i, results[docs])
		}
	}
	w.entries.Add(docs)
}

// replicated writes two branches of a document, and every revision twice.
func (w *workload) replicated(t *testing.T, id string) {
	var history [2]string
	for i := range rounds {
		b := i % 2
		leaf := fmt.Sprintf("%d%c", i, 'a'+rune(b))
		ids := `"` + leaf + `"` + history[b]
		text := fmt.Sprintf(`{"_id":"%s","i":%d,"_revisions":{"start":%d,"ids":[%s]}}`, id, i, i/2+1, ids)
		for range 2 {
			e := replicated(t, text)
			if _, err := w.d.Put(t.Context(), e, layer.WriteOptions{Replicated: true}); err != nil {
				t.Errorf("%s, edit %d: %v", id, i, err)
				return
			}
		}
		history[b] = "," + ids
	}
	answers, err := w.d.OpenRevs(t.Context(), id, nil, layer.GetOptions{Revs: true})
	if err != nil || len(answers) != 2 {
		t.Errorf("%s: %v, %v", id, answers, err)
		return
	}
	for _, a := range answers {
		if len(a.Doc.Revs) != rounds/2 {
			t.Errorf("%s: leaf %s has the history %v", id, a.Rev, a.Doc.Revs)
		}
	}
	w.entries.Add(1)
}

// attachments writes small and large ones, keeps and replaces them.
func (w *workload) attachments(t *testing.T, id string) {
	var rev layer.Rev
	large := bytes.Repeat([]byte(id), 250_000)
	for i := range rounds {
		e := layer.Edit{ID: id, Rev: rev, Body: []byte("{}"),
			Attachments: []layer.AttachmentEdit{{Name: "small", Data: fmt.Appendf(nil, "%d", i)}}}
		if i%4 == 0 {
			u, err := w.d.Upload(t.Context(), id, bytes.NewReader(large), int64(len(large)), "")
			if err != nil {
				t.Errorf("%s, upload %d: %v", id, i, err)
				return
			}
			e.Attachments = append(e.Attachments, layer.AttachmentEdit{Name: "large", Upload: u})
		} else {
			e.Attachments = append(e.Attachments, layer.AttachmentEdit{Name: "large", Stub: true})
		}
		r, err := w.d.Put(t.Context(), e, layer.WriteOptions{})
		if err != nil || r.Pos != int64(i+1) {
			t.Errorf("%s, edit %d: %v, %v", id, i, r, err)
			return
		}
		rev = r
	}
	doc, err := w.d.Get(t.Context(), id, layer.GetOptions{})
	if err != nil || len(doc.Attachments) != 2 {
		t.Errorf("%s: %+v, %v", id, doc, err)
		return
	}
	for _, a := range doc.Attachments {
		want := large
		if a.Name == "small" {
			want = fmt.Appendf(nil, "%d", rounds-1)
		}
		r, err := w.d.OpenAttachment(t.Context(), id, a, 0, -1)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			return
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s has %d bytes, want %d; %v", id, a.Name, len(got), len(want), err)
		}
	}
	w.entries.Add(1)
}

// locals writes a _local document, and removes it now and then.
func (w *workload) locals(t *testing.T, id string) {
	id = "_local/" + id
	for i := range rounds {
		e := layer.Edit{ID: id, Body: fmt.Appendf(nil, `{"i":%d}`, i), Deleted: i%5 == 4}
		if _, err := w.d.PutLocal(t.Context(), e); err != nil {
			t.Errorf("%s, edit %d: %v", id, i, err)
			return
		}
		doc, err := w.d.LocalDocument(t.Context(), id)
		if e.Deleted != (layer.KindOf(err) == layer.NotFound && err != nil) ||
			!e.Deleted && (err != nil || string(doc.Body) != string(e.Body)) {
			t.Errorf("%s, edit %d: %+v, %v", id, i, doc, err)
		}
	}
}

// purges creates documents and purges them, partially and completely.
func (w *workload) purges(t *testing.T, id string) {
	for i := range rounds {
		for _, leaf := range []string{"a", "b"} {
			push(t, w.d, fmt.Sprintf(`{"_id":"%s","_revisions":{"start":1,"ids":["%d%s"]}}`, id, i, leaf))
		}
		for _, leaf := range []string{"b", "a"} {
			r := layer.Rev{Pos: 1, ID: fmt.Sprint(i, leaf)}
			purged, err := w.d.Purge(t.Context(), id, []layer.Rev{r})
			if err != nil || len(purged) != 1 || purged[0] != r {
				t.Errorf("%s, purge of %s: %v, %v", id, r, purged, err)
				return
			}
			w.purged.Add(1)
		}
	}
}

// settings changes the database's settings.
func (w *workload) settings(t *testing.T) {
	for i := range rounds {
		security := fmt.Sprintf(`{"i":%d}`, i)
		if err := w.d.SetSecurity(t.Context(), []byte(security)); err != nil {
			t.Error(err)
		}
		if err := w.d.SetRevsLimit(t.Context(), 100+i); err != nil {
			t.Error(err)
		}
		got, err := w.d.Security(t.Context())
		limit, limitErr := w.d.RevsLimit(t.Context())
		if string(got) != security || limit != 100+i || err != nil || limitErr != nil {
			t.Errorf("security %s, limit %d after %d; %v, %v", got, limit, i, err, limitErr)
		}
	}
}

// reshards adds one shard map at a time and checks that no other one was added.
func (w *workload) reshards(t *testing.T) {
	for i := range rounds {
		m, err := w.d.Reshard(t.Context(), 1+i%4)
		if err != nil {
			t.Error(err)
			return
		}
		maps, err := w.d.ShardMaps(t.Context(), layer.Seq{})
		if err != nil || len(maps) != i+2 || maps[i+1].Since != m.Since ||
			strings.Join(ids(maps[i+1]), " ") != strings.Join(ids(m), " ") {
			t.Errorf("reshard %d answers %+v, the maps are %+v, %v", i, m, maps, err)
		}
	}
}

func ids(m layer.ShardMap) (all []string) {
	for _, id := range m.Shards {
		all = append(all, string(id))
	}
	return all
}

// databases creates and deletes databases: no answer says that the own database exists already, or does not exist.
func (w *workload) databases(t *testing.T, name string) {
	for i := range rounds / 2 {
		d, err := w.s.Create(t.Context(), name, layer.CreateOptions{})
		if err != nil {
			t.Errorf("%s, create %d: %v", name, i, err)
			return
		}
		put(t, d, `{"_id":"x"}`)
		if err := w.s.Delete(t.Context(), name); err != nil {
			t.Errorf("%s, delete %d: %v", name, i, err)
			return
		}
	}
}

// C4 for every kind of write: half of all commits end with an unknown result, whether committed or not. All answers are
// correct, no entry is in the feed twice, no counter counts twice (checkStore), and no transaction ids are left at the
// end.
func TestUnknownResults_everyWriter(t *testing.T) {
	below, seed := mustEngine(t), rand.Uint64()
	t.Logf("seed %d", seed)
	faulty := faultkv.New(below,
		faultkv.Options{Seed: seed, Rates: faultkv.Rates{UnknownLost: 0.25, UnknownCommitted: 0.25}})
	s := mustStore(t, withoutSnapshots{faulty}, layer.Options{})
	w := &workload{s: s, d: mustCreate(t, s, "db", layer.CreateOptions{Shards: 2})}
	var writers sync.WaitGroup
	for i := range 4 {
		for name, write := range map[string]func(*testing.T, string){
			"single": w.single, "bulk": w.bulk, "replicated": w.replicated, "attached": w.attachments,
			"local": w.locals, "purged": w.purges, "database": w.databases,
		} {
			writers.Go(func() { write(t, fmt.Sprint(name, i)) })
		}
	}
	writers.Go(func() { w.settings(t) })
	writers.Go(func() { w.reshards(t) })
	writers.Go(func() {
		for range rounds {
			if err := w.d.Compact(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()

	rows, _ := feedOf(t, w.d, layer.ChangesOptions{})
	info, err := w.d.Info(t.Context())
	if err != nil || int64(len(rows)) != w.entries.Load() || info.DocCount+info.DocDelCount != w.entries.Load() ||
		info.PurgeSeq != w.purged.Load() {
		t.Errorf("%d rows, %d documents, %d purges; %+v, %v", len(rows), w.entries.Load(), w.purged.Load(), info, err)
	}
	for name, err := range s.Names(t.Context(), layer.NamesOptions{Limit: -1}) {
		if name != "db" || err != nil {
			t.Errorf("the database %s is left; %v", name, err)
		}
	}
	if n := faulty.Injected(); n[faultkv.UnknownCommitted] < 100 || n[faultkv.UnknownLost] < 100 {
		t.Errorf("the test met too few faults: %v", n)
	}
	if err := layer.ClearTransactionIDs(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if n := transactionIDs(t, below); n > 0 {
		t.Errorf("%d transaction ids are left", n)
	}
}

// Other nodes sweep the leftovers of a dead node after some hours.
func TestTransactionIDs_swept(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	dead, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := mustCreate(t, dead, "db", layer.CreateOptions{})
	layer.Die(dead)
	fill(t, d, 100)
	put(t, d, `{"_id":"x"}`)
	if n := transactionIDs(t, e); n < 2 {
		t.Fatalf("the dead node left %d ids", n)
	}
	if err := layer.SweepTransactionIDs(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if n := transactionIDs(t, e); n > 0 {
		t.Errorf("%d transaction ids are left", n)
	}
}
