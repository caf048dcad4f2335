package layer_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
)

// openBeside opens a second store on an engine, like another node.
func openBeside(t *testing.T, engine kv.Engine) *layer.Store {
	t.Helper()
	sandbox := script.New(script.Options{})
	t.Cleanup(func() { _ = sandbox.Close() })
	s, err := layer.Open(t.Context(), engine, layer.Options{Scripts: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// shardWorker steps through one shard of a shared build until it is done.
func shardWorker(t *testing.T, b *layer.Build, n int) error {
	for {
		r, err := b.Step(t.Context(), b.Shards[0], n)
		if r.Done || err != nil {
			return err
		}
	}
}

// A build by several stores (that is, nodes), while documents change, is as of one sequence: it has every document of
// that sequence and no other.
func TestBuild_shared(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			engine := mustEngineWith(t, snapshots)
			db := openViewsOn(t, engine, layer.CreateOptions{Shards: 4})
			there := openBeside(t, engine)
			save(t, db, byN)
			const docs = 2000
			for i := range docs {
				put(t, db, fmt.Sprintf(`{"_id":"%04d","n":%d}`, i, i))
			}
			ix := db.Index(mustDesign(t, db, "d"))
			if b, err := ix.StartSharedBuild(t.Context(), 1, docs+100); err != nil || b.Shared {
				t.Fatalf("a build with less to do is shared: %v", err)
			} else {
				b.Close()
			}
			b, err := ix.StartSharedBuild(t.Context(), 2, 100)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if !b.Shared || len(b.Shards) != 4 {
				t.Fatalf("build %+v", b)
			}
			elsewhere, err := there.Database(t.Context(), db.Name())
			if err != nil {
				t.Fatal(err)
			}
			other := elsewhere.Index(mustDesign(t, elsewhere, "d"))
			if _, err := other.JoinBuild(t.Context(), 1, b.Shards[0]); layer.KindOf(err) != layer.Conflict {
				t.Errorf("joining a build that is over: %v", err)
			}
			if _, err := other.JoinBuild(t.Context(), 2, "no such shard"); layer.KindOf(err) != layer.NotFound {
				t.Errorf("joining for no shard: %v", err)
			}
			var work sync.WaitGroup
			errs := make([]error, 5)
			for i, shard := range b.Shards {
				from := []*layer.Index{ix, other}[i%2]
				work.Go(func() {
					j, err := from.JoinBuild(t.Context(), 2, shard)
					if err != nil {
						errs[i] = err
						return
					}
					defer j.Close()
					errs[i] = shardWorker(t, j, 50)
				})
			}
			for i := range 200 { // changes made in the meantime move to after the goal
				save(t, db, fmt.Sprintf(`{"_id":"%04d","n":%d}`, i*7, -1-i))
			}
			work.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for _, shard := range b.Shards {
				if r, err := b.Reached(t.Context(), shard); err != nil || !r.Done {
					t.Errorf("shard %s: %+v, %v", shard, r, err)
				}
			}
			if err := b.Finish(t.Context()); err != nil {
				t.Fatalf("finish: %v", err)
			}
			var first, want []string // as of the start, and at the end
			for i := range docs {
				n := i
				first = append(first, fmt.Sprintf("%04d %d null", i, n))
				if i%7 == 0 && i < 1400 {
					n = -1 - i/7
				}
				want = append(want, fmt.Sprintf("%04d %d null {\"n\":%d}", i, n, n))
			}
			for _, each := range []*layer.Index{ix, other} {
				if got := rows(t, each, layer.ViewQuery{View: "n"}); !slices.Equal(got, first) {
					t.Errorf("%d rows as of the start, want %d", len(got), len(first))
				}
			}
			if ok, err := ix.CatchUp(t.Context(), 1000); !ok || err != nil {
				t.Fatal(ok, err)
			}
			for _, each := range []*layer.Index{ix, other} {
				got := rows(t, each, layer.ViewQuery{View: "n", IncludeDocs: true})
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%d rows, want %d", len(got), len(want))
				}
				if state, err := each.State(t.Context()); err != nil || !state.Current() ||
					state.Views[0].Rows != docs {
					t.Errorf("state %+v, %v", state, err)
				}
			}
			if _, err := other.JoinBuild(t.Context(), 2, b.Shards[0]); layer.KindOf(err) != layer.Conflict {
				t.Errorf("joining a build that is finished: %v", err)
			}
		})
	}
}

// Of two workers on one shard the one that paused stops, and what it had read does not overwrite what the other one
// wrote.
func TestBuild_sharedFences(t *testing.T) {
	db := openViewsOn(t, mustEngineWith(t, true), layer.CreateOptions{Shards: 2})
	save(t, db, byN)
	for i := range 300 {
		put(t, db, fmt.Sprintf(`{"_id":"%04d","n":%d}`, i, i))
	}
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartSharedBuild(t.Context(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	shard := b.Shards[0]
	join := func() *layer.Build {
		j, err := ix.JoinBuild(t.Context(), 1, shard)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	slow := join()
	if _, err := slow.Step(t.Context(), shard, 10); err != nil {
		t.Fatal(err)
	}
	quick := join()
	if _, err := quick.Step(t.Context(), shard, 20); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Step(t.Context(), shard, 10); layer.KindOf(err) != layer.Conflict {
		t.Errorf("the slow worker continues: %v", err)
	}
	if err := shardWorker(t, quick, 20); err != nil {
		t.Fatal(err)
	}
	// A newer build ends this one, and continues where it was.
	next, err := ix.StartSharedBuild(t.Context(), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := quick.Step(t.Context(), shard, 20); layer.KindOf(err) != layer.Conflict {
		t.Errorf("a worker of the older build continues: %v", err)
	}
	if r, err := next.Reached(t.Context(), shard); err != nil || r.Seq.IsZero() {
		t.Errorf("the newer build begins again: %+v, %v", r, err)
	}
	for _, id := range next.Shards {
		j, err := ix.JoinBuild(t.Context(), 2, id)
		if err != nil {
			t.Fatal(err)
		}
		if err := shardWorker(t, j, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := next.Finish(t.Context()); err != nil {
		t.Fatalf("finish: %v", err)
	}
	if got := rows(t, ix, layer.ViewQuery{View: "n"}); len(got) != 300 {
		t.Errorf("%d rows", len(got))
	}
}
