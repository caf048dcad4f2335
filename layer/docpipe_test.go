package layer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// bodyBytes counts the bytes of values returned by reads.
type bodyBytes struct {
	kv.Engine
	read atomic.Int64
}

func (e *bodyBytes) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, ok, err := kv.OpenSnapshot(ctx, e.Engine)
	if err == nil && !ok {
		return nil, errors.New("the engine holds no snapshots")
	}
	return bodyBytesSnapshot{s, e}, err
}

type bodyBytesSnapshot struct {
	kv.Snapshot
	e *bodyBytes
}

func (s bodyBytesSnapshot) Get(key []byte) kv.Future[[]byte] {
	return bodyBytesFuture{s.Snapshot.Get(key), s.e}
}

func (s bodyBytesSnapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return bodyBytesRange{s.Snapshot.GetRange(r, o), s.e}
}

type bodyBytesFuture struct {
	kv.Future[[]byte]
	e *bodyBytes
}

func (f bodyBytesFuture) Wait() ([]byte, error) {
	v, err := f.Future.Wait()
	f.e.read.Add(int64(len(v)))
	return v, err
}

type bodyBytesRange struct {
	kv.RangeIterator
	e *bodyBytes
}

func (r bodyBytesRange) Next() bool {
	more := r.RangeIterator.Next()
	if more {
		r.e.read.Add(int64(len(r.KeyValue().Value)))
	}
	return more
}

