package layer_test

import (
	"bytes"
	"encoding/json"
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

// A build whose worker is given to others after each step ends, although more is written and removed by compaction in
// between than a step processes. From its second turn on its goal stays.
func TestBuild_turns(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			store := openViewStore(t, mustEngineWith(t, snapshots))
			db := mustCreate(t, store, "db", layer.CreateOptions{Shards: 2})
			save(t, db, byN)
			ix := db.Index(mustDesign(t, db, "d"))
			docs := 0
			now := map[string]layer.Rev{}
			var edits []layer.Edit
			write := func(id string, n int) {
				e := edit(t, fmt.Sprintf(`{"_id":"%s","n":%d}`, id, n))
				e.Rev = now[id]
				edits = append(edits, e)
			}
			// round writes new documents, and old ones again.
			round := func(n int) {
				t.Helper()
				for i := 0; i < docs; i += 3 {
					write(fmt.Sprintf("%04d", i), n)
				}
				for range 120 {
					write(fmt.Sprintf("%04d", docs), n)
					docs++
				}
				for i, r := range mustBulk(t, db, edits, layer.WriteOptions{}) {
					now[edits[i].ID] = r.Rev
				}
				edits = edits[:0]
			}
			round(0)
			round(1)
			job := layer.IndexJob{Database: db.Name(), Signature: ix.Design().Signature}
			if err := store.Enqueue(t.Context(), layer.IndexJobs, job.ID(), job.Encode()); err != nil {
				t.Fatal(err)
			}
			var goals []layer.Seq
			for turn := range 100 {
				claimed, err := layer.ClaimJob(t.Context(), store, layer.IndexJobs, layer.Worker{Name: "me"})
				if err != nil || claimed == nil {
					t.Fatal(claimed, err)
				}
				start := ix.StartTurn
				if turn == 0 {
					start = ix.StartBuild
				}
				b, err := start(t.Context(), claimed.Token)
				if err != nil {
					t.Fatal(err)
				}
				if goals = append(goals, b.Goal); turn > 1 && b.Goal != goals[turn-1] {
					t.Fatalf("the goal of turn %d has moved", turn)
				}
				done := 0
				for _, shard := range b.Shards {
					r, err := b.Step(t.Context(), shard, 50)
					if err != nil {
						t.Fatal(err)
					}
					if r.Done {
						done++
					}
				}
				if done == len(b.Shards) {
					if err := b.Finish(t.Context()); err != nil {
						t.Fatal(err)
					}
					b.Close()
					break
				}
				b.Close()
				if err := store.Postpone(t.Context(), claimed, 0, nil); err != nil {
					t.Fatal(err)
				}
				round(turn + 2)
				if err := db.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			state, err := ix.State(t.Context())
			if err != nil || state.Building || state.Seq != goals[len(goals)-1] {
				t.Fatalf("not done in %d turns: %+v, %v", len(goals), state, err)
			}
			if want := min(2, len(goals)); !snapshots && goals[0] != goals[want-1] {
				t.Error("the goal has moved although there are no snapshots")
			}
			build(t, ix, 1000, 100)
			var want []string
			for id := range now {
				d, err := db.Get(t.Context(), id, layer.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var doc struct{ N int }
				if err := json.Unmarshal(d.Body, &doc); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprintf("%s %d null", id, doc.N))
			}
			got := rows(t, ix, layer.ViewQuery{View: "n"})
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
		})
	}
}
