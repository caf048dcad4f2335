package layer_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// verifyAll is what Verify says of a store, without files.
func verifyAll(t *testing.T, s *layer.Store, digests bool) (lines []string) {
	t.Helper()
	_, err := s.Verify(t.Context(), layer.VerifyOptions{Digests: digests, Damage: func(d *layer.Damage) error {
		lines = append(lines, d.String())
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// openToBreak opens a store whose rows nobody else checks, with a database that has some of everything.
func openToBreak(t *testing.T, e kv.Engine) *layer.Store {
	t.Helper()
	sandbox := script.New(script.Options{Limits: script.Limits{Time: time.Minute}})
	s, err := layer.Open(t.Context(), e, layer.Options{Scripts: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := sandbox.Close(); err != nil {
			t.Error(err)
		}
	})
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 3})
	put(t, d, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, doc._id); emit(-doc.n, 1) }","reduce":"_count"}}}`)
	for i := range 150 {
		put(t, d, fmt.Sprintf(`{"_id":"doc%03d","n":%d}`, i, i))
	}
	for _, leaf := range []string{"a", "b", "c"} {
		push(t, d, `{"_id":"x","n":7,"_revisions":{"start":2,"ids":["`+leaf+`","r"]}}`)
	}
	r := put(t, d, `{"_id":"att","n":1,"_attachments":{"f":{"data":"aGVsbG8="},"g":{"data":"aGVsbG8="}}}`)
	put(t, d, `{"_id":"att","n":2,"_rev":"`+r.String()+`","_attachments":{"f":{"stub":true}}}`)
	r = put(t, d, `{"_id":"gone","n":1}`)
	put(t, d, `{"_id":"gone","_deleted":true,"_rev":"`+r.String()+`"}`)
	if purged, err := d.Purge(t.Context(), "doc009", leafRevs(t, d, "doc009")); err != nil || len(purged) != 1 {
		t.Fatal(purged, err)
	}
	for token, name := range []string{"d"} {
		design, err := d.Design(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		build(t, d.Index(design), int64(token+1), 50)
	}
	return s
}

// planted is a store's keys, to break one.
type planted struct {
	t  *testing.T
	tx kv.Transaction
}

// rows are those of a subspace whose keys begin with some elements.
func (p *planted) rows(sub keyspace.Subspace, begin ...any) (rows []kv.KeyValue) {
	p.t.Helper()
	it := p.tx.GetRange(kv.KeyRange{End: []byte{0xff}}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		key, err := tuple.Unpack(row.Key)
		if err != nil || len(key) < 3+len(begin) || key[0] != int64(keyspace.Data) || key[2] != int64(sub) ||
			fmt.Sprint(key[3:3+len(begin)]) != fmt.Sprint(tuple.Tuple(begin)) {
			continue
		}
		rows = append(rows, kv.KeyValue{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)})
	}
	if len(rows) == 0 {
		p.t.Fatalf("there are no rows of %d %v", sub, begin)
	}
	return rows
}

// other is the key of a row with another string for one of its elements.
func (p *planted) other(row kv.KeyValue, old, with string) []byte {
	return bytes.Replace(row.Key, tuple.AppendString(nil, old), tuple.AppendString(nil, with), 1)
}

// Each kind of fault is found, in one line, and a store without any has none.
func TestVerify_faults(t *testing.T) {
	add := func(row kv.KeyValue, n int64) []byte {
		return binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(row.Value)+uint64(n))
	}
	cases := map[string]struct {
		plant func(p *planted)
		want  string
	}{
		"nothing": {func(*planted) {}, ""},
		"no winner": {func(p *planted) {
			row := p.rows(keyspace.Revisions, "doc007")[0]
			value, err := tuple.Unpack(row.Value)
			if err != nil {
				p.t.Fatal(err)
			}
			p.tx.Set(row.Key, tuple.Tuple{value[0], value[4]}.Pack())
		}, `revisions of documents "doc007": the winning revision`},
		"branch count": {func(p *planted) {
			rows := p.rows(keyspace.Revisions, "x")
			p.tx.Clear(rows[0].Key)
		}, `revisions of documents "x": 3 branches are noted, and there are 2`},
		"no entry": {func(p *planted) {
			for _, row := range p.rows(keyspace.Changes) {
				if bytes.Contains(row.Value, []byte("doc005")) {
					p.tx.Clear(row.Key)
				}
			}
		}, `the feed of changes "doc005": the document has no entry at its sequence`},
		"wrong entry": {func(p *planted) {
			for _, row := range p.rows(keyspace.Changes) {
				if bytes.Contains(row.Value, []byte("doc005")) {
					p.tx.Set(row.Key, append(row.Value[:len(row.Value)-1:len(row.Value)-1], 0x26))
				}
			}
		}, `the feed of changes "doc005": the entry at`},
		"second entry": {func(p *planted) {
			for _, row := range p.rows(keyspace.Changes) {
				if bytes.Contains(row.Value, []byte("doc005")) {
					row.Key[len(row.Key)-1]++
					p.tx.Set(row.Key, row.Value)
				}
			}
		}, `the feed of changes "doc005": there is an entry at`},
		"entry of no document": {func(p *planted) {
			for _, row := range p.rows(keyspace.Changes) {
				if bytes.Contains(row.Value, []byte("doc005")) {
					row.Key[len(row.Key)-1]++
					p.tx.Set(row.Key, bytes.Replace(row.Value, []byte("doc"), []byte("dog"), 1))
				}
			}
		}, `and no such document`},
		"not listed": {func(p *planted) {
			p.tx.Clear(p.rows(keyspace.AllDocs, "doc003")[0].Key)
		}, `the list of documents "doc003": the document is not listed`},
		"listed and deleted": {func(p *planted) {
			row := p.rows(keyspace.AllDocs, "doc003")[0]
			p.tx.Set(p.other(row, "doc003", "gone"), row.Value)
		}, `the list of documents "gone": the document is deleted, and listed`},
		"listed and not there": {func(p *planted) {
			row := p.rows(keyspace.AllDocs, "doc003")[0]
			p.tx.Set(p.other(row, "doc003", "doc003a"), row.Value)
		}, `the list of documents "doc003a": it is listed, and there is no such document`},
		"listed as another revision": {func(p *planted) {
			p.tx.Set(p.rows(keyspace.AllDocs, "doc003")[0].Key, p.rows(keyspace.AllDocs, "doc004")[0].Value)
		}, `the list of documents "doc003": revision`},
		"design not listed": {func(p *planted) {
			p.tx.Clear(p.rows(keyspace.Designs)[0].Key)
		}, `the list of design documents "_design/d": the document is not listed`},
		"no body": {func(p *planted) {
			p.tx.Clear(p.rows(keyspace.Documents, "doc010")[0].Key)
		}, `bodies of documents "doc010": the leaf`},
		"body of no document": {func(p *planted) {
			row := p.rows(keyspace.Documents, "doc010")[0]
			p.tx.Set(p.other(row, "doc010", "doc010a"), row.Value)
		}, `bodies of documents "doc010a": there are bodies, and no such document`},
		"attachment gone": {func(p *planted) {
			for _, row := range p.rows(keyspace.Attachments) { // one is only that of a superseded body
				p.tx.Clear(row.Key)
			}
		}, `attachments of documents "att": attachment "f" of revision`},
		"attachment of nobody": {func(p *planted) {
			row := p.rows(keyspace.Attachments)[0]
			p.tx.Set(p.other(row, "att", "doc001"), row.Value)
		}, `attachments of documents "doc001": there is data of an attachment that no revision has`},
		"attachment changed": {func(p *planted) {
			row := p.rows(keyspace.Attachments)[0]
			p.tx.Set(row.Key, []byte("hallo"))
		}, `does not have its digest`},
		"attachment count": {func(p *planted) {
			row := p.rows(keyspace.AttachmentRefs)[0]
			p.tx.Set(row.Key, add(row, 1))
		}, `counters of attachments "att": attachment`},
		"counter": {func(p *planted) {
			for _, row := range p.rows(keyspace.ShardCounters) {
				if bytes.Contains(row.Key, []byte("doc_count")) {
					p.tx.Set(row.Key, add(row, 1))
					break
				}
			}
		}, `counters: the counter doc_count is`},
		"index row gone": {func(p *planted) {
			p.tx.Clear(p.viewRow(keyspace.ViewRows, 20).Key)
		}, `lacks the row`},
		"index row changed": {func(p *planted) {
			row := p.viewRow(keyspace.ViewRows, 200)
			key, rest, err := tuple.TakeBytes(row.Value)
			if err != nil || len(rest) == 0 {
				p.t.Fatal(err)
			}
			p.tx.Set(row.Key, tuple.AppendBytes(tuple.AppendBytes(nil, key), []byte(`"?"`)))
		}, `has another row with the key`},
		"index entry gone": {func(p *planted) {
			p.tx.Clear(p.viewRow(keyspace.ViewIDs, 20).Key)
		}, `has nothing of the document`},
	}
	for _, snapshots := range []bool{true, false} {
		for name, c := range cases {
			t.Run(fmt.Sprint(name, map[bool]string{true: "", false: ", no snapshots"}[snapshots]), func(t *testing.T) {
				t.Parallel()
				e := mustEngineWith(t, snapshots)
				s := openToBreak(t, e)
				_, _, err := kv.Transact(faultkv.Forever(context.Background()), e, kv.TransactOptions{},
					func(tx kv.Transaction) (struct{}, error) {
						c.plant(&planted{t, tx})
						return struct{}{}, nil
					})
				if err != nil {
					t.Fatal(err)
				}
				lines := verifyAll(t, s, true)
				said := strings.Join(lines, "\n")
				if c.want == "" && said != "" || !strings.Contains(said, c.want) {
					t.Errorf("Verify says:\n%s\nwant %q", said, c.want)
				}
				// What follows from the fault may be told beside it, such as what counters say.
				if n := strings.Count(said, c.want); c.want != "" && n != 1 {
					t.Errorf("it is told %d times:\n%s", n, said)
				}
			})
		}
	}
}