// mixedDocuments writes a mix of documents: small ones, some with many old bodies, some with branches, deleted ones,
// some over several chunks, some with attachments. It returns the ids of the live ones.
func mixedDocuments(t *testing.T, d *layer.Database, n int) (live []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for _, i := range r.Perm(n) {
		id := fmt.Sprintf("doc-%04d", i)
		filler := strings.Repeat("x", r.IntN(300))
		put := func(json string) layer.Rev {
			res, err := d.Put(t.Context(), edit(t, json), layer.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		live = append(live, id)
		switch r.IntN(12) {
		case 0: // many old bodies
			rev := put(fmt.Sprintf(`{"_id":%q,"n":0}`, id))
			for n := range 5 + r.IntN(30) {
				rev = put(fmt.Sprintf(`{"_id":%q,"_rev":%q,"n":%d,"f":%q}`, id, rev, n+1, filler))
			}
		case 1: // branches
			for _, branch := range []string{"a", "b", "c"} {
				push(t, d, fmt.Sprintf(`{"_id":%q,"branch":%q,"_revisions":{"start":2,"ids":["%s","r"]}}`, id, branch,
					branch))
			}
		case 2:
			rev := put(fmt.Sprintf(`{"_id":%q}`, id))
			put(fmt.Sprintf(`{"_id":%q,"_rev":%q,"_deleted":true}`, id, rev))
			live = live[:len(live)-1]
		case 3:
			put(fmt.Sprintf(`{"_id":%q,"first":1,"large":%q}`, id, strings.Repeat("y", 60_000+r.IntN(200_000))))
		case 4:
			put(fmt.Sprintf(`{"_id":%q,"_attachments":{"a.txt":{"content_type":"text/plain","data":"aGk="}}}`, id))
		default:
			put(fmt.Sprintf(`{"_id":%q,"n":%d,"f":%q}`, id, i, filler))
		}
	}
	return live
}

// docText returns a document as in a response.
func docText(t *testing.T, doc *layer.Document) string {
	t.Helper()
	if doc.Large == nil {
		return string(doc.AppendJSON(nil))
	}
	text := doc.AppendHead(nil)
	var body []byte
	if err := doc.Large.Copy(t.Context(), func(part []byte) error {
		body = append(body,
			part...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	text = append(append(text, ','), body[1:len(body)-1]...)
	return string(doc.AppendTail(text, layer.AppendStub))
}

// Lists and feeds with documents return the same as reads of single documents, whatever lies between the bodies.
func TestDocuments_read_together(t *testing.T) {
	for _, snapshots := range []bool{true, false} {
		t.Run(fmt.Sprintf("snapshots %v", snapshots), func(t *testing.T) {
			d := mustCreate(t, mustStore(t, mustEngineWith(t, snapshots), layer.Options{}), "db", layer.CreateOptions{})
			live := mixedDocuments(t, d, 400)
			want := map[string]string{}
			for _, id := range live {
				doc, err := d.Get(t.Context(), id, layer.GetOptions{Conflicts: true})
				if err != nil {
					t.Fatal(err)
				}
				want[id] = docText(t, doc)
			}
			check := func(what string, limit int, got map[string]string, rows int) {
				t.Helper()
				if limit < 0 && rows != len(live) || limit >= 0 && rows != min(limit, len(live)) {
					t.Errorf("%s: %d rows with documents, want %d", what, rows, len(live))
				}
				for id, text := range got {
					if text != want[id] {
						t.Errorf("%s: %s is %.200s, want %.200s", what, id, text, want[id])
					}
				}
			}
			for _, limit := range []int{-1, 3, 50, 200} {
				for _, descending := range []bool{false, true} {
					for _, large := range []bool{false, true} {
						what := fmt.Sprintf("limit %d, descending %v, large %v", limit, descending, large)
						result, err := d.AllDocs(t.Context(), layer.AllDocsOptions{
							Limit: limit, Descending: descending, IncludeDocs: true, Conflicts: true, Large: large,
						})
						if err != nil {
							t.Fatal(err)
						}
						got, rows := map[string]string{}, 0
						for row, err := range result.Rows {
							if err != nil {
								t.Fatal(err)
							}
							got[row.ID], rows = docText(t, row.Doc), rows+1
						}
						check("all docs, "+what, limit, got, rows)

						pass, err := d.Changes(t.Context(), layer.ChangesOptions{
							Limit: -1, Descending: descending, IncludeDocs: true, Conflicts: true, Large: large,
						})
						if err != nil {
							t.Fatal(err)
						}
						got, rows = map[string]string{}, 0
						for c, err := range pass.Rows {
							if err != nil {
								t.Fatal(err)
							}
							if c.Deleted {
								continue
							}
							got[c.ID], rows = docText(t, c.Doc), rows+1
							if rows == limit {
								break
							}
						}
						check("changes, "+what, limit, got, rows)
					}
				}
			}
		})
	}
}

// Reading a list or a feed with its documents takes a few range reads for hundreds of documents and no read of a single
// key, if the documents were written in the order of their ids. On FoundationDB each read is a message.
func TestDocuments_read_together_cost(t *testing.T) {
	oneGoroutine(t)
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &costEngine{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	const docs = 2000
	var edits []layer.Edit
	for i := range docs {
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"%06d","n":%d}`, i, i)))
	}
	mustBulk(t, d, edits, layer.WriteOptions{})
	for what, read := range map[string]func() int{
		"all docs": func() (n int) {
			result, err := d.AllDocs(t.Context(), layer.AllDocsOptions{Limit: -1, IncludeDocs: true})
			if err != nil {
				t.Fatal(err)
			}
			for row, err := range result.Rows {
				if err != nil || row.Doc == nil {
					t.Fatal(row, err)
				}
				n++
			}
			return n
		},
		"changes": func() (n int) {
			pass, err := d.Changes(t.Context(), layer.ChangesOptions{Limit: -1, IncludeDocs: true})
			if err != nil {
				t.Fatal(err)
			}
			for c, err := range pass.Rows {
				if err != nil || c.Doc == nil {
					t.Fatal(c, err)
				}
				n++
			}
			return n
		},
	} {
		e.forget()
		if n := read(); n != docs {
			t.Errorf("%s: %d rows, want %d", what, n, docs)
		}
		t.Logf("%s: %d reads of a key, %d ranges of %d rows", what, e.gets.Load(), e.ranges.Load(), e.rows.Load())
		if gets, ranges, rows := e.gets.Load(), e.ranges.Load(), e.rows.Load(); gets > 40 || ranges > 20 ||
			rows > 2*docs+200 {
			t.Errorf("%s: %d reads of a key, %d ranges of %d rows", what, gets, ranges, rows)
		}
	}
}

// A response whose client stops reading holds a few batches, however large the documents are and wherever the large
// ones begin. Nothing continues to read after the client has disconnected.
func TestDocuments_read_together_bounded(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	below := mustEngine(t)
	if _, ok := below.(kv.Snapshotter); !ok {
		t.Skip("the engine holds no snapshots")
	}
	e := &bodyBytes{Engine: below}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	var edits []layer.Edit
	const small, large, size = 1500, 300, 60_000
	for i := range small + large {
		text := `{"_id":"%06d"}`
		if i >= small {
			text = `{"_id":"%06d","f":"` + strings.Repeat("z", size) + `"}`
		}
		edits = append(edits, edit(t, fmt.Sprintf(text, i)))
	}
	mustBulk(t, d, edits, layer.WriteOptions{})
	e.read.Store(0)
	result, err := d.AllDocs(t.Context(), layer.AllDocsOptions{Limit: -1, IncludeDocs: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for row, err := range result.Rows {
		if err != nil {
			t.Fatal(err)
		}
		if n++; row.Doc == nil || len(row.Doc.Body) < 2 {
			t.Fatalf("%s has no document", row.ID)
		}
		// The list and the small documents are less than 200 KB. Some batches are read ahead of this row.
		if ahead := e.read.Load() - 200_000 - int64(max(0, n-small))*size; ahead > 1_000_000 {
			t.Fatalf("%d bytes are read ahead of row %d", ahead, n)
		}
		if n == small+large/2 {
			break
		}
	}
	if after := e.read.Load(); after > 200_000+(large/2)*size+1_000_000 {
		t.Errorf("%d bytes were read", after)
	}
	if n != small+large/2 {
		t.Errorf("%d rows", n)
	}
}
