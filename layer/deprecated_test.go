package layer_test

import (
	"encoding/binary"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// writeDeprecated writes a store of format 1 with one database in the layout before sharding, key by key: documents a
// and b, the feed in the deprecated subspace, and the configuration entry that says so (P7).
func writeDeprecated(tb testing.TB, e kv.Engine, name string) {
	tb.Helper()
	writeRaw(tb, e, name, 0, "")
}

// writeRaw writes versionstamps that begin with the byte age: 0 as in a new store, 0xee as in one older than any other.
// If shard is not empty, the feed is in that shard.
func writeRaw(tb testing.TB, e kv.Engine, name string, age byte, shard string) {
	tb.Helper()
	scheme, shards, feed := "", tuple.Tuple{}, []any{int64(keyspace.ChangesDeprecated)}
	if shard != "" {
		scheme, shards, feed = "xxh64-jump", tuple.Tuple{shard}, []any{int64(keyspace.Changes), shard}
	}
	const number = 7
	key := func(sub keyspace.Subspace, rest ...any) []byte {
		return append(tuple.Tuple{int64(keyspace.Data), int64(number), int64(sub)}, rest...).Pack()
	}
	stamp := func(n byte) tuple.Versionstamp { return tuple.Versionstamp{Transaction: [10]byte{0: age, 9: n}} }
	count := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	_, _, err := kv.Transact(tb.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.Set(tuple.Tuple{int64(keyspace.Format)}.Pack(), tuple.AppendInt(nil, 1))
		tx.Set(tuple.Tuple{int64(keyspace.Databases), name}.Pack(), tuple.Tuple{int64(number), stamp(1)}.Pack())
		tx.Set(tuple.Tuple{int64(keyspace.DatabasePrefixes)}.Pack(), count(number+1))
		tx.Set(key(keyspace.Stamp), []byte("0123456789"))
		tx.Set(key(keyspace.Config, "uuid"), []byte("0123456789abcdef0123456789abcdef"))
		tx.Set(key(keyspace.Config, "changes_shards", 0, tuple.Versionstamp{}),
			tuple.Tuple{keyspace.ShardFormat, scheme, shards, false}.Pack())
		body := append([]byte{keyspace.BodyFormat, 0, 7, 0}, `{"v":1}`...)
		for i, id := range []string{"a", "b"} {
			seq := stamp(byte(10 + i))
			hash := make([]byte, 16)
			tx.Set(key(keyspace.Revisions, id, true, 1, hash),
				tuple.Tuple{keyspace.RevFormat, 0, seq, 1, tuple.Tuple{}}.Pack())
			tx.Set(append(append(tuple.Tuple{int64(keyspace.Data), int64(number)}, feed...), 0, seq).Pack(),
				tuple.Tuple{keyspace.SeqFormat, id, 1, hash, 1, true}.Pack())
			tx.Set(key(keyspace.AllDocs, id), tuple.Tuple{1, hash}.Pack())
			tx.Set(key(keyspace.Documents, id, 1, hash, 0), body)
		}
		tx.Set(key(keyspace.Wake, shard), tuple.Tuple{0, stamp(11)}.Pack())
		tx.Set(key(keyspace.Counters, "doc_count"), count(2))
		tx.Set(key(keyspace.Counters, "body_bytes"), count(2*uint64(len(body))))
		return struct{}{}, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// openDeprecated opens a store on e whose database "old" was written by writeDeprecated.
func openDeprecated(tb testing.TB, e kv.Engine) *layer.Database {
	tb.Helper()
	writeDeprecated(tb, e, "old")
	d, err := mustStore(tb, e, layer.Options{}).Database(tb.Context(), "old")
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestDeprecatedSubspace(t *testing.T) {
	d := openDeprecated(t, mustEngine(t))
	rows, pass := feedOf(t, d, layer.ChangesOptions{IncludeDocs: true})
	want(t, rows, `a 1 {"v":1}`, `b 1 {"v":1}`)
	since := pass.LastSeq()
	if info, err := d.Info(t.Context()); err != nil || info.UpdateSeq != since {
		t.Fatalf("%+v, %v", info, err)
	}
	r := put(t, d, `{"_id":"a","_rev":"1-00000000000000000000000000000000","v":2}`)
	put(t, d, `{"_id":"c"}`)
	rows, _ = feedOf(t, d, layer.ChangesOptions{})
	want(t, rows, "b 1", "a 2", "c 1")
	rows, _ = feedOf(t, d, layer.ChangesOptions{Since: since})
	want(t, rows, "a 2", "c 1")
	rows, _ = feedOf(t, d, layer.ChangesOptions{Descending: true, Limit: 3})
	want(t, rows, "c 1", "a 2", "b 1")
	put(t, d, `{"_id":"a","_rev":"`+r.String()+`","_deleted":true}`)
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil || len(maps) != 2 || maps[0].Scheme != "" || !maps[0].Tombstone || len(maps[1].Shards) != 1 {
		t.Fatalf("%+v, %v", maps, err)
	}
	if _, err := d.Purge(t.Context(), "b", []layer.Rev{rev(t, "1-00000000000000000000000000000000")}); err != nil {
		t.Fatal(err)
	}
	rows, _ = feedOf(t, d, layer.ChangesOptions{})
	want(t, rows, "c 1", "a 3 deleted")
}

// A waiting feed finds a shard to wait for, even if nothing has been written since.
func TestDeprecatedSubspace_waiting(t *testing.T) {
	d := openDeprecated(t, mustEngine(t))
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil || len(maps[len(maps)-1].Shards) != 1 {
		t.Fatalf("%+v, %v", maps, err)
	}
	w, _, err := d.WatchShard(t.Context(), maps[len(maps)-1].Shards[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, `{"_id":"c"}`)
	<-w.Done()
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
}