// viewRow is the nth row of a part of the index.
func (p *planted) viewRow(part keyspace.ViewRange, n int) kv.KeyValue {
	for _, row := range p.rows(keyspace.Views, int64(keyspace.ViewData)) {
		key, err := tuple.Unpack(row.Key)
		if err == nil && key[5] == int64(part) {
			if n--; n < 0 {
				return row
			}
		}
	}
	p.t.Fatal("no such row")
	return kv.KeyValue{}
}

// While documents are written, purged and compacted, and the index is built and caught up, nothing is said to be wrong.
func TestVerify_online(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			s := openToBreak(t, mustEngineWith(t, snapshots))
			d, err := s.Database(t.Context(), "db")
			if err != nil {
				t.Fatal(err)
			}
			design, err := d.Design(t.Context(), "d")
			if err != nil {
				t.Fatal(err)
			}
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					id := fmt.Sprintf("doc%03d", i%150)
					switch i % 20 {
					case 7:
						_, err = d.Purge(t.Context(), id, leafRevs(t, d, id))
					case 11:
						err = d.Compact(t.Context())
					case 13:
						_, err = d.Index(design).CatchUp(t.Context(), 1000)
					default:
						save(t, d, fmt.Sprintf(`{"_id":"%s","n":%d,"_attachments":{"f":{"data":"aGVsbG8="}}}`, id, i))
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			}()
			for range 5 {
				if lines := verifyAll(t, s, false); len(lines) > 0 {
					t.Errorf("%d faults where there are none:\n%s", len(lines),
						strings.Join(lines[:min(len(lines), 5)], "\n"))
				}
			}
			close(stop)
			<-done
		})
	}
}

// Writers of an interactive index count its rows by shards, and a build counts those of documents from before it.
func TestVerify_interactive(t *testing.T) {
	s := openViewStore(t, mustEngine(t))
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 3})
	for i := range 10 {
		put(t, d, fmt.Sprintf(`{"_id":"before%d","n":%d}`, i, i))
	}
	save(t, d, `{"_id":"_design/i","options":{"interactive":true},"views":{"n":{"map":"function(doc) { emit(doc.n) }"}}}`)
	build(t, d.Index(mustDesign(t, d, "i")), 1, 5)
	for i := range 20 {
		r := put(t, d, fmt.Sprintf(`{"_id":"after%d","n":%d}`, i, i))
		put(t, d, fmt.Sprintf(`{"_id":"after%d","_rev":%q,"_deleted":%v}`, i, r, i%2 == 0))
	}
	if lines := verifyAll(t, s, true); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
}
