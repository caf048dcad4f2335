package layer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
)

// An index that is removed and built again has the same rows, whatever was in it, and its job is in the queue. A build
// that was running ends.
func TestIndex_Rebuild(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			s := openViewStore(t, mustEngineWith(t, snapshots))
			db := mustCreate(t, s, "db", layer.CreateOptions{})
			save(t, db, byN)
			for i := range 10 {
				save(t, db, fmt.Sprintf(`{"_id":"%d","n":%d}`, i, i))
			}
			ix := db.Index(mustDesign(t, db, "d"))
			build(t, ix, 1, 100)
			want := rows(t, ix, layer.ViewQuery{View: "n"})
			if len(want) != 10 {
				t.Fatalf("%d rows", len(want))
			}
			save(t, db, `{"_id":"x","n":10}`)
			running, err := ix.StartBuild(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			defer running.Close()
			if err := ix.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := running.Step(t.Context(), running.Shards[0], 10); layer.KindOf(err) != layer.Conflict {
				t.Errorf("the running build: %v", err)
			}
			state, err := ix.BriefState(t.Context())
			if err != nil || !state.Seq.IsZero() {
				t.Errorf("state %+v, %v", state, err)
			}
			found := false
			for j, err := range s.Jobs(t.Context()) {
				found = found || err == nil && j.Type == layer.IndexJobs && j.State == layer.JobPending
			}
			if !found {
				t.Error("no job is in the queue")
			}
			if state, err := ix.State(t.Context()); err != nil || !state.Asked {
				t.Errorf("with its job: %+v, %v", state, err)
			}
			dropIndexJobs(t, s)
			if state, err := ix.State(t.Context()); err != nil || state.Asked {
				t.Errorf("without its job: %+v, %v", state, err)
			}
			build(t, ix, 3, 100)
			if got := rows(t, ix, layer.ViewQuery{View: "n"}); !slices.Equal(got[:10], want) || len(got) != 11 {
				t.Errorf("got %q\nwant %q and one more", got, want)
			}
		})
	}
}

// A query that wants all rows does not answer with none if its index is removed after it was brought up to date.
func TestIndex_Query_removedMeanwhile(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			s := openViewStore(t, mustEngineWith(t, snapshots))
			db := mustCreate(t, s, "db", layer.CreateOptions{})
			save(t, db, byN)
			for i := range 200 {
				save(t, db, fmt.Sprintf(`{"_id":"%d","n":%d}`, i, i))
			}
			ix := db.Index(mustDesign(t, db, "d"))
			build(t, ix, 1, 1000)
			if err := ix.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
			again := false
			result, err := layer.BeginEnsured(func() error {
				again = true
				build(t, ix, 2, 1000)
				return nil
			}, func() (*layer.ViewResult, error) {
				return ix.Query(t.Context(), layer.ViewQuery{View: "n", Limit: -1, Fresh: true})
			})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range result.Rows {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != 200 {
				t.Errorf("%d rows of 200; built again: %v", n, again)
			}
		})
	}
}

func dropIndexJobs(t *testing.T, s *layer.Store) {
	t.Helper()
	for j, err := range s.Jobs(t.Context()) {
		if err == nil && j.Type == layer.IndexJobs {
			err = s.RemoveJob(t.Context(), j.Type, j.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
