package layer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
)

// If a database is resharded while its index is built, the writes to the new shards are in the index.
func TestBuild_resharded(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			db := openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{Shards: 2})
			save(t, db, byN)
			ix := db.Index(mustDesign(t, db, "d"))
			for i := range 20 {
				save(t, db, fmt.Sprintf(`{"_id":"%04d","n":0}`, i))
			}
			b, err := ix.StartBuild(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			var want []string
			for round, shards := range []int{3, 1} {
				for _, shard := range b.Shards {
					if _, err := b.Step(t.Context(), shard, 5+round); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := db.Reshard(t.Context(), shards); err != nil {
					t.Fatal(err)
				}
				const docs = 1500 // more than the closing transaction takes
				edits := make([]layer.Edit, docs)
				for i := range edits {
					n := round*docs + i
					edits[i] = layer.Edit{ID: fmt.Sprintf("b%04d", n), Body: fmt.Appendf(nil, `{"n":%d}`, n+1)}
					want = append(want, fmt.Sprintf("b%04d %d null", n, n+1))
				}
				if _, err := db.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
					t.Fatal(err)
				}
				save(t, db, `{"_id":"0003"}`)
			}
			finish(t, b, 500)
			build(t, ix, 2, 500)
			got := rows(t, ix, layer.ViewQuery{View: "n"})
			if len(got) != 19+len(want) || !slices.Equal(got[19:], want) {
				t.Errorf("%d rows, want %d", len(got), 19+len(want))
			}
			if state, err := ix.State(t.Context()); err != nil || !state.Current() {
				t.Errorf("state %+v, %v", state, err)
			}
		})
	}
}
