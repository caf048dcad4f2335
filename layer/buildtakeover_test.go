package layer_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// A build removes purged documents before its steps begin. A build that takes over does not do it again, because
// documents that were created again are in the index already.
func TestBuild_takenOverAfterPurge(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			db := openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{})
			save(t, db, byN)
			ix := db.Index(mustDesign(t, db, "d"))
			for token := int64(1); token <= 4; token += 3 { // first an empty index, and then one with rows
				for i := range 10 {
					save(t, db, fmt.Sprintf(`{"_id":"%d","n":%d}`, i, i))
				}
				for i := range 5 {
					purge(t, db, fmt.Sprint(i))
					if i < 3 {
						save(t, db, fmt.Sprintf(`{"_id":"%d","n":%d}`, i, i))
					}
				}
				for taken := range int64(2) {
					b, err := ix.StartBuild(t.Context(), token+taken)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := b.Step(t.Context(), b.Shards[0], 6); err != nil {
						t.Fatal(err)
					}
					b.Close()
				}
				build(t, ix, token+2, 100)
				want := []string{"0 0 null", "1 1 null", "2 2 null",
					"5 5 null", "6 6 null", "7 7 null", "8 8 null", "9 9 null"}
				if got := rows(t, ix, layer.ViewQuery{View: "n"}); !slices.Equal(got, want) {
					t.Errorf("from %d on: got  %q\nwant %q", token, got, want)
				}
			}
		})
	}
}

// An unfinished build of a version that removed purged documents last, and did not record it, starts over.
func TestBuild_startsOver(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			engine := mustEngineWith(t, snapshots)
			db := openViewsOn(t, engine, layer.CreateOptions{})
			save(t, db, byN)
			ix := db.Index(mustDesign(t, db, "d"))
			for token := int64(1); token <= 3; token += 2 { // first an empty index, and then one with rows
				for i := range 10 {
					save(t, db, fmt.Sprintf(`{"_id":"%d","n":%d}`, i, token))
				}
				b, err := ix.StartBuild(t.Context(), token)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := b.Step(t.Context(), b.Shards[0], 6); err != nil {
					t.Fatal(err)
				}
				b.Close()
				clearNotesOfPurges(t, engine)
				purge(t, db, "0")
				purge(t, db, "1")
				save(t, db, fmt.Sprintf(`{"_id":"1","n":%d}`, token))
				save(t, db, `{"_id":"2","_deleted":true}`)
				if err := db.Compact(t.Context()); err != nil { // there were no cuts
					t.Fatal(err)
				}
				build(t, ix, token+1, 100)
				var want []string
				for _, id := range []int{1, 3, 4, 5, 6, 7, 8, 9} {
					want = append(want, fmt.Sprintf("%d %d null", id, token))
				}
				if got := rows(t, ix, layer.ViewQuery{View: "n"}); !slices.Equal(got, want) {
					t.Errorf("from %d on: got  %q\nwant %q", token, got, want)
				}
			}
		})
	}
}

// clearNotesOfPurges removes what builds in progress have recorded about purges.
func clearNotesOfPurges(t *testing.T, e kv.Engine) {
	t.Helper()
	tx := e.Begin(faultkv.Forever(t.Context()))
	defer tx.Cancel()
	n := 0
	rows := tx.GetRange(kv.KeyRange{End: []byte{0xff}}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	for rows.Next() {
		if key := rows.KeyValue().Key; bytes.HasSuffix(key, []byte("\x02purged\x00")) {
			tx.Clear(bytes.Clone(key))
			n++
		}
	}
	if err := tx.Commit(); n != 1 || err != nil {
		t.Fatalf("%d notes, %v", n, err)
	}
}
