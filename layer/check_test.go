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

// verifyAll returns the faults that Verify finds in a store, not counting files.
func verifyAll(t *testing.T, s *layer.Store, digests bool) (lines []string) {
	t.Helper()
	o := layer.VerifyOptions{Digests: digests, Damage: func(d *layer.Damage) error {
		lines = append(lines, d.String())
		return nil
	}}
	_, err := s.Verify(t.Context(), layer.RememberFew(o, 4))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// openToBreak opens a store whose rows are not checked after the test, with a database that has some of everything.
func openToBreak(t *testing.T, e kv.Engine) *layer.Store {
	t.Helper()
	sandbox := script.New(script.Options{Limits: script.Limits{Time: time.Minute}})
	s, err := layer.Open(t.Context(), e, layer.Options{Scripts: sandbox, PartialRows: 8})
	if err != nil {
		t.Fatal(err)
	}
	// Blocks of 64 microseconds, and 4 of them per block of the next level: each level has some.
	layer.SetFeedShape(s, layer.FeedShape{LeafBits: 6, LevelBits: 2, Sparse: 2, Least: 1})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := sandbox.Close(); err != nil {
			t.Error(err)
		}
	})
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 3})
	put(t, d, `{"_id":"_design/d","views":{
		"n":{"map":"function(doc) { emit(doc.n, doc._id); emit(-doc.n, 1) }","reduce":"_count"},
		"s":{"map":"function(doc) { if (doc.n > 147) throw 'too many'; `+
		`emit([doc.n % 3, doc.n, doc.n == 11 ? 'e\\u0301' : doc.n == 12 ? 'e\\u0001' : 'e'], `+
		`doc.n / 4) }","reduce":"_sum"}}}`)
	for part := range 3 { // each at one version
		var edits []layer.Edit
		for i := range 50 {
			i += 50 * part
			edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"doc%03d","n":%d}`, i, i)))
		}
		if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
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
	if _, err := d.PutLocal(t.Context(), edit(t, `{"_id":"_local/l","n":1}`)); err != nil {
		t.Fatal(err)
	}
	for token, name := range []string{"d"} {
		design, err := d.Design(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		build(t, d.Index(design), int64(token+1), 50)
	}
	// Superseded bodies, and rows of the index that its aggregates do not include yet.
	for i := range 12 {
		save(t, d, fmt.Sprintf(`{"_id":"doc%03d","n":%d}`, i+20, 2*i))
	}
	design, err := d.Design(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	if caught, err := d.Index(design).CatchUp(t.Context(), 1000); err != nil || !caught {
		t.Fatal(caught, err)
	}
	p := mustCreate(t, s, "parts", layer.CreateOptions{Partitioned: true})
	for i := range 90 {
		put(t, p, fmt.Sprintf(`{"_id":"%c:%d","_attachments":{"f":{"data":"aGVsbG8="}}}`, 'a'+i/30, i))
	}
	for _, d := range []*layer.Database{d, p} {
		if _, err := layer.CloseFeed(t.Context(), d, 10_000); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Each kind of fault is reported in one line, and a store without faults has none.
func TestVerify_faults(t *testing.T) {
	add := func(row kv.KeyValue, n int64) []byte {
		return binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(row.Value)+uint64(n))
	}
	cases := map[string]struct {
		plant func(p *planted)
		want  string
	}{
		"superseded and not queued": {func(p *planted) {
			row := p.rows(keyspace.ShardSuperseded)[7]
			p.tx.Clear(row.Key)
			shard := p.element(row, 3)
			for _, counter := range p.rows(keyspace.ShardCounters, shard, "superseded") {
				p.tx.Set(counter.Key, add(counter, -1))
			}
		}, `is not a leaf, but its body is not in the compaction queue`},
		"counter of the queue": {func(p *planted) {
			for _, row := range p.rows(keyspace.ShardCounters) {
				if p.element(row, 4) == "superseded" {
					p.tx.Set(row.Key, add(row, 1))
					break
				}
			}
		}, `the compaction queue of shard`},
		"bytes of superseded bodies": {func(p *planted) {
			for _, row := range p.rows(keyspace.ShardCounters) {
				if p.element(row, 4) == "old_body_bytes" {
					p.tx.Set(row.Key, add(row, 1))
					break
				}
			}
		}, `the counter old_body_bytes is`},
		"bytes of a partition's superseded bodies": {func(p *planted) {
			row := p.rows(keyspace.Counters, "body_bytes", "b")[0]
			p.tx.Set(p.other(row, "body_bytes", "old_body_bytes"), add(row, 1-int64(binary.LittleEndian.Uint64(row.Value))))
		}, `the counter old_body_bytes of partition b is 1, but there are 0`},
		"sizes of a leaf": {func(p *planted) {
			row := p.rows(keyspace.Revisions, "doc030")[0]
			row.Value[len(row.Value)-1]++
			p.tx.Set(row.Key, row.Value)
		}, `the sizes of the leaf`},
		"attachment marked without a leaf": {func(p *planted) {
			for _, row := range p.rows(keyspace.AttachmentRefs, "att") {
				if binary.LittleEndian.Uint64(row.Value)&(1<<58) == 0 {
					p.tx.Set(row.Key, add(row, 1<<58))
				}
			}
		}, `is marked as one without a leaf`},
		"unreadable queue": {func(p *planted) {
			row := p.rows(keyspace.ShardSuperseded)[7]
			p.tx.Set(append(bytes.Clone(row.Key[:len(row.Key)-1]), 0xee), []byte{0xff})
			for _, counter := range p.rows(keyspace.ShardCounters, p.element(row, 3), "superseded") {
				p.tx.Set(counter.Key, add(counter, 1))
			}
		}, `the compaction queue: an entry cannot be read`},
		"partition's documents": {func(p *planted) {
			row := p.rows(keyspace.Counters, "doc_count", "b")[0]
			p.tx.Set(row.Key, add(row, 1))
		}, `database parts: counters: the counter doc_count of partition b is 31, but there are 30`},
		"partition's bytes": {func(p *planted) {
			row := p.rows(keyspace.Counters, "attachment_bytes", "c")[0]
			p.tx.Set(row.Key, add(row, 5))
		}, `database parts: counters: the counter attachment_bytes of partition c is 155, but there are 150`},
		"counters of no partition": {func(p *planted) {
			row := p.rows(keyspace.Counters, "doc_count", "b")[0]
			p.tx.Set(p.other(row, "b", "bb"), add(row, -29))
		}, `database parts: counters: the counter doc_count of partition bb is 1, but it has no documents`},
		"leaf of the feed": {func(p *planted) {
			row := p.feedCount(0)
			p.tx.Set(row.Key, add(row, 1))
		}, `of level 0 counts`},
		"block of the feed": {func(p *planted) {
			row := p.feedCount(1)
			p.tx.Set(row.Key, add(row, 2))
		}, `of level 1 counts`},
		"block of blocks of the feed": {func(p *planted) {
			row := p.feedCount(2)
			p.tx.Set(row.Key, add(row, -1))
		}, `of level 2 counts`},
		"leaf of the feed gone": {func(p *planted) {
			p.tx.Clear(p.feedCount(0).Key)
		}, `of level 0 counts`},
		"sum's rows": {func(p *planted) {
			row := p.partial(0, 1, 3)
			row.Value[1]++
			p.tx.Set(row.Key, row.Value)
		}, `partial aggregate of view s, level 0: counts`},
		"sum": {func(p *planted) {
			row := p.partial(0, 1, -1)
			row.Value[len(row.Value)-1] ^= 1
			p.tx.Set(row.Key, row.Value)
		}, `partial aggregate of view s, level 0: from`},
		"sum of sums": {func(p *planted) {
			row := p.partial(1, 1, 0)
			row.Value[len(row.Value)-1] ^= 1
			p.tx.Set(row.Key, row.Value)
		}, `partial aggregate of view s, level 1: from`},
		"unreadable sum": {func(p *planted) {
			p.tx.Set(p.partial(0, 0, 0).Key, []byte{9})
		}, `partial aggregate of view n, level 0: cannot be read`},
		"mark gone": {func(p *planted) {
			for _, row := range p.rows(keyspace.Views, int64(keyspace.ViewData)) {
				if at := p.element(row, 5); at.(int64) >= int64(keyspace.ViewMarks) && row.Value[0] == 1 {
					p.tx.Clear(row.Key)
					return
				}
			}
			p.t.Fatal("no mark")
		}, `, level 0: counts`},
		"counter of no attachment": {func(p *planted) {
			row := p.rows(keyspace.AttachmentRefs, "att")
			last := row[len(row)-1]
			p.tx.Set(p.other(last, "att", "doc001"), last.Value)
		}, `times, but no revision refers to it`},
		"rows of no index": {func(p *planted) {
			row := p.viewRow(keyspace.ViewRows, 20)
			old := tuple.AppendInt(tuple.AppendInt(nil, int64(keyspace.ViewData)), 1)
			other := tuple.AppendInt(tuple.AppendInt(nil, int64(keyspace.ViewData)), 77)
			p.tx.Set(bytes.Replace(row.Key, old, other, 1), row.Value)
		}, `there are rows of an index that does not exist`},
		"skipped and not listed": {func(p *planted) {
			p.tx.Clear(p.viewRow(keyspace.ViewErrors, 0).Key)
		}, `the view s has skipped the document, but does not list it`},
		"listed and not skipped": {func(p *planted) {
			row := p.viewRow(keyspace.ViewErrors, 0)
			p.tx.Set(p.other(row, p.element(row, 6).(string), "doc003"), row.Value)
		}, `it is listed as skipped, but was not`},
		"nothing": {func(*planted) {}, ""},
		"reduction of a sum that counts": {func(p *planted) {
			row := p.partial(0, 0, 3)
			row.Value[len(row.Value)-1] ^= 1
			p.tx.Set(row.Key, row.Value)
		}, `partial aggregate of view n, level 0: from`},
		"sum of sums that counts": {func(p *planted) {
			row := p.partial(1, 0, 1)
			row.Value[len(row.Value)-1] ^= 0x80
			p.tx.Set(row.Key, row.Value)
		}, `is not in its canonical encoding`},
		"value that an entry notes": {func(p *planted) {
			row := p.viewRow(keyspace.ViewIDs, 20)
			row.Value[len(row.Value)-1] ^= 1
			p.tx.Set(row.Key, row.Value)
		}, `lists another key or value for the row`},
		"unreadable row of a view": {func(p *planted) {
			p.tx.Set(p.viewRow(keyspace.ViewRows, 20).Key, []byte{9})
		}, `an index: _design/d: view row cannot be read`},
		"unreadable reason": {func(p *planted) {
			row := p.viewRow(keyspace.ViewErrors, 0)
			p.tx.Set(row.Key, row.Value[1:])
		}, `the reason for skipping it cannot be read`},
		"unreadable number of an index": {func(p *planted) {
			row := p.rows(keyspace.Views, int64(keyspace.ViewInfo), int64(keyspace.ViewNumber))[0]
			p.tx.Set(row.Key, []byte{9})
		}, `an index: number of an index cannot be read`},
		"unreadable purge": {func(p *planted) {
			row := p.rows(keyspace.Purges)[0]
			p.tx.Set(row.Key, row.Value[:len(row.Value)-1])
		}, `the purge history: an entry cannot be read`},
		"unreadable _local document": {func(p *planted) {
			row := p.rows(keyspace.Local)[0]
			p.tx.Set(row.Key, row.Value[:len(row.Value)-1])
		}, `_local documents "_local/l": `},
		"unreadable history": {func(p *planted) {
			row := p.rows(keyspace.Revisions, "doc003")[0]
			p.tx.Set(row.Key, row.Value[:len(row.Value)-1])
		}, `revisions of documents ["doc003"]: a row that cannot be decoded`},
		"unreadable mark of the feed": {func(p *planted) {
			p.tx.Set(p.rows(keyspace.FeedCounts, int64(0))[0].Key, []byte{9})
		}, `the changes feed: mark of counts cannot be read`},
		"unreadable settings": {func(p *planted) {
			row := p.rows(keyspace.Config, "changes_shards")[0]
			p.tx.Set(row.Key, row.Value[:len(row.Value)-1])
		}, `settings: configuration changes_shards cannot be read`},
		"unreadable wake key": {func(p *planted) {
			p.tx.Set(p.rows(keyspace.Wake)[0].Key, []byte{9})
		}, `the changes feed: wake key cannot be read`},
		"end of a shard": {func(p *planted) {
			row := p.rows(keyspace.Wake)[0]
			clear(row.Value[2:8])
			p.tx.Set(row.Key, row.Value)
		}, `is recorded to end at`},
		"end of a shard to come": {func(p *planted) {
			row := p.rows(keyspace.Wake)[0]
			row.Value[2] = 1
			p.tx.Set(row.Key, row.Value)
		}, `which is in the future`},
		"index that is ahead": {func(p *planted) {
			row := p.rows(keyspace.Views, int64(keyspace.ViewInfo), int64(keyspace.ViewUpdateSeq))[0]
			row.Value[4] = 1
			p.tx.Set(row.Key, row.Value)
		}, `_design/d: its sequence is`},
		"body that is no JSON": {func(p *planted) {
			row := p.rows(keyspace.Documents, "doc010")[0]
			row.Value[len(row.Value)-1] ^= 1
			p.tx.Set(row.Key, row.Value)
		}, `bodies of documents "doc010": the body of the leaf`},
		"body of a deletion": {func(p *planted) {
			row := p.rows(keyspace.Documents, "doc010")[0]
			row.Value[1] ^= 1
			p.tx.Set(row.Key, row.Value)
		}, `disagrees about whether it is deleted`},
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
		}, `revisions of documents "x": 3 branches are recorded, but there are 2`},
		"no entry": {func(p *planted) {
			for _, row := range p.rows(keyspace.Changes) {
				if bytes.Contains(row.Value, []byte("doc005")) {
					p.tx.Clear(row.Key)
				}
			}
		}, `the changes feed "doc005": the document has no entry at its sequence`},
		"wrong entry": {func(p *planted) {
			for _, row := range p.rows(keyspace.Changes) {
				if bytes.Contains(row.Value, []byte("doc005")) {
					p.tx.Set(row.Key, append(row.Value[:len(row.Value)-1:len(row.Value)-1], 0x26))
				}
			}
		}, `the changes feed "doc005": the entry at`},
		"second entry": {func(p *planted) {
			for _, row := range p.rows(keyspace.Changes) {
				if bytes.Contains(row.Value, []byte("doc005")) {
					row.Key[len(row.Key)-1]++
					p.tx.Set(row.Key, row.Value)
				}
			}
		}, `the changes feed "doc005": there is an entry at`},
		"entry of no document": {func(p *planted) {
			for _, row := range p.rows(keyspace.Changes) {
				if bytes.Contains(row.Value, []byte("doc005")) {
					row.Key[len(row.Key)-1]++
					p.tx.Set(row.Key, bytes.Replace(row.Value, []byte("doc"), []byte("dog"), 1))
				}
			}
		}, `but no such document`},
		"not listed": {func(p *planted) {
			p.tx.Clear(p.rows(keyspace.AllDocs, "doc003")[0].Key)
		}, `the list of documents "doc003": the document is not listed`},
		"listed and deleted": {func(p *planted) {
			row := p.rows(keyspace.AllDocs, "doc003")[0]
			p.tx.Set(p.other(row, "doc003", "gone"), row.Value)
		}, `the list of documents "gone": the document is deleted, but listed`},
		"listed and not there": {func(p *planted) {
			row := p.rows(keyspace.AllDocs, "doc003")[0]
			p.tx.Set(p.other(row, "doc003", "doc003a"), row.Value)
		}, `the list of documents "doc003a": it is listed, but there is no such document`},
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
		}, `bodies of documents "doc010a": there are bodies, but no such document`},
		"attachment gone": {func(p *planted) {
			for _, row := range p.rows(keyspace.Attachments) { // one belongs only to a superseded body
				p.tx.Clear(row.Key)
			}
		}, `attachments of documents "att": attachment "f" of revision`},
		"attachment of no revision": {func(p *planted) {
			row := p.rows(keyspace.Attachments)[0]
			p.tx.Set(p.other(row, "att", "doc001"), row.Value)
		}, `attachments of documents "doc001": there is data of an attachment that no revision refers to`},
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
		"rows of a view": {func(p *planted) {
			row := p.rows(keyspace.Views, int64(keyspace.ViewInfo), int64(keyspace.ViewRowCount))[0]
			p.tx.Set(row.Key, add(row, 2))
		}, ` rows, but has `},
		"bytes of a view": {func(p *planted) {
			row := p.rows(keyspace.Views, int64(keyspace.ViewInfo), int64(keyspace.ViewSize))[0]
			p.tx.Set(row.Key, add(row, -3))
		}, ` bytes, but has `},
		"skipped documents of a view": {func(p *planted) {
			row := p.rows(keyspace.Views, int64(keyspace.ViewInfo), int64(keyspace.ViewErrorCount))[0]
			p.tx.Set(row.Key, add(row, 1))
		}, ` skipped documents, but has `},
		"ambiguous keys of a view": {func(p *planted) {
			row := p.rows(keyspace.Views, int64(keyspace.ViewInfo), int64(keyspace.ViewAmbiguous))[0]
			p.tx.Set(row.Key, add(row, 1))
		}, ` ambiguous keys, but has `},
		"letters in keys of a view": {func(p *planted) {
			row := p.rows(keyspace.Views, int64(keyspace.ViewInfo), int64(keyspace.ViewLowerCase+2))[0]
			p.tx.Set(row.Key, add(row, 1))
		}, ` keys with letters in part 2, but has `},
		"control characters in keys of a view": {func(p *planted) {
			row := p.rows(keyspace.Views, int64(keyspace.ViewInfo), int64(keyspace.ViewControls))[0]
			p.tx.Set(row.Key, add(row, 1))
		}, ` keys with control characters, but has `},
		"index entry gone": {func(p *planted) {
			p.tx.Clear(p.viewRow(keyspace.ViewIDs, 20).Key)
		}, `has no entry for the document`},
	}
	follows := map[string]bool{}
	for _, name := range []string{
		"no winner", "branch count", "no entry", "wrong entry", "second entry", "entry of no document", "no body",
		"body of no document", "attachment gone", "attachment changed", "index row gone", "index row changed",
		"index entry gone", "unreadable row of a view", "body that is no JSON",
		"end of a shard", "attachment marked without a leaf", "sizes of a leaf",
	} {
		follows[name] = true
	}
	for _, snapshots := range []bool{true, false} {
		t.Run(map[bool]string{true: "snapshots", false: "no snapshots"}[snapshots], func(t *testing.T) {
			t.Parallel()
			e := mustEngineWith(t, snapshots)
			s := openToBreak(t, e)
			transact := func(f func(tx kv.Transaction)) {
				t.Helper()
				_, _, err := kv.Transact(faultkv.Forever(context.Background()), e, kv.TransactOptions{},
					func(tx kv.Transaction) (struct{}, error) {
						f(tx)
						return struct{}{}, nil
					})
				if err != nil {
					t.Fatal(err)
				}
			}
			for name, c := range cases {
				t.Run(name, func(t *testing.T) {
					in := "db"
					if strings.Contains(name, "partition") {
						in = "parts"
					}
					d, err := s.Database(t.Context(), in)
					if err != nil {
						t.Fatal(err)
					}
					p := &planted{t: t, db: d.Number()}
					transact(func(tx kv.Transaction) {
						p.tx = &planter{Transaction: tx, t: t, was: map[string][]byte{}}
						c.plant(p)
					})
					lines := verifyAll(t, s, true)
					transact(p.tx.mend)
					said := strings.Join(lines, "\n")
					if c.want == "" && said != "" || !strings.Contains(said, c.want) {
						t.Errorf("Verify says:\n%s\nwant %q", said, c.want)
					}
					// Related faults may be reported too if a row is missing or a document has been replaced.
					n := strings.Count(said, c.want)
					if c.want != "" && n != 1 || len(lines) > 1 && !follows[name] {
						t.Errorf("it is reported %d times:\n%s", n, said)
					}
				})
			}
			if lines := verifyAll(t, s, true); len(lines) > 0 {
				t.Errorf("after mending there are faults:\n%s", strings.Join(lines, "\n"))
			}
		})
	}
}
