package sqlreads_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/sqlreads"
)

func TestIndexes_Lag(t *testing.T) {
	s := newSource(t)
	db, err := s.Store.Create(t.Context(), "db", layer.CreateOptions{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, `{"_id":"_design/by","views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`, false)
	const docs = 12_000
	for from := 0; from < docs; from += 2000 {
		edits := make([]layer.Edit, 2000)
		for i := range edits {
			if edits[i], err = layer.ParseEdit(fmt.Appendf(nil, `{"_id":"%d"}`, from+i), false); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	indexes, err := sqlreads.Indexes(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := db.ShardMaps(t.Context(), layer.Seq{})
	if err != nil {
		t.Fatal(err)
	}
	shards, err := sqlreads.ShardsOf(t.Context(), db, &maps[len(maps)-1])
	if err != nil || len(indexes) != 1 || len(shards) != 2 {
		t.Fatal(indexes, shards, err)
	}
	if indexes[0].Lag != docs+1 || shards[0].Lag+shards[1].Lag != docs+1 || shards[0].Lag == 0 || shards[1].Lag == 0 {
		t.Errorf("lag of the index: %d, of its shards: %+v", indexes[0].Lag, shards)
	}
}
