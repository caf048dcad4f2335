package layer_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// An index has been behind since the oldest change that it lacks, however long ago the last one before was.
func TestIndex_Behind(t *testing.T) {
	for name, shards := range map[string]int{"one shard": 1, "three shards": 3} {
		t.Run(name, func(t *testing.T) {
			s := openViewStore(t, mustEngine(t))
			db := mustCreate(t, s, "db", layer.CreateOptions{Shards: shards})
			save(t, db, byN)
			ix := db.Index(mustDesign(t, db, "d"))
			since := func(seq layer.Seq) time.Duration {
				return layer.Clock(s) - time.Duration(binary.BigEndian.Uint64(seq.Stamp[:]))*time.Microsecond
			}
			// lacks expects that the oldest missing change is at a sequence.
			lacks := func(oldest layer.Seq) {
				t.Helper()
				before := since(oldest)
				state, err := ix.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if after := since(oldest); state.Behind < before || state.Behind > after {
					t.Errorf("behind for %v, want %v to %v", state.Behind, before, after)
				}
			}
			none := func() {
				t.Helper()
				if state, err := ix.State(t.Context()); err != nil || state.Behind != 0 {
					t.Errorf("behind for %v: %v", state.Behind, err)
				}
			}
			written := func(json string) layer.Seq {
				t.Helper()
				save(t, db, json)
				state, err := ix.BriefState(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return state.LastSeq
			}
			none() // it was never built
			build(t, ix, 1, 10)
			none()
			layer.Later(s, 3*time.Hour) // more than nanoseconds of versions of which there are a million per second
			none()
			a := written(`{"_id":"a","n":1}`)
			b := written(`{"_id":"b","n":2}`)
			lacks(a)
			layer.Later(s, 5*time.Hour)
			lacks(a)
			written(`{"_id":"a","n":3}`) // its entry moves
			lacks(b)
			build(t, ix, 2, 10)
			none()
		})
	}
}
