package layer_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// move imports an export of d into another store.
func move(tb testing.TB, s *layer.Store, d *layer.Database, name string) *layer.Database {
	tb.Helper()
	moved, err := s.Import(tb.Context(), name, bytes.NewReader(export(tb, d)))
	if err != nil {
		tb.Fatal(err)
	}
	return moved
}

// Data that does not fit into one transaction when an export is continued: leaves of megabytes, many leaves with long
// histories, and attachments between them.
func TestExport_large(t *testing.T) {
	oneGoroutine(t)
	s := mustStore(t, mustEngine(t), layer.Options{})
	d := mustCreate(t, s, "source", layer.CreateOptions{})
	if err := d.SetRevsLimit(t.Context(), 4000); err != nil {
		t.Fatal(err)
	}
	for leaf := range 3 {
		push(t, d,
			fmt.Sprintf(`{"_id":"bodies","_revisions":{"start":2,"ids":["%d","r"]},"b":"%s"}`, leaf,
				strings.Repeat("x", 5_000_000)))
	}
	var history strings.Builder
	for i := range 3999 {
		fmt.Fprintf(&history, `,"%x"`, md5.Sum([]byte{byte(i), byte(i >> 8)}))
	}
	for leaf := range 40 {
		push(t, d,
			fmt.Sprintf(`{"_id":"histories","_revisions":{"start":4000,"ids":["%032x"%s]}}`, leaf, history.String()))
	}
	u, err := d.Upload(t.Context(), "attached", strings.NewReader(strings.Repeat("y", 12_000_000)), -1, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Put(t.Context(),
		layer.Edit{ID: "attached", Attachments: []layer.AttachmentEdit{{Name: "big", Upload: u}}}, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r = put(t, d, `{"_id":"attached","_rev":"`+r.String()+`","_attachments":{"big":{"stub":true}}}`)
	}
	if got, want := describeDatabase(t, move(t, s, d, "moved")), describeDatabase(t, d); got != want {
		t.Fatalf("%d and %d bytes of description differ", len(got), len(want))
	}
}

// P2: a partition's documents share a shard before and after.
func TestExport_partitioned(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	d := mustCreate(t, s, "source", layer.CreateOptions{Shards: 4, Partitioned: true})
	for i := range 40 {
		put(t, d, fmt.Sprintf(`{"_id":"p%d:doc%d"}`, i%5, i))
	}
	moved := move(t, s, d, "moved")
	if got, want := describeDatabase(t, moved), describeDatabase(t, d); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	put(t, moved, `{"_id":"p1:new"}`)
	_, err := moved.Put(t.Context(), edit(t, `{"_id":"none"}`), layer.WriteOptions{})
	wantKind(t, err, layer.Invalid)
	if partitions, _, _ := partitionShards(t, moved); partitions != 5 {
		t.Errorf("%d partitions", partitions)
	}
}

// P7, C8: a database in the layout before sharding is moved in that layout, and leaves the old subspace in its new
// place.
func TestExport_deprecated(t *testing.T) {
	e := mustEngine(t)
	writeDeprecated(t, e, "old") // before the store opens, so that its allocator begins after this database's number
	s := mustStore(t, e, layer.Options{})
	d, err := s.Database(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	_, first := feedOf(t, d, layer.ChangesOptions{Limit: 1})
	moved := move(t, s, d, "moved")
	rows, pass := feedOf(t, moved, layer.ChangesOptions{Since: first.LastSeq(), IncludeDocs: true})
	want(t, rows, `b 1 {"v":1}`)
	since := pass.LastSeq()
	put(t, moved, `{"_id":"a","_rev":"1-00000000000000000000000000000000","v":2}`)
	rows, _ = feedOf(t, moved, layer.ChangesOptions{Since: since})
	want(t, rows, "a 2")
	rows, _ = feedOf(t, moved, layer.ChangesOptions{Since: first.LastSeq()})
	want(t, rows, "b 1", "a 2")
	maps, err := moved.ShardMaps(t.Context(), layer.Seq{})
	if err != nil || len(maps) != 2 || maps[0].Scheme != "" || !maps[0].Tombstone || maps[1].Since.Incarnation != 1 {
		t.Fatalf("%+v, %v", maps, err)
	}
	// The old place has not changed.
	rows, _ = feedOf(t, d, layer.ChangesOptions{})
	want(t, rows, "a 1", "b 1")
}

// C8 for every shard's own feed, from before a reshard, through the move and a reshard after it: each consumer
// continues from its sequence and gets the new shards at the end of its shard.
func TestExport_shardConsumers(t *testing.T) {
	source := mustStore(t, mustEngine(t), layer.Options{})
	target := mustStore(t, mustEngine(t), layer.Options{})
	d := mustCreate(t, source, "db", layer.CreateOptions{Shards: 3})
	seen := map[string]int{}
	type consumer struct {
		shard layer.ShardID
		since layer.Seq
	}
	var consumers []consumer
	follow := func(d *layer.Database) {
		t.Helper()
		for i := 0; i < len(consumers); i++ {
			c := &consumers[i]
			pass, err := d.Changes(t.Context(), layer.ChangesOptions{Shard: c.shard, Since: c.since, Limit: -1})
			if err != nil {
				t.Fatal(err)
			}
			for row, err := range pass.Rows {
				if err != nil {
					t.Fatal(err)
				}
				seen[row.ID+" "+row.Rev.String()]++
			}
			c.since = pass.LastSeq()
			if m := pass.Resharded(); m != nil {
				// Each of the new shards once, whichever consumer reports it.
				for _, shard := range m.Shards {
					known := false
					for _, other := range consumers {
						known = known || other.shard == shard
					}
					if !known {
						consumers = append(consumers, consumer{shard, m.Since})
					}
				}
				consumers = append(consumers[:i], consumers[i+1:]...)
				i--
			}
		}
	}
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range maps[0].Shards {
		consumers = append(consumers, consumer{shard: shard})
	}
	n := 0
	write := func(d *layer.Database, count int) {
		for range count {
			put(t, d, fmt.Sprintf(`{"_id":"doc%d"}`, n))
			n++
		}
	}
	write(d, 10)
	follow(d)
	write(d, 10)
	if _, err := d.Reshard(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	write(d, 10)
	moved := move(t, target, d, "db")
	follow(moved)
	write(moved, 10)
	follow(moved)
	if _, err := moved.Reshard(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	write(moved, 20)
	third := move(t, source, moved, "third")
	write(third, 10)
	follow(third)
	follow(third)
	if len(consumers) != 5 || len(seen) != n {
		t.Errorf("%d consumers have seen %d of %d changes", len(consumers), len(seen), n)
	}
	for change, times := range seen {
		if times != 1 {
			t.Errorf("%s was seen %d times", change, times)
		}
	}
	if info, err := third.Info(t.Context()); err != nil || info.Incarnation != 2 || info.UpdateSeq.Incarnation != 2 {
		t.Errorf("%+v, %v", info, err)
	}
}

// A sequence of an incarnation that has not been reached is refused as since, also if it sorts between two moves.
func TestChanges_futureIncarnation(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	put(t, d, `{"_id":"a"}`)
	moved := move(t, s, d, "moved")
	put(t, moved, `{"_id":"b"}`)
	last, err := moved.LastSeq(t.Context())
	if err != nil || last.Incarnation != 1 {
		t.Fatal(last, err)
	}
	if _, err = d.Changes(t.Context(), layer.ChangesOptions{Since: last}); layer.KindOf(err) != layer.Invalid {
		t.Errorf("the original takes a sequence of the moved one: %v", err)
	}
	last.Incarnation = 2
	_, err = moved.Changes(t.Context(), layer.ChangesOptions{Since: last})
	wantKind(t, err, layer.Invalid)
}

// An export cannot be continued with another database, nor after purges since then have been forgotten.
func TestExport_continuedWrongly(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	for i := range 5 {
		put(t, d, fmt.Sprintf(`{"_id":"%d"}`, i))
	}
	file := export(t, d)
	x, err := layer.ReadExport(bytes.NewReader(file[:len(file)-1]))
	if err == nil || x.Position.Records == 0 || x.Name != "db" || x.Documents != 5 {
		t.Fatalf("%+v, %v", x, err)
	}
	var rest bytes.Buffer
	other := mustCreate(t, s, "other", layer.CreateOptions{})
	put(t, other, `{"_id":"x"}`)
	for name, wrong := range map[string]*layer.Database{"another": other, "moved": move(t, s, d, "moved")} {
		if err := wrong.Export(t.Context(), &rest, &x.Position); layer.KindOf(err) != layer.Conflict || rest.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", name, err, rest.Len())
		}
	}
	if err := d.SetPurgesLimit(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		if _, err := d.Purge(t.Context(), id, leafRevs(t, d, id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = d.Export(t.Context(), &rest, &x.Position)
	wantKind(t, err, layer.Conflict)
	if got, want := describeDatabase(t, move(t, s, d, "again")), describeDatabase(t, d); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// Purges are recorded without an incarnation: an index built over old sequences, which are higher than those of the new
// store, sees the purges made in its new place.
func TestExport_purgeIndexed(t *testing.T) {
	source := mustEngine(t)
	writeRaw(t, source, "old", 0xee, "1")
	old, err := mustStore(t, source, layer.Options{}).Database(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	file := export(t, old)
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			s := openViewStore(t, mustEngineWith(t, snapshots))
			d, err := s.Import(t.Context(), "moved", bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			const views = `"views":{"v":{"map":"function(doc) { emit(doc.v) }"}}}`
			design, err := layer.ParseDesign("_design/d", rev(t, "1-a"), []byte("{"+views))
			if err != nil {
				t.Fatal(err)
			}
			ix := d.Index(design)
			if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if got := rows(t, ix, layer.ViewQuery{View: "v"}); len(got) != 2 {
				t.Fatal(got)
			}
			purge(t, d, "a")
			if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if got := rows(t, ix, layer.ViewQuery{View: "v"}); len(got) != 1 {
				t.Fatal(got)
			}
			purge(t, d, "b")
			save(t, d, `{"_id":"_design/d",`+views) // only now: until here no sequence is of the new store
			build(t, ix, 2, 7)
			if got := rows(t, ix, layer.ViewQuery{View: "v"}); len(got) != 0 {
				t.Fatal(got)
			}
		})
	}
}
